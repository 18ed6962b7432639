#include "stacks.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

namespace eventide::stacks {
namespace {

struct Stack {
    uint64_t hash;
    uint32_t id;
    uint32_t count;
    std::unique_ptr<RawFrame[]> raw;
    std::unique_ptr<Frame[]> frames;
};

constexpr size_t slots = 1 << 18;  // 2 MB of address space, touched only where stacks fall
static_assert(most < slots * 3 / 4);

constinit std::atomic<const Stack*> table[slots] = {};
constinit std::atomic<const Stack*> by_id[most + 1] = {};
std::atomic<uint32_t> used{0};
std::atomic<uint64_t> lost{0};

std::mutex change;
std::unordered_set<std::string>& texts() {
    static auto* all = new std::unordered_set<std::string>;  // read by threads that outlive static objects
    return *all;
}

std::string_view keep_locked(std::string_view text) {
    return *texts().emplace(text).first;
}

uint64_t mix(uint64_t h, uint64_t x) noexcept {
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

uint64_t hash_of(const RawFrame* frames, uint32_t count) noexcept {
    uint64_t h = count;
    for (uint32_t i = 0; i < count; ++i) {
        h = mix(h, uint64_t(frames[i].code));
        h = mix(h, uint64_t(uint32_t(frames[i].instruction)));
    }
    return h;
}

// The stack, or the empty slot where it belongs.
const Stack* find(uint64_t hash, const RawFrame* frames, uint32_t count, size_t& slot) noexcept {
    for (slot = hash % slots;; slot = (slot + 1) % slots) {
        const Stack* s = table[slot].load(std::memory_order_acquire);
        if (!s) return nullptr;
        if (s->hash == hash && s->count == count && std::equal(frames, frames + count, s->raw.get())) return s;
    }
}

}  // namespace

uint32_t intern(const RawFrame* frames, uint32_t count, Frame (*resolve)(const RawFrame&)) {
    if (!count) return 0;
    const uint64_t hash = hash_of(frames, count);
    size_t slot;
    if (const Stack* s = find(hash, frames, count, slot)) return s->id;
    if (used.load(std::memory_order_relaxed) >= most) {
        lost.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    auto fresh = std::make_unique<Stack>(Stack{hash, 0, count, std::make_unique<RawFrame[]>(count), nullptr});
    fresh->frames = std::make_unique<Frame[]>(count);
    std::copy(frames, frames + count, fresh->raw.get());
    for (uint32_t i = 0; i < count; ++i) fresh->frames[i] = resolve(frames[i]);
    std::lock_guard lock(change);
    if (const Stack* s = find(hash, frames, count, slot)) return s->id;  // somebody was faster
    if (used.load(std::memory_order_relaxed) >= most) return 0;
    const uint32_t id = fresh->id = used.load(std::memory_order_relaxed) + 1;
    by_id[id].store(fresh.get(), std::memory_order_release);
    table[slot].store(fresh.release(), std::memory_order_release);
    used.store(id, std::memory_order_release);
    return id;
}

std::vector<Frame> resolve(uint32_t id) {
    const Stack* s = id <= most ? by_id[id].load(std::memory_order_acquire) : nullptr;
    return s ? std::vector<Frame>(s->frames.get(), s->frames.get() + s->count) : std::vector<Frame>();
}

std::string_view keep(std::string_view text) {
    std::lock_guard lock(change);
    return keep_locked(text);
}

Statistics statistics() noexcept {
    return {used.load(std::memory_order_relaxed), lost.load(std::memory_order_relaxed)};
}

}  // namespace eventide::stacks
