// Hook records of several threads are sorted by time as std::stable_sort does it, with all their columns.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "tracefile/hook_order.hpp"

using namespace eventide;
using namespace eventide::tracefile;

namespace {

// Chunks of a few threads; the clock of a thread sometimes steps back. Every value is made from the row's number.
HookColumns interleaved(uint32_t seed, int rows, int threads, bool accesses) {
    std::mt19937 random(seed);
    std::vector<int64_t> clocks(size_t(threads), 0);
    HookColumns h;
    for (int row = 0, thread = 0; row < rows; ++row) {
        if (random() % 8 == 0) thread = int(random() % uint32_t(threads));
        int64_t& clock = clocks[size_t(thread)];
        clock += int64_t(random() % 3) - (random() % 50 == 0 ? 5 : 0);
        h.hook.push_back(row), h.thread.push_back(thread), h.time.push_back(clock);
        for (auto* column : {&h.start, &h.finish, &h.cpu}) column->push_back(row);
        for (auto* column : {&h.end, &h.outcome, &h.known, &h.device, &h.name, &h.group}) column->push_back(row);
        for (auto* column : {&h.stream, &h.event, &h.version, &h.work, &h.waited}) column->push_back(row);
        h.stack.push_back(0), h.handle.push_back(0), h.bytes.push_back(uint64_t(row));
        for (int i = 0; accesses && i < row % 3; ++i) {
            for (auto* column : {&h.access_address, &h.access_bytes, &h.access_run, &h.access_stride})
                column->push_back(uint64_t(10 * row + i));
            h.access_write.push_back(uint8_t(row)), h.access_possible.push_back(uint8_t(row));
        }
        h.access_offsets.push_back(int64_t(h.access_address.size()));
    }
    return h;
}

void check_accesses(const HookColumns& h, size_t place, int row) {
    const auto begin = size_t(h.access_offsets[place]), end = size_t(h.access_offsets[place + 1]);
    CHECK(end - begin == size_t(row % 3));
    for (size_t i = begin; i < end; ++i) {
        for (const auto* column : {&h.access_address, &h.access_bytes, &h.access_run, &h.access_stride})
            CHECK((*column)[i] == uint64_t(10 * row) + (i - begin));
        CHECK(h.access_write[i] == uint8_t(row) && h.access_possible[i] == uint8_t(row));
    }
}

void check_sorted(uint32_t seed, int rows, int threads, bool accesses) {
    HookColumns h = interleaved(seed, rows, threads, accesses);
    const std::vector<int64_t> time(h.time.begin(), h.time.end());
    const std::vector<int32_t> thread(h.thread.begin(), h.thread.end());
    std::vector<int> order(time.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return time[size_t(x)] < time[size_t(y)]; });
    sort_by_time(h);
    for (size_t i = 0; i < order.size(); ++i) {
        const int row = order[i];
        CHECK(h.hook[i] == row && h.thread[i] == thread[size_t(row)] && h.time[i] == time[size_t(row)]);
        for (const auto* column : {&h.start, &h.finish, &h.cpu}) CHECK((*column)[i] == row);
        for (const auto* column : {&h.end, &h.outcome, &h.known, &h.device, &h.name, &h.group})
            CHECK((*column)[i] == row);
        for (const auto* column : {&h.stream, &h.event, &h.version, &h.work, &h.waited}) CHECK((*column)[i] == row);
        CHECK(h.stack[i] == 0 && h.handle[i] == 0 && h.bytes[i] == uint64_t(row));
        if (accesses) check_accesses(h, i, row);
    }
    CHECK(h.stack.all_zero() && h.access_offsets.all_zero() == h.access_address.empty());
}

// Zeros before and behind a value, across the sizes at which memory is taken in another way.
void check_zeroed_vector(size_t size) {
    ZeroedVector<int64_t> zeros, one;
    for (size_t i = 0; i < size; ++i) zeros.push_back(0), one.push_back(i == size / 2 ? 7 : 0);
    CHECK(zeros.size() == size && zeros.all_zero() && one.size() == size && !one.all_zero());
    CHECK(std::count(zeros.begin(), zeros.end(), 0) == std::ptrdiff_t(size));
    CHECK(one[size / 2] == 7 && std::count(one.begin(), one.end(), 0) == std::ptrdiff_t(size) - 1);
}

}  // namespace

TEST(records_are_sorted_as_by_stable_sort) {
    for (uint32_t seed = 0; seed < 200; ++seed) check_sorted(seed, int(seed * 7), 1 + int(seed % 5), seed % 2);
}

TEST(a_zeroed_vector_has_its_zeros_at_any_size) {
    for (const size_t size : {size_t(1), size_t(64), size_t(10'000), size_t(700'000)}) check_zeroed_vector(size);
}

MAIN
