#include "runtime/life_cycle.hpp"

#include "base/clock.hpp"
#include "base/context.hpp"
#include "base/futex.hpp"
#include "base/host_mutex.hpp"
#include "base/process.hpp"
#include "base/spin.hpp"
#include "base/stacks.hpp"
#include "hooks/foreign_devices.hpp"
#include "runtime/device.hpp"
#include "runtime/notifier.hpp"
#include "runtime/poller.hpp"
#include "runtime/stream.hpp"
#include "runtime/wait_graph.hpp"

namespace eventide::process {

void after_fork_in_child() {
    generation.fetch_add(1, std::memory_order_relaxed);
    notifier::after_fork_in_child();
    Stream::after_fork_in_child();
    poller::after_fork_in_child();
    Graph::after_fork_in_child();
    hub::after_fork_in_child();
    stacks::after_fork_in_child();
    foreign::after_fork_in_child();
    devices::after_fork_in_child();
    Spin::after_fork_in_child();
    thread_context = {};
}

uint64_t shut_down(int64_t timeout_ns) {
    const int64_t deadline = now_ns() + timeout_ns;
    HostMutex::give_up_at = deadline;
    uint64_t left = 0;
    for (const Ref<Stream>& stream : Stream::all()) {
        Ref<Marker> marker;
        try {
            marker = stream->mark_end();
        } catch (const Error&) {
            // Its device cannot make a marker, or a thread hangs inside the device: there is nothing to wait for.
            left += stream->unfinished();
        }
        while (marker && marker->pending()) {
            const int64_t ns = deadline - now_ns();
            if (ns <= 0) break;
            marker->sleep(ns);
        }
        if (marker && marker->pending()) left += stream->unfinished();
        if (stream->has_error()) stream->drained();  // the last chance to report an error that was never raised
    }
    notifier::drain(deadline - now_ns());
    abandoned.store(true, std::memory_order_seq_cst);
    return left;
}

}  // namespace eventide::process
