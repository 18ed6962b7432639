// Loops in C++ for the benchmarks of the recorder: what one entry costs, and what the slowest of many took.
#include <algorithm>
#include <vector>

#include "../core/recorder.hpp"
#include "bind.hpp"

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

nb::tuple slowest_put(uint64_t n) {
    std::vector<uint32_t> took;
    took.reserve(n);
    const ticks::Anchor first = ticks::anchor();
    uint32_t name = 0;
    if (Put put; put) name = put.name("timed");
    for (uint64_t i = 0; i < n; ++i) {
        const uint64_t before = ticks::now();
        if (Put put; put) put.one(Kind::counter, name, i, 0);
        took.push_back(uint32_t(std::min<uint64_t>(ticks::now() - before, UINT32_MAX)));
    }
    const ticks::Anchor last = ticks::anchor();
    const double ns = double(last.ns - first.ns) / double(last.ticks - first.ticks);
    std::nth_element(took.begin(), took.begin() + long(n / 2), took.end());
    const double median = took[n / 2] * ns;
    return nb::make_tuple(median, *std::max_element(took.begin(), took.end()) * ns);
}

}  // namespace

void bind_recorder_timing(nb::module_& m) {
    m.def("time_puts", &time_puts, nb::arg("n"), nb::arg("bare"),
          "Nanoseconds per entry: put into the running recording, or bare, a stamp and a store.");
    m.def("slowest_put", &slowest_put, nb::arg("n"), "(median, slowest) of n puts, in nanoseconds.");
}

}  // namespace eventide::python
