#include "base/stacks.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/mutex.hpp"

namespace eventide::stacks {
namespace {

// A normalized stack, or a variant of one: a variant has the same number and no texts of its own.
struct Stack {
    uint64_t hash;
    uint32_t id;
    uint32_t count;
    std::unique_ptr<RawFrame[]> raw;
    std::unique_ptr<Frame[]> frames;
};

constexpr size_t slots = 1 << 19;                        // 4 MB of address space; only used pages take memory
constexpr uint32_t max_variants = slots * 3 / 4 - most;  // further ones are normalized each time
static_assert(most < slots * 3 / 4);

constinit std::atomic<const Stack*> table[slots] = {};
constinit std::atomic<const Stack*> by_id[most + 1] = {};
std::atomic<uint32_t> used{0};
std::atomic<uint32_t> variants{0};
std::atomic<uint64_t> lost{0};

Mutex change;  // guards texts and changes of the tables
std::unordered_set<std::string>& texts() {
    static auto* all = new std::unordered_set<std::string>;  // never destroyed: threads may outlive static objects
    return *all;
}
[[maybe_unused]] const auto& at_load = texts();  // before any fork, which could find it half made

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

// The stack, or null with the empty slot where it belongs.
const Stack* find(uint64_t hash, const RawFrame* frames, uint32_t count, size_t& slot) noexcept {
    for (slot = hash % slots;; slot = (slot + 1) % slots) {
        const Stack* s = table[slot].load(std::memory_order_acquire);
        if (!s) return nullptr;
        if (s->hash == hash && s->count == count && std::equal(frames, frames + count, s->raw.get())) return s;
    }
}

// Its new number, or the one that another thread assigned meanwhile.
uint32_t add(std::unique_ptr<Stack> fresh, bool is_variant) {
    std::lock_guard lock(change);
    size_t slot;
    if (const Stack* s = find(fresh->hash, fresh->raw.get(), fresh->count, slot)) return s->id;
    if (is_variant) {
        if (variants.load(std::memory_order_relaxed) >= max_variants) return fresh->id;
        variants.fetch_add(1, std::memory_order_relaxed);
    } else {
        if (used.load(std::memory_order_relaxed) >= most) return 0;
        fresh->id = used.load(std::memory_order_relaxed) + 1;
        by_id[fresh->id].store(fresh.get(), std::memory_order_release);
        used.store(fresh->id, std::memory_order_release);
    }
    const uint32_t id = fresh->id;
    table[slot].store(fresh.release(), std::memory_order_release);
    return id;
}

}  // namespace

uint32_t intern(const RawFrame* frames, uint32_t count, const Language& language) {
    if (!count) return 0;
    const uint64_t hash = hash_of(frames, count);
    size_t slot;
    if (const Stack* s = find(hash, frames, count, slot)) return s->id;
    std::vector<RawFrame> normalized(count);
    std::transform(frames, frames + count, normalized.begin(), language.normalize);
    const bool is_variant = !std::equal(frames, frames + count, normalized.begin());
    const uint32_t id = is_variant ? intern(normalized.data(), count, language) : 0;
    if (is_variant && (!id || variants.load(std::memory_order_relaxed) >= max_variants)) return id;
    if (!is_variant && used.load(std::memory_order_relaxed) >= most) {
        lost.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    auto fresh = std::make_unique<Stack>(Stack{hash, id, count, std::make_unique<RawFrame[]>(count), nullptr});
    std::copy(frames, frames + count, fresh->raw.get());
    if (!is_variant) {
        fresh->frames = std::make_unique<Frame[]>(count);
        std::transform(frames, frames + count, fresh->frames.get(), language.resolve);
    }
    return add(std::move(fresh), is_variant);
}

std::vector<Frame> resolve(uint32_t id) {
    const Stack* s = id <= most ? by_id[id].load(std::memory_order_acquire) : nullptr;
    return s ? std::vector<Frame>(s->frames.get(), s->frames.get() + s->count) : std::vector<Frame>();
}

std::string_view keep(std::string_view text) {
    std::lock_guard lock(change);
    return keep_locked(text);
}

void after_fork_in_child() {
    new (&change) Mutex;  // a thread of the parent may have held it
}

Statistics statistics() noexcept {
    return {used.load(std::memory_order_relaxed), lost.load(std::memory_order_relaxed)};
}

}  // namespace eventide::stacks
