#include "sanitizer/shadow.hpp"

#include <algorithm>
#include <numeric>

namespace eventide::sanitizer {
namespace {

// Whether `run` bytes from each address that is `phase` modulo `stride` meet [start, end).
bool meets(uint64_t phase, uint64_t run, uint64_t stride, uint64_t start, uint64_t end) noexcept {
    const uint64_t in = (start % stride + stride - phase) % stride;  // where `start` lies in its period
    return in < run || end - start > stride - in;
}

// Of two strides: whether no byte is in both patterns, and after how many bytes these repeat together. They meet where
// the distance of two starts, modulo the divisor that the strides have in common, is less than a run.
bool apart(const Entry& a, const Entry& b) noexcept {
    const uint64_t common = std::gcd(a.stride, b.stride);
    const uint64_t gap = (b.phase % common + common - a.phase % common) % common;
    return gap >= a.run && common - gap >= b.run;
}

uint64_t meeting(const Entry& a, const Entry& b) noexcept {
    return std::lcm(uint64_t(a.stride), uint64_t(b.stride));
}

constexpr uint64_t most_runs = 4096;

// Of two strides in a range that is shorter than their common period: the runs of the longer one by one.
Overlap run_by_run(const Entry& a, const Entry& b, uint64_t start, uint64_t end, Overlap sure) noexcept {
    const Entry& longer = a.stride > b.stride ? a : b;
    const Entry& other = a.stride > b.stride ? b : a;
    if ((end - start) / longer.stride > most_runs) return Overlap::possible;
    const uint64_t in = (start % longer.stride + longer.stride - longer.phase) % longer.stride;
    const uint64_t left = in < longer.run ? std::min(longer.run - in, end - start) : 0;  // of the run that began before
    if (left && meets(other.phase, other.run, other.stride, start, start + left)) return sure;
    for (uint64_t gap = longer.stride - in; gap < end - start; gap += longer.stride) {
        const uint64_t from = start + gap;
        const uint64_t until = from + std::min<uint64_t>(longer.run, end - from);
        if (meets(other.phase, other.run, other.stride, from, until)) return sure;
    }
    return Overlap::no;
}

}  // namespace

Overlap overlap(const Entry& a, const Entry& b, uint64_t start, uint64_t end) noexcept {
    Overlap sure = a.possible || b.possible ? Overlap::possible : Overlap::certain;
    if (!a.stride && !b.stride) return sure;
    if (!a.stride || !b.stride) {
        const Entry& s = a.stride ? a : b;
        return meets(s.phase, s.run, s.stride, start, end) ? sure : Overlap::no;
    }
    if (a.stride != b.stride) {
        if (apart(a, b)) return Overlap::no;
        return end - start >= meeting(a, b) ? sure : run_by_run(a, b, start, end, sure);
    }
    // The bytes that both have in a period: b's run may begin within a's, and a's within b's.
    const uint64_t stride = a.stride;
    const auto from = [&](const Entry& x, const Entry& y) {
        const uint64_t gap = (y.phase + stride - x.phase) % stride;
        return gap < x.run && meets(y.phase, std::min<uint64_t>(x.run - gap, y.run), stride, start, end);
    };
    return from(a, b) || from(b, a) ? sure : Overlap::no;
}

void Shadow::prepare(uint64_t start, uint64_t end) {
    cut(start);
    cut(end);
    uint64_t next = start;
    for (auto it = map_.lower_bound(start); next < end;) {
        const uint64_t until = it == map_.end() ? end : std::min(it->first, end);
        if (next < until) insert(next, until, 0);
        if (until == end) break;
        next = it->second.end;
        ++it;
    }
}

void Shadow::cut(uint64_t address) {
    auto it = map_.upper_bound(address);
    if (it == map_.begin()) return;
    --it;
    Segment& left = it->second;
    if (left.start == address || left.end <= address) return;
    Segment& right = insert(address, left.end, left.lifetime);
    right.writes = left.writes;
    right.reads = left.reads;
    left.end = address;
}

Segment& Shadow::insert(uint64_t start, uint64_t end, uint32_t lifetime) {
    if (map_.size() * 2 > table_.size()) {
        table_.assign(table_.size() * 4, nullptr);
        for (auto& [at, s] : map_) table_[hash(at)] = &s;
    }
    Segment& s = map_[start];
    s.start = start;
    s.end = end;
    if (lifetime) ++lifetimes_[lifetime].segments;
    s.lifetime = lifetime;
    return *(table_[hash(start)] = &s);
}

Shadow::Map::iterator Shadow::erase(Map::iterator it) {
    if (Segment*& place = table_[hash(it->first)]; place == &it->second) place = nullptr;
    give(it->second, 0);
    return map_.erase(it);
}

void Shadow::give(Segment& s, uint32_t lifetime) {
    if (s.lifetime && !--lifetimes_[s.lifetime].segments) {
        lifetimes_[s.lifetime].serial = 0;
        lifetimes_[s.lifetime].users.clear();
        lifetimes_[s.lifetime].held.clear();
        unused_.push_back(s.lifetime);
    }
    if ((s.lifetime = lifetime)) ++lifetimes_[lifetime].segments;
}

void Shadow::merge(uint64_t start, uint64_t end) {
    auto it = map_.find(start);
    if (it == map_.end()) return;
    Segment& first = it->second;
    for (++it; it != map_.end() && it->first < end;) {
        const Segment& s = it->second;
        const auto alone = [](const Segment& x) { return x.reads.empty() && x.writes.size() == 1; };
        if (!alone(first) || !alone(s) || s.lifetime != first.lifetime || s.start != first.end) return;
        first.end = s.end;
        it = erase(it);
    }
}

uint32_t Shadow::allocate(uint64_t address, uint64_t bytes, uint32_t name, const Entry& by) {
    uint32_t n = 0;
    if (unused_.empty()) {
        n = uint32_t(lifetimes_.size());
        lifetimes_.emplace_back();
    } else {
        n = unused_.back();
        unused_.pop_back();
    }
    Lifetime& l = lifetimes_[n];
    l = {};
    l.address = address;
    l.bytes = bytes;
    l.name = name;
    l.allocated = by;
    l.serial = ++serial_;
    visit(address, address + bytes, [&](Segment& s) {
        if (!s.lifetime || !lifetimes_[s.lifetime].freed) {
            s.writes.clear();
            s.reads.clear();
        }
        give(s, n);
    });
    return n;
}

uint32_t Shadow::at(uint64_t address) {
    const Segment* s = exact(address);
    return s && s->lifetime && lifetimes_[s->lifetime].address == address ? s->lifetime : 0;
}

void Shadow::freed(uint32_t n, const Entry& by) {
    Lifetime& l = lifetimes_[n];
    l.freed = true;
    l.freed_by = by;
    dead_.emplace_back(n, l.serial);
    while (dead_.size() > max_freed_) forget_oldest();
}

void Shadow::forget_oldest() {
    const auto [n, serial] = dead_.front();
    dead_.pop_front();
    if (lifetimes_[n].serial != serial) return;  // its memory was allocated again
    const uint64_t end = lifetimes_[n].address + lifetimes_[n].bytes;
    bool used = false;
    for (auto it = map_.lower_bound(lifetimes_[n].address); it != map_.end() && it->first < end;) {
        if (it->second.lifetime != n) {
            ++it;
            continue;
        }
        used |= !it->second.writes.empty() || !it->second.reads.empty();
        it = erase(it);
    }
    forgotten_ += used;
}

}  // namespace eventide::sanitizer
