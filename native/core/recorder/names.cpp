#include "recorder/names.hpp"

#include <cstring>
#include <functional>
#include <string>

#include "base/stacks.hpp"
#include "encoding/json.hpp"
#include "encoding/varint.hpp"

namespace eventide::recorder {
namespace {

// Cuts before the first byte of a character.
std::string_view shorten(std::string_view text, size_t longest) noexcept {
    if (text.size() <= longest) return text;
    size_t n = longest;
    while (n && (uint8_t(text[n]) & 0xc0) == 0x80) --n;
    return text.substr(0, n);
}

}  // namespace

Names::Names(BufferHeader& header, char* arena)
    : header_(header),
      arena_(arena),
      table_(std::make_unique<std::atomic<const Node*>[]>(slots)),
      written_(std::make_unique<std::atomic<uint64_t>[]>(stacks::most / 64 + 1)) {}

const Names::Node* Names::find(NameKind kind, std::string_view text, uint64_t hash, size_t& slot) const noexcept {
    for (slot = hash % slots;; slot = (slot + 1) % slots) {
        const Node* n = table_[slot].load(std::memory_order_acquire);
        if (!n || (n->hash == hash && n->kind == kind && n->text == text)) return n;
    }
}

uint32_t Names::find_or_add(NameKind kind, std::string_view text) {
    if (text.empty()) return 0;
    text = shorten(text, longest);
    const uint64_t hash = std::hash<std::string_view>{}(text) + uint64_t(kind) * 0x9E3779B97F4A7C15u;
    size_t slot;
    if (const Node* n = find(kind, text, hash, slot)) return n->id;
    std::lock_guard lock(m_);
    return add_locked(kind, text, hash);
}

uint32_t Names::add_locked(NameKind kind, std::string_view text, uint64_t hash) {
    size_t slot;
    if (const Node* n = find(kind, text, hash, slot)) return n->id;
    uint32_t& last = kind == NameKind::text ? last_text_ : last_track_;
    const char* bytes = nodes_.size() < most ? append_locked(kind, last + 1, text) : nullptr;
    if (!bytes) {
        header_.names_lost.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    nodes_.push_back({hash, {bytes, text.size()}, kind, ++last});
    table_[slot].store(&nodes_.back(), std::memory_order_release);
    return last;
}

const char* Names::append_locked(NameKind kind, uint32_t id, std::string_view bytes) {
    const uint64_t used = header_.names_used.load(std::memory_order_relaxed);
    if (bytes.size() + 1 + 2 * longest_varint > header_.names_bytes - used) return nullptr;
    auto* p = reinterpret_cast<uint8_t*>(arena_ + used);
    *p++ = uint8_t(kind);
    p = put_varint(p, id);
    p = put_varint(p, bytes.size());
    std::memcpy(p, bytes.data(), bytes.size());
    const char* text = reinterpret_cast<char*>(p);
    header_.names_used.store(uint64_t(text + bytes.size() - arena_), std::memory_order_release);
    return text;
}

uint32_t Names::stack(uint32_t id) {
    if (!id || id > stacks::most) return 0;
    std::atomic<uint64_t>& word = written_[id / 64];
    const uint64_t bit = uint64_t(1) << (id % 64);
    if (word.load(std::memory_order_acquire) & bit) return id;
    std::lock_guard lock(m_);
    if (word.load(std::memory_order_relaxed) & bit) return id;
    std::string bytes;
    for (const stacks::Frame& f : stacks::resolve(id)) {
        uint8_t numbers[3 * longest_varint];
        uint8_t* p = numbers;
        for (const std::string_view text : {f.file, f.function})
            p = put_varint(p, text.empty() ? 0
                                           : add_locked(NameKind::text, shorten(text, longest),
                                                        std::hash<std::string_view>{}(shorten(text, longest)) +
                                                            uint64_t(NameKind::text) * 0x9E3779B97F4A7C15u));
        p = put_varint(p, uint32_t(f.line < 0 ? 0 : f.line));
        bytes.append(reinterpret_cast<char*>(numbers), size_t(p - numbers));
    }
    if (!append_locked(NameKind::stack, id, bytes)) {
        header_.names_lost.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    word.fetch_or(bit, std::memory_order_release);
    return id;
}

}  // namespace eventide::recorder
