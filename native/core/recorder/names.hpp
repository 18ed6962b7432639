// Names, tracks and stacks of one recording: written once, before their first use, and referred to by number.
//
//   member    guarded by
//
//   table_    written under m_, read by any thread: a slot is set once
//   written_  stacks that are in the buffer; the same
//   the rest  m_
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>

#include "tracefile/record.hpp"

namespace eventide::recorder {

using namespace tracefile;

class Names {
  public:
    static constexpr uint32_t most = 90'000;
    static constexpr size_t longest = 2 << 20;  // bytes; longer ones are cut

    Names(BufferHeader& header, char* arena);

    // By content; 0 for the empty text, and when there is no space, which is counted.
    uint32_t text(std::string_view name) { return find_or_add(NameKind::text, name); }
    // `json`: the columns of the track.
    uint32_t track(std::string_view json) { return find_or_add(NameKind::track, json); }
    // Writes the frames of a stack of stacks.hpp, once; returns its number, or 0 without space.
    uint32_t stack(uint32_t id);

  private:
    struct Node {
        uint64_t hash;
        std::string_view text;
        NameKind kind;
        uint32_t id;
    };
    static constexpr size_t slots = 1 << 17;
    static_assert(most < slots * 3 / 4);

    uint32_t find_or_add(NameKind kind, std::string_view text);
    uint32_t add_locked(NameKind kind, std::string_view text, uint64_t hash);
    const Node* find(NameKind kind, std::string_view text, uint64_t hash, size_t& slot) const noexcept;
    // The address of the copy; nullptr: no space.
    const char* append_locked(NameKind kind, uint32_t id, std::string_view bytes);

    BufferHeader& header_;
    char* const arena_;
    std::mutex m_;
    std::deque<Node> nodes_;
    uint32_t last_text_ = 0;
    uint32_t last_track_ = 0;
    const std::unique_ptr<std::atomic<const Node*>[]> table_;
    const std::unique_ptr<std::atomic<uint64_t>[]> written_;
};

}  // namespace eventide::recorder
