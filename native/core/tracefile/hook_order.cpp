#include "tracefile/hook_order.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "base/flat_map.hpp"

namespace eventide::tracefile {
namespace {

struct Row {
    int64_t time;
    uint64_t row;
    bool operator<(const Row& other) const { return time != other.time ? time < other.time : row < other.row; }
};
using Rows = LargeVector<Row>;

// All rows, thread by thread; those of one thread in the order of the file.
Rows by_thread(const HookColumns& hooks) {
    FlatMap<1, uint64_t> numbers;  // by track, plus one
    std::vector<size_t> next;
    LargeVector<uint32_t> thread;
    thread.reserve(hooks.thread.size());
    for (const int32_t track : hooks.thread) {
        uint64_t& number = numbers.at({uint64_t(track)});
        if (!number) {
            next.push_back(0);
            number = next.size();
        }
        thread.push_back(uint32_t(number - 1));
        ++next[number - 1];
    }
    size_t first = 0;
    for (size_t& place : next) first += std::exchange(place, first);
    Rows out(thread.size());
    for (size_t row = 0; row < thread.size(); ++row) out[next[thread[row]]++] = {hooks.time[row], row};
    return out;
}

// A merge sort of the ascending runs that are there already.
void sort_runs(Rows& rows) {
    std::vector<size_t> ends;
    for (size_t i = 1; i <= rows.size(); ++i)
        if (i == rows.size() || rows[i] < rows[i - 1]) ends.push_back(i);
    Rows merged(ends.size() > 1 ? rows.size() : 0);
    while (ends.size() > 1) {
        std::vector<size_t> fewer;
        size_t begin = 0;
        for (size_t i = 0; i < ends.size(); i += 2) {
            const size_t middle = ends[i], end = i + 1 < ends.size() ? ends[i + 1] : middle;
            const auto at = [&](size_t place) { return rows.begin() + std::ptrdiff_t(place); };
            std::merge(at(begin), at(middle), at(middle), at(end), merged.begin() + std::ptrdiff_t(begin));
            fewer.push_back(begin = end);
        }
        rows.swap(merged);
        ends.swap(fewer);
    }
}

// Moves the values of columns to the places of their rows, through one piece of memory.
class Mover {
  public:
    explicit Mover(const Rows& order) : order_(order), moved_(order.size()) {}

    template <class... Columns>
    void move(Columns&... columns) {
        (move_one(columns.data()), ...);
    }
    template <class... Columns>
    void move_unless_zero(Columns&... columns) {
        ((columns.all_zero() ? void() : move_one(columns.data())), ...);
    }

  private:
    template <class T>
    void move_one(T* column) {
        T* moved = reinterpret_cast<T*>(moved_.data());
        for (size_t i = 0; i < order_.size(); ++i) moved[i] = column[order_[i].row];
        std::memcpy(column, moved, order_.size() * sizeof(T));
    }
    const Rows& order_;
    LargeVector<uint64_t> moved_;
};

void move_accesses(const Rows& order, HookColumns& h) {
    if (h.access_offsets.all_zero()) return;
    HookColumns sorted;
    const auto copy = [](const auto& from, size_t begin, size_t end, auto& to) {
        to.insert(to.end(), from.begin() + std::ptrdiff_t(begin), from.begin() + std::ptrdiff_t(end));
    };
    for (const Row& row : order) {
        const auto begin = size_t(h.access_offsets[row.row]), end = size_t(h.access_offsets[row.row + 1]);
        copy(h.access_address, begin, end, sorted.access_address);
        copy(h.access_bytes, begin, end, sorted.access_bytes);
        copy(h.access_run, begin, end, sorted.access_run);
        copy(h.access_stride, begin, end, sorted.access_stride);
        copy(h.access_write, begin, end, sorted.access_write);
        copy(h.access_possible, begin, end, sorted.access_possible);
        sorted.access_offsets.push_back(int64_t(sorted.access_address.size()));
    }
    h.access_offsets = std::move(sorted.access_offsets);
    h.access_address.swap(sorted.access_address);
    h.access_bytes.swap(sorted.access_bytes);
    h.access_run.swap(sorted.access_run);
    h.access_stride.swap(sorted.access_stride);
    h.access_write.swap(sorted.access_write);
    h.access_possible.swap(sorted.access_possible);
}

}  // namespace

void sort_by_time(HookColumns& h) {
    if (std::is_sorted(h.time.begin(), h.time.end())) return;
    Rows order = by_thread(h);
    sort_runs(order);
    Mover mover(order);
    mover.move(h.hook, h.thread, h.time, h.start, h.finish, h.cpu);
    mover.move_unless_zero(h.end, h.outcome, h.known, h.device, h.name, h.group, h.stack);
    mover.move_unless_zero(h.stream, h.event, h.version, h.work, h.waited, h.handle, h.bytes);
    move_accesses(order, h);
}

}  // namespace eventide::tracefile
