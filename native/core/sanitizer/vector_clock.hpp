// Vector clocks, copied on write. A clock has a slot for each stream and each host thread; the number there counts the
// works (or host accesses) of it that are complete for the owner of the clock.
//
// An agent (a stream or a thread) keeps its own count apart, so that a work changes no clock: recording an event shares
// the block, and only a join that adds something copies it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace eventide::sanitizer {

class Clock {
  public:
    Clock() noexcept = default;
    Clock(const Clock& o) noexcept : b_(o.b_) {
        if (b_) ++b_->refs;
    }
    Clock(Clock&& o) noexcept : b_(std::exchange(o.b_, nullptr)) {}
    Clock& operator=(Clock o) noexcept {
        std::swap(b_, o.b_);
        return *this;
    }
    ~Clock() { drop(); }

    uint64_t operator[](uint32_t slot) const noexcept { return b_ && slot < b_->size ? b_->n[slot] : 0; }
    bool shares(const Clock& o) const noexcept { return b_ == o.b_; }

    // True if a slot other than `own` changed.
    bool join(const Clock& o, uint32_t own) {
        if (!o.b_ || b_ == o.b_ || covers(o, own)) return false;
        uint64_t* n = writable(o.b_->size);
        for (uint32_t i = 0; i < o.b_->size; ++i) n[i] = std::max(n[i], o.b_->n[i]);
        return true;
    }

    bool raise(uint32_t slot, uint64_t count) {
        if ((*this)[slot] >= count) return false;
        writable(slot + 1)[slot] = count;
        return true;
    }

    // Whether it includes the other, apart from its own slot.
    bool covers(const Clock& o, uint32_t own) const noexcept {
        if (!o.b_ || b_ == o.b_) return true;
        const uint32_t both = std::min(b_ ? b_->size : 0, o.b_->size);
        uint64_t more = 0;
        for (uint32_t i = 0; i < both; ++i) more |= uint64_t(o.b_->n[i] > b_->n[i]);
        for (uint32_t i = both; i < o.b_->size; ++i) more |= o.b_->n[i];
        if (!more) return true;
        for (uint32_t i = 0; i < o.b_->size; ++i)
            if (i != own && o.b_->n[i] > (*this)[i]) return false;
        return true;
    }

  private:
    struct Block {
        uint32_t refs;
        uint32_t size;
        uint64_t n[];  // NOLINT: as long as there are agents
    };

    static Block* make(uint32_t size) {
        auto* b = static_cast<Block*>(std::malloc(sizeof(Block) + size * sizeof(uint64_t)));
        if (!b) throw std::bad_alloc();
        b->refs = 1;
        b->size = size;
        return b;
    }

    // The numbers, with at least `size` places, not shared.
    uint64_t* writable(uint32_t size) {
        if (b_ && b_->refs == 1 && b_->size >= size) return b_->n;
        Block* fresh = make(std::max((size + 7u) & ~7u, b_ ? b_->size : 0));
        const uint32_t old = b_ ? b_->size : 0;
        if (b_) std::memcpy(fresh->n, b_->n, old * sizeof(uint64_t));
        std::memset(fresh->n + old, 0, (fresh->size - old) * sizeof(uint64_t));
        drop();
        b_ = fresh;
        return b_->n;
    }

    void drop() noexcept {
        if (b_ && --b_->refs == 0) std::free(b_);
        b_ = nullptr;
    }

    Block* b_ = nullptr;
};

inline constexpr uint32_t no_slot = ~0u >> 1;  // a slot of no agent

// A point in the life of an agent: its clock, and its own count.
struct Point {
    Clock known;
    uint32_t slot = 0;
    uint64_t count = 0;
    Clock begun;  // works from inside of which a signal was received: they have begun, and may still run

    // Whether the first n of another agent (or its own) are complete.
    bool after(uint32_t other, uint64_t n) const noexcept { return other == slot ? count >= n : known[other] >= n; }
};

// Joins the clock with all that is complete at that point.
inline void join(Clock& clock, const Point& p) {
    clock.join(p.known, ~0u);
    clock.raise(p.slot, p.count);
}

// The same of a sum of points.
inline void join(Point& sum, const Point& p) {
    join(sum.known, p);
    sum.begun.join(p.begun, ~0u);
}

}  // namespace eventide::sanitizer
