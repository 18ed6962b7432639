#include "runtime/push_stream.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/futex.hpp"

namespace eventide {

uint64_t PushStream::try_submit(Work& work, Ref<Marker>*, SubmitListener*) {
    uint64_t p = 0;
    {
        std::lock_guard lock(m_);
        if (!admit_locked(work)) return 0;
        p = work.position;
        try {
            device_stream_->submit(work);
        } catch (const std::exception&) {  // no memory: the caller keeps the work
            queued_.fetch_sub(1, std::memory_order_relaxed);
            withdraw_position_locked();
            throw;
        }
    }
    flush_device();
    return p;
}

Ref<Marker> PushStream::queue_marker_locked(uint64_t event, bool timing, bool sync) {
    Ref<Marker> marker = take_marker_locked(event, timing, sync);
    if (sync) syncs_.push_back(marker.get());
    marker->place(next_position_locked());
    try {
        device_stream_->mark(*marker);
    } catch (const std::exception&) {
        std::erase(syncs_, marker.get());
        withdraw_position_locked();
        throw;
    }
    return marker;
}

Ref<Marker> PushStream::record(bool timing, uint64_t event) {
    Ref<Marker> marker;
    {
        std::lock_guard lock(m_);
        check_open();
        marker = queue_marker_locked(event, timing, false);
    }
    flush_device();
    return marker;
}

Ref<Marker> PushStream::queue_end(bool sync, bool, Ref<Failure>* healed) {
    Ref<Marker> marker;
    {
        std::lock_guard lock(m_);
        if (completed() >= position()) {
            if (healed) *healed = heal_locked();
            return {};
        }
        marker = queue_marker_locked(0, false, sync);
    }
    flush_device();
    return marker;
}

void PushStream::wait(Marker& marker) {
    {
        std::lock_guard lock(m_);
        check_open();
        if (marker.decided() == MarkerState::done) return;
        waits_.push_back({position() + 1, Ref<Marker>(&marker)});
        try {
            device_stream_->wait(marker, next_position_locked());
        } catch (const std::exception&) {
            waits_.pop_back();
            withdraw_position_locked();
            throw;
        }
    }
    flush_device();
}

// Between "the Future is done" and "the position is completed" some nanoseconds pass; a caller that sees this state
// spins until it has passed, so that the two answers never contradict each other.
bool PushStream::idle() {
    const uint64_t p = position();
    if (completed() >= p) return true;
    while (finishing_.load(std::memory_order_acquire) >= p)
        if (completed() >= p) return true;
    return false;
}

void PushStream::close() noexcept {
    {
        std::lock_guard lock(m_);
        refuse();
        if (std::exchange(finished_, true)) return;
        device_stream_->finish();
    }
    flush_device();
}

void PushStream::sleep_until_space(int64_t ns) {
    const uint32_t n = queued_.load(std::memory_order_seq_cst);
    if (n < options.max_pending) return;
    space_waiters_.fetch_add(1, std::memory_order_seq_cst);
    futex::wait(queued_, n, ns);
    space_waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void PushStream::execute(Work& work) {
    start_work();
    HookRecord r{.hook = Hook::work_completion, .device = device_id, .stream = id, .work = work.id};
    r.outcome = run_deferred(work, r.start_ns, r.end_ns);
    r.cpu_ns = work.cpu_ns;
    if (!r.start_ns && hub::listening(Hook::work_completion)) r.start_ns = r.end_ns = now_ns();
    fire_completion(work, r);
    finishing_.store(work.position, std::memory_order_release);
    running_.store(false, std::memory_order_relaxed);
    work.publish();
    completed_.store(work.position, std::memory_order_release);
    work.dispose();
}

void PushStream::pass(Marker& marker, int64_t time_ns) {
    std::lock_guard lock(m_);
    pass_locked(marker, time_ns);
}

void PushStream::pass_locked(Marker& marker, int64_t time_ns) {
    const uint64_t p = marker.position();
    finishing_.store(p, std::memory_order_release);
    marker.complete(time_ns, time_ns, outcome_locked(marker));
    completed_.store(p, std::memory_order_release);
}

void PushStream::waited(Marker& marker, uint64_t position) {
    Ref<Marker> dropped;
    std::lock_guard lock(m_);
    dropped = waited_locked(marker, position);
}

Ref<Marker> PushStream::waited_locked(Marker& marker, uint64_t position) {
    if (marker.state() == MarkerState::failed) set_error_locked(marker.failure());
    Ref<Marker> dropped = std::move(waits_.front().marker);
    waits_.pop_front();
    completed_.store(position, std::memory_order_release);
    return dropped;
}

}  // namespace eventide
