// A hash map from integer keys to small values: open addressing in one array. Entries are never erased.
//
// Keys may come from an untrusted file: the hash depends on a random number of this process, so that no file can be
// crafted whose keys all collide.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>

#include "base/large_vector.hpp"

namespace eventide {

// Odd, with bits in both halves; the same for all maps of the process.
inline const uint64_t hash_secret = [] {
    std::random_device random;
    return uint64_t(random()) << 32 | random() | 1u << 31 | 1u;
}();

// Key: an array of 64-bit numbers.
template <size_t numbers, class Value>
class FlatMap {
  public:
    using Key = std::array<uint64_t, numbers>;

    void reserve(size_t size) {
        if (size * 2 > slots_.size()) grow(std::bit_ceil(size * 2));
    }
    // The value, or nullptr; valid until the next call of at().
    Value* find(const Key& key) {
        if (slots_.empty()) return nullptr;
        Slot& slot = slots_[place(key)];
        return slot.used ? &slot.value : nullptr;
    }
    // The value, inserted if it is missing; valid until the next call.
    Value& at(const Key& key) {
        if ((size_ + 1) * 2 > slots_.size()) grow(slots_.empty() ? 64 : slots_.size() * 2);
        Slot& slot = slots_[place(key)];
        if (!slot.used) {
            slot = {key, Value{}, true};
            ++size_;
        }
        return slot.value;
    }

  private:
    struct Slot {
        Key key{};
        Value value{};
        bool used = false;
    };

    // Keys with adjacent last numbers get adjacent slots: ids count up, and a cache miss costs more than the rest of a
    // lookup.
    uint64_t hash(const Key& key) const {
        uint64_t h = secret_;
        for (size_t i = 0; i < numbers; ++i) {
            const auto product = static_cast<unsigned __int128>(h ^ (i + 1 < numbers ? key[i] : key[i] >> 6)) * secret_;
            h = uint64_t(product) ^ uint64_t(product >> 64);
        }
        return h << 6 | (key[numbers - 1] & 63);
    }
    static bool same(const Key& x, const Key& y) {  // operator== of std::array calls memcmp
        uint64_t differs = 0;
        for (size_t i = 0; i < numbers; ++i) differs |= x[i] ^ y[i];
        return !differs;
    }
    size_t place(const Key& key) const {
        const size_t mask = slots_.size() - 1;
        size_t i = hash(key) & mask;
        while (slots_[i].used && !same(slots_[i].key, key)) i = (i + 1) & mask;
        return i;
    }
    void grow(size_t slots) {
        LargeVector<Slot> old(slots);
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.used) slots_[place(slot.key)] = slot;
    }

    const uint64_t secret_ = hash_secret;
    LargeVector<Slot> slots_;
    size_t size_ = 0;
};

}  // namespace eventide
