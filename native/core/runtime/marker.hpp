// A marker: a one-shot point in a stream. It is done when all work before it is complete, failed when the stream has an
// error there.
//
// Markers come from their stream's free list and go back to it, so recording allocates nothing once warm.
//
//   member                         guarded by
//   word_                          atomic; the state, and whether a thread sleeps on it
//   callbacks_                     atomic list; closed by complete()
//   time_ns_, failure_             written once by decide(), before word_ is published, read after
//   syncs, error_from_other_sync   the stream's lock
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/ref.hpp"
#include "runtime/notifier.hpp"

namespace eventide {

class PolledStream;
class Stream;
class Work;

enum class MarkerState : uint32_t { pending = 0, done = 1, failed = 2 };

class Marker {
  public:
    // The state as last published. pending() also polls a polled device, which may run code of the device.
    MarkerState state() const noexcept { return MarkerState(word_.load(std::memory_order_acquire) & state_bits); }
    bool pending();

    // Sleeps until the marker is complete, `ns` have passed, or a signal arrives. True if it is complete. Not with the
    // host lock.
    bool sleep(int64_t ns);

    // Sets the outcome, once. On a polled device hooks and Futures run between the outcome and the end.
    void decide(int64_t time_ns, int64_t device_ns, Ref<Failure> failure);
    MarkerState decided() const noexcept {
        return MarkerState(word_.load(std::memory_order_acquire) / decided_bits & state_bits);
    }
    // Ends (completes) the marker with its outcome, once. Wakes sleepers and posts the callbacks to the notifier.
    void end() { end_with(uint32_t(decided())); }
    // Both at once.
    void complete(int64_t time_ns, int64_t device_ns, Ref<Failure> failure);
    // Sleeps on the word, without polling the device, until the marker ends, `ns` have passed or a signal arrives.
    bool sleep_on_word(int64_t ns);

    // Takes ownership of the task and runs it on the notifier when the marker ends. Returns false, leaving the task to
    // the caller, if it has ended already.
    bool when_ended(Task* task);

    // After the outcome is set only.
    int64_t time_ns() const noexcept { return time_ns_; }      // on the trace's clock
    int64_t device_ns() const noexcept { return device_ns_; }  // on the device's own
    const Ref<Failure>& failure() const noexcept { return failure_; }

    Stream& stream() const noexcept { return *stream_; }
    uint64_t position() const noexcept { return position_; }
    void place(uint64_t position) noexcept { position_ = position; }  // once, before others see it
    uint64_t event() const noexcept { return event_; }                // the id of the event it was recorded with, or 0
    bool timing() const noexcept { return timing_; }

    void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept;
    // The current count; other threads may change it meanwhile.
    uint32_t references() const noexcept { return refs_.load(std::memory_order_acquire); }

    uint64_t handle = 0;                 // a polled device's own
    void* work_data = nullptr;           // likewise, of the work that ends with it; until DeviceStream::forget
    Work* work = nullptr;                // of a polled device: the work that completes with this marker
    Work* starts = nullptr;              // of an immediate device: the work that starts with this marker
    Ref<Failure> error_at_creation;      // of an immediate device: the error of the stream when the marker was queued
    uint32_t syncs = 0;                  // how many stream.synchronize calls wait on this marker
    Ref<Failure> error_from_other_sync;  // taken by an earlier synchronize while this one was queued

  private:
    friend class MarkerList;
    PolledStream& polled_stream() const noexcept;
    uint32_t set_outcome(int64_t time_ns, int64_t device_ns, Ref<Failure> failure);
    void end_with(uint32_t bits);
    static constexpr uint32_t state_bits = 3;
    static constexpr uint32_t sleepers = 4;
    static constexpr uint32_t decided_bits = 8;  // the outcome, times this

    std::atomic<uint32_t> word_{0};
    std::atomic<uint32_t> refs_{0};
    std::atomic<Task*> callbacks_{nullptr};
    Stream* stream_ = nullptr;  // kept alive by this marker while refs_ > 0
    uint64_t position_ = 0;
    uint64_t event_ = 0;
    int64_t time_ns_ = 0;
    int64_t device_ns_ = 0;
    Ref<Failure> failure_;
    Marker* next_ = nullptr;  // in a free list
    bool timing_ = false;
    bool polled_ = false;
};

// The markers of one stream. take() is called with the stream's lock held, put() from any thread without it.
class MarkerList {
  public:
    ~MarkerList();
    Marker* take(Stream& stream, uint64_t event, bool timing, bool polled);
    void put(Marker* m) noexcept;
    // How many markers were ever allocated; a test checks that this stops growing.
    uint64_t allocated() const noexcept { return allocated_; }

  private:
    void grow();
    Marker* free_ = nullptr;                  // used by take() only
    std::atomic<Marker*> returned_{nullptr};  // pushed by put(), taken whole by take(): no ABA
    struct Block;
    Block* blocks_ = nullptr;
    uint64_t allocated_ = 0;
};

}  // namespace eventide
