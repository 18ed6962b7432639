#include "profiler/torch_gradients.hpp"

#include <cstdlib>

#include "encoding/varint.hpp"

namespace eventide::torch {

bool Gradients::find_offsets(const std::array<Words, 3>& seen, const std::array<int64_t, 3>& numbers,
                             uint64_t thread) noexcept {
    const auto [first, second, third] = numbers;
    int found = -1;
    for (size_t at = 1; at + thread_behind < Words().size(); ++at) {
        if (seen[0][at] != first || seen[1][at] != second || first == second) continue;
        if (found >= 0) return false;
        found = int(at);
    }
    if (found < 0 || seen[2][size_t(found)] != third) return false;
    // No operator is the gradient of another, so the first two name no thread; the gradient names that of its operator.
    const size_t at = size_t(found) + thread_behind;
    if (seen[0][at] || seen[1][at] || !thread || uint64_t(seen[2][at]) != thread) return false;
    sequence_at_.store(found, std::memory_order_relaxed);
    return true;
}

void Gradients::remember(int64_t sequence, uint64_t thread, const Place& place) {
    if (thread >= most_threads) return;
    Forwards* table = by_thread_[thread].load(std::memory_order_acquire);
    if (!table) {
        table = static_cast<Forwards*>(std::calloc(1, sizeof(Forwards)));  // all zero is empty, and costs no memory yet
        if (!table) return;
        by_thread_[thread].store(table, std::memory_order_release);
    }
    Slot& slot = table->slot[size_t(sequence) % slots];
    slot.key.store(0, std::memory_order_relaxed);  // a thread that sees the next stores does not see the old key
    slot.start.store(place.start, std::memory_order_release);
    slot.where.store(place.track | uint64_t(place.generation) << 32, std::memory_order_release);
    slot.key.store(sequence + 1, std::memory_order_release);
}

void Gradients::backward(const void* function, recorder::Put& put, const Place& place) {
    const int64_t sequence = sequence_of(function);
    if (sequence < 0) return;
    const auto at = size_t(sequence_at_.load(std::memory_order_relaxed));
    const uint64_t thread = static_cast<const uint64_t*>(function)[at + thread_behind];
    if (!thread || thread >= most_threads) return;
    Forwards* table = by_thread_[thread].load(std::memory_order_acquire);
    if (!table) return;
    Slot& slot = table->slot[size_t(sequence) % slots];
    int64_t key = slot.key.load(std::memory_order_acquire);
    if (key != sequence + 1) return;
    const int64_t start = slot.start.load(std::memory_order_acquire);
    const uint64_t where = slot.where.load(std::memory_order_acquire);
    if (!slot.key.compare_exchange_strong(key, 0, std::memory_order_relaxed))
        return;  // a newer one was stored in between
    if (uint32_t(where >> 32) != place.generation || start > place.start) return;
    uint8_t bytes[4 * longest_varint];
    ByteWriter out(bytes, sizeof bytes);
    out.varint(uint32_t(where));
    out.varint(place.track);
    out.varint(0);  // no event, version or correlation
    put.with_payload(recorder::Kind::edge, put.name("fwdbwd"), uint64_t(start), uint64_t(place.start), out.data(),
                     out.size());
}

}  // namespace eventide::torch
