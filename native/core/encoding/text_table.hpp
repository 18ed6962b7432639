// Texts by number: 0 is the empty text, the others follow in the order of their first appearance. All bytes lie in one
// column, so that a table is exported without a copy.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "encoding/column.hpp"

namespace eventide {

class TextTable {
  public:
    TextTable() { intern(""); }

    // The number of the text; a new one if it is not in the table. `text` must not be a view of this table's bytes,
    // unless it is a whole text of it.
    int32_t intern(std::string_view text) {
        const size_t hash = std::hash<std::string_view>{}(text);
        if ((size() + 1) * 2 > slots_.size()) grow();
        for (size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
            const Slot& slot = slots_[i];
            if (slot.id < 0) {
                slots_[i] = {hash, int32_t(size())};
                return append(text);
            }
            if (slot.hash == hash && (*this)[slot.id] == text) return slot.id;
        }
    }
    // A new number without a search: for texts that rarely repeat. intern() does not find it.
    int32_t append(std::string_view text) {
        bytes_.append(text.data(), text.size());
        ends_.push(int64_t(bytes_.size()));
        return int32_t(size() - 1);
    }
    size_t size() const { return ends_.size(); }
    // Valid until the next text is added.
    std::string_view operator[](int32_t id) const {
        const int64_t begin = id ? ends_[size_t(id) - 1] : 0;
        return {bytes_.data() + begin, size_t(ends_[size_t(id)] - begin)};
    }
    const Column<char>& bytes() const { return bytes_; }
    const Column<int64_t>& ends() const { return ends_; }

  private:
    struct Slot {
        size_t hash = 0;
        int32_t id = -1;
    };

    void grow() {
        std::vector<Slot> slots(slots_.empty() ? 256 : slots_.size() * 2);
        for (const Slot& slot : slots_) {
            if (slot.id < 0) continue;
            size_t i = slot.hash & (slots.size() - 1);
            while (slots[i].id >= 0) i = (i + 1) & (slots.size() - 1);
            slots[i] = slot;
        }
        slots_.swap(slots);
    }

    std::vector<Slot> slots_;  // open addressing; a power of two of them, at most half used
    Column<char> bytes_;
    Column<int64_t> ends_;
};

}  // namespace eventide
