// Loops in C++ for the benchmarks of the recorder: what one entry costs, and what the slowest of many took.
#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "bindings/base/bind.hpp"
#include "recorder/recorder.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

using namespace recorder;

// Nanoseconds per entry: of a put, or of the least that one can do.
double time_puts(uint64_t n, bool bare) {
    static Entry entries[chunk_entries];
    uint32_t name = 0;
    if (Put put; put) name = put.name("timed");
    const int64_t start = now_ns();
    if (bare)
        for (uint64_t i = 0; i < n; ++i) {
            entries[i % chunk_entries] = {ticks::now(), name, Kind::counter, 0, 0, i, 0};
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
    else
        for (uint64_t i = 0; i < n; ++i)
            if (Put put; put) put.one(Kind::counter, name, i, 0);
    return double(now_ns() - start) / double(n);
}

// What kept the thread from running, as the system counts it for the thread alone.
struct Counts {
    static Counts now() {
        rusage u;
        getrusage(RUSAGE_THREAD, &u);
        return {u.ru_nvcsw + u.ru_majflt, u.ru_nivcsw};
    }
    long blocked = 0;    // it waited for something: a lock, a page from the disk
    long preempted = 0;  // another thread had its processor
};

// Many times of one kind of step, and the slowest by what happened during it.
struct Steps {
    explicit Steps(uint64_t n) : took(n) {}
    void add(uint64_t i, uint64_t ticks, const Counts& before, const Counts& after) {
        took[i] = uint32_t(std::min<uint64_t>(ticks, UINT32_MAX));
        uint32_t& worst = after.blocked > before.blocked       ? blocked
                          : after.preempted > before.preempted ? preempted
                                                               : running;
        worst = std::max(worst, took[i]);
    }
    nb::dict summary(double ns) {
        std::nth_element(took.begin(), took.begin() + long(took.size() / 2), took.end());
        nb::dict out;
        out["median"] = took[took.size() / 2] * ns;
        out["running"] = running * ns;
        out["preempted"] = preempted * ns;
        out["blocked"] = blocked * ns;
        return out;
    }
    std::vector<uint32_t> took;  // in ticks
    uint32_t running = 0, preempted = 0, blocked = 0;
};

// Puts, and between them the same store into private memory: what delays both is the machine.
nb::tuple slowest_puts(uint64_t n) {
    constexpr uint64_t slow = 10'000;  // ticks, some microseconds: then the counts are read
    static Entry entries[chunk_entries];
    Steps puts(n), stores(n);
    uint32_t name = 0;
    if (Put put; put) name = put.name("timed");
    const ticks::Anchor first = ticks::anchor();
    Counts counts = Counts::now();
    uint64_t behind = ticks::now();
    for (uint64_t i = 0; i < 2 * n; ++i) {
        const uint64_t before = ticks::now();
        if (before - behind > slow) counts = Counts::now();  // it happened between two steps
        if (i % 2)
            entries[i / 2 % chunk_entries] = {ticks::now(), name, Kind::counter, 0, 0, i, 0};
        else if (Put put; put)
            put.one(Kind::counter, name, i, 0);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        behind = ticks::now();
        const Counts seen = behind - before > slow ? Counts::now() : counts;
        (i % 2 ? stores : puts).add(i / 2, behind - before, counts, seen);
        counts = seen;
    }
    const ticks::Anchor last = ticks::anchor();
    const double ns = double(last.ns - first.ns) / double(last.ticks - first.ticks);
    return nb::make_tuple(puts.summary(ns), stores.summary(ns));
}

}  // namespace

void bind_recorder_timing(nb::module_& m) {
    m.def("time_puts", &time_puts, nb::arg("n"), nb::arg("bare"),
          "Nanoseconds per entry: put into the running recording, or bare, a stamp and a store.");
    m.def("slowest_puts", &slowest_puts, nb::arg("n"),
          nb::sig("def slowest_puts(n: int) -> tuple[dict[str, float], dict[str, float]]"),
          "Of n puts, and of n plain stores between them: the median and the slowest step in which the thread ran, was "
          "preempted, or blocked, in nanoseconds; 0 where none was.");
}

}  // namespace eventide::python
