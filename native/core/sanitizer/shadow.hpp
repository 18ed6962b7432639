// The shadow of memory: for each range of bytes the last writes and the reads since, and which allocation it is.
//
// Ranges do not overlap and are split where accesses begin and end; a write over many makes one again. Looking up a
// range by its exact bounds, which is nearly always the case, is one table lookup.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sanitizer/engine.hpp"
#include "sanitizer/vector_clock.hpp"

namespace eventide::sanitizer {

// An access with which a later one may still conflict.
struct Entry {
    uint64_t count = 0;  // the agent's, when it happened; 0: no entry
    uint64_t work = 0;
    uint64_t thread = 0;  // id of the thread that submitted or did it
    uint64_t stream = no_stream;
    uint32_t slot = 0;
    uint32_t stack = 0;
    uint32_t name = 0;
    uint32_t stride = 0;  // 0: all bytes of the range; else `run` bytes from each address that is `phase` modulo stride
    uint32_t run = 0;
    uint32_t phase = 0;
    uint32_t replaced = 0;  // so many works before it is that of its agent whose entry it has replaced; 0: none
    bool write = false;
    bool possible = false;   // an upper bound of what it touches
    bool old = false;        // of an earlier owner of the memory
    bool unguarded = false;  // was not over when the memory was freed, and no record_stream held it

    bool dense() const noexcept { return !stride && !possible; }
    bool same_shape(const Entry& o) const noexcept {
        return stride == o.stride && run == o.run && phase == o.phase && possible == o.possible;
    }
};

// A few entries, the first without an allocation: nearly every range has one write and one read.
class Entries {
  public:
    Entries() noexcept = default;
    Entries(const Entries& o) { *this = o; }
    Entries& operator=(const Entries& o) {
        if (this == &o) return *this;
        one_ = o.one_;
        more_ = o.more_ ? std::make_unique<std::vector<Entry>>(*o.more_) : nullptr;
        size_ = o.size_;
        return *this;
    }

    Entry* begin() noexcept { return more_ ? more_->data() : &one_; }
    Entry* end() noexcept { return begin() + size_; }
    const Entry* begin() const noexcept { return more_ ? more_->data() : &one_; }
    const Entry* end() const noexcept { return begin() + size_; }
    uint32_t size() const noexcept { return size_; }
    bool empty() const noexcept { return !size_; }

    void push_back(const Entry& e) {
        if (!more_ && !size_) {
            one_ = e;
        } else {
            if (!more_) more_ = std::make_unique<std::vector<Entry>>(1, one_);
            more_->push_back(e);
        }
        ++size_;
    }
    template <class Which>
    void erase_if(Which&& which) {
        if (!size_) return;
        if (more_) {
            std::erase_if(*more_, which);
            size_ = uint32_t(more_->size());
            if (size_ > 1) return;
            if (size_) one_ = more_->front();
            more_.reset();
        } else if (which(one_)) {
            size_ = 0;
        }
    }
    void erase_first() {
        bool first = true;
        erase_if([&](const Entry&) { return std::exchange(first, false); });
    }
    void clear() noexcept {
        size_ = 0;
        more_.reset();
    }

  private:
    Entry one_;
    std::unique_ptr<std::vector<Entry>> more_;  // all of them, when there are several
    uint32_t size_ = 0;
};

enum class Overlap : uint8_t { no, possible, certain };
// Of two entries of one range, between those bounds.
Overlap overlap(const Entry& a, const Entry& b, uint64_t start, uint64_t end) noexcept;

struct Segment {
    uint64_t start = 0;
    uint64_t end = 0;
    uint32_t lifetime = 0;  // 0: memory without a known allocation
    Entries writes;         // more than one only after a race, with strides, or of earlier owners
    Entries reads;          // since then
};

// One allocation, from allocate() until its bytes are allocated again.
struct Lifetime {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint32_t name = 0;
    uint32_t segments = 0;  // how many still belong to it; with none left its slot is reused
    bool freed = false;
    uint64_t serial = 0;
    Entry allocated, freed_by;
    std::vector<uint64_t> users;  // streams given to record_stream
    std::vector<Point> held;      // and their points at the free: items before them keep the memory
    uint64_t submitted = 0;       // the newest work then
};

class Shadow {
  public:
    explicit Shadow(size_t max_freed) : max_freed_(max_freed), table_(1024) { lifetimes_.emplace_back(); }

    // Calls touch(Segment&) for each part of [start, end); parts that were unknown are made.
    template <class Touch>
    void visit(uint64_t start, uint64_t end, Touch&& touch) {
        if (Segment* s = exact(start); s && s->end == end) return touch(*s);
        prepare(start, end);
        for (auto it = map_.find(start); it != map_.end() && it->first < end; ++it) touch(it->second);
    }
    // After a write over [start, end): parts with nothing but that write become one.
    void merge(uint64_t start, uint64_t end);

    // Gives the number of the lifetime. An allocation there without a free is discarded; freed parts keep their
    // history.
    uint32_t allocate(uint64_t address, uint64_t bytes, uint32_t name, const Entry& by);
    // The lifetime that begins at this address, or 0.
    uint32_t at(uint64_t address);
    void freed(uint32_t lifetime, const Entry& by);

    Lifetime& lifetime(uint32_t n) { return lifetimes_[n]; }
    uint32_t lifetime_count() const { return uint32_t(lifetimes_.size()); }
    size_t ranges() const { return map_.size(); }
    uint64_t forgotten() const { return forgotten_; }
    template <class See>
    void each(See&& see) {
        for (auto& [_, s] : map_) see(s);
    }

  private:
    using Map = std::map<uint64_t, Segment>;

    Segment* exact(uint64_t start) {
        Segment* s = table_[hash(start)];
        if (s && s->start == start) return s;
        const auto it = map_.find(start);
        if (it == map_.end()) return nullptr;
        return table_[hash(start)] = &it->second;
    }
    size_t hash(uint64_t address) const { return (address * 0x9E3779B97F4A7C15u >> 20) & (table_.size() - 1); }

    void prepare(uint64_t start, uint64_t end);
    void cut(uint64_t address);
    Segment& insert(uint64_t start, uint64_t end, uint32_t lifetime);
    Map::iterator erase(Map::iterator it);
    void give(Segment& s, uint32_t lifetime);
    void forget_oldest();

    size_t max_freed_;
    Map map_;
    std::vector<Segment*> table_;  // by start; nodes of a map stay where they are
    std::vector<Lifetime> lifetimes_;
    std::vector<uint32_t> unused_;
    std::deque<std::pair<uint32_t, uint64_t>> dead_;  // freed lifetimes with their serials, oldest first
    uint64_t serial_ = 0;
    uint64_t forgotten_ = 0;
};

}  // namespace eventide::sanitizer
