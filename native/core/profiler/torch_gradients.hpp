// Which gradient belongs to which operator of torch: of all operators of a thread with one sequence number, the one
// that began last before its gradient.
//
//   Forwards     its slots are written by the thread of the operators, and emptied by the thread of the gradient;
//                a number is never stored in a slot again after a greater one
//   by_thread_   a table is set once and never removed
//   sequence_at_ written once
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "recorder/recorder.hpp"

namespace eventide::torch {

using Words = std::array<int64_t, 48>;  // the beginning of a record function, as it lies in memory

// Lives forever, as do its tables: torch's threads may outlive static destruction.
class Gradients {
  public:
    // Where an operator or gradient begins, in which recording.
    struct Place {
        int64_t start;
        uint32_t track;
        uint32_t generation;
    };

    // Two operators and a gradient, their sequence numbers, and the thread of the gradient's operator. False: the
    // numbers are found at no offset or at several, or the thread is not at its offset.
    bool find_offsets(const std::array<Words, 3>& seen, const std::array<int64_t, 3>& numbers,
                      uint64_t thread) noexcept;

    void forward(const void* function, uint64_t (*this_thread)(), const Place& place) {
        const int64_t sequence = sequence_of(function);
        if (sequence >= 0) remember(sequence, this_thread(), place);
    }
    // Puts the edge, if the operator is known.
    void backward(const void* function, recorder::Put& put, const Place& place);

  private:
    static constexpr size_t slots = 1 << 14;  // operators whose gradients are still to come; older ones are discarded
    static constexpr size_t most_threads = 1024;
    static constexpr size_t thread_behind = 13;  // words from the sequence number to the forward's thread

    struct Slot {
        std::atomic<int64_t> key{0};  // sequence number + 1; 0: empty
        std::atomic<int64_t> start{0};
        std::atomic<uint64_t> where{0};  // track, generation << 32
    };
    struct Forwards {
        std::array<Slot, slots> slot;
    };

    // -1: it has none, or its offset is not known.
    int64_t sequence_of(const void* function) const noexcept {
        const int at = sequence_at_.load(std::memory_order_relaxed);
        return at < 0 ? -1 : static_cast<const int64_t*>(function)[at];
    }
    void remember(int64_t sequence, uint64_t thread, const Place& place);

    std::atomic<int> sequence_at_{-1};
    std::array<std::atomic<Forwards*>, most_threads> by_thread_{};
};

}  // namespace eventide::torch
