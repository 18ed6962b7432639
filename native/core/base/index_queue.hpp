// A queue of small numbers for any number of threads, first in first out, without locks (Vyukov's bounded queue).
//
// While a thread is preempted inside push or pop, its cell appears occupied or empty: other threads see a full or an
// empty queue and do not block.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace eventide {

class IndexQueue {
  public:
    // Holds at least `most` numbers.
    explicit IndexQueue(uint32_t most)
        : mask_(std::bit_ceil(most * 2) - 1), cells_(std::make_unique<Cell[]>(size_t(mask_) + 1)) {
        for (uint32_t i = 0; i <= mask_; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
    }

    bool push(uint32_t value) noexcept {
        uint64_t at = tail_.load(std::memory_order_relaxed);
        for (;;) {
            Cell& cell = cells_[at & mask_];
            const int64_t ahead = int64_t(cell.turn.load(std::memory_order_acquire) - at);
            if (ahead < 0) return false;
            if (ahead > 0) {
                at = tail_.load(std::memory_order_relaxed);
            } else if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
                cell.value = value;
                cell.turn.store(at + 1, std::memory_order_release);
                return true;
            }
        }
    }

    bool pop(uint32_t& value) noexcept {
        uint64_t at = head_.load(std::memory_order_relaxed);
        for (;;) {
            Cell& cell = cells_[at & mask_];
            const int64_t ahead = int64_t(cell.turn.load(std::memory_order_acquire) - (at + 1));
            if (ahead < 0) return false;
            if (ahead > 0) {
                at = head_.load(std::memory_order_relaxed);
            } else if (head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
                value = cell.value;
                cell.turn.store(at + mask_ + 1, std::memory_order_release);
                return true;
            }
        }
    }

    // Approximate while other threads push or pop.
    uint64_t size() const noexcept {
        const uint64_t head = head_.load(std::memory_order_relaxed), tail = tail_.load(std::memory_order_relaxed);
        return tail > head ? tail - head : 0;
    }

  private:
    struct Cell {
        std::atomic<uint64_t> turn;
        uint32_t value;
    };
    const uint32_t mask_;
    const std::unique_ptr<Cell[]> cells_;
    alignas(64) std::atomic<uint64_t> head_{0};
    alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace eventide
