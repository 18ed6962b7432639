// A stream: an ordered queue of work on one device, with the semantics that are the same on every device.
//
//   host thread:  submit / record / wait / sync  ->  position, DeviceStream (lock held)  ->  hook (lock free)
//   device:       execute / pass / waited, in order of position
//
//   stream.cpp            verbs of the host, and devices that tell      stream_polled.cpp     devices that are asked
//   stream_sync.cpp       synchronizing and healing                     stream_immediate.cpp  work that runs inside
//   submit
//
//   member                       guarded by
//   position_                    written under m_, read anywhere
//   completed_, finishing_       written by the device in order (or under m_ when idle), read anywhere
//   poison_, fate_, syncs_, waits_, outstanding_, entered_   m_
//   poisoned_                    written under m_, read by the device
//   queued_                      atomic; futex word of back-pressure
//   closed_                      written under m_ or once, read anywhere
//   finished_                    m_
//   blocked_                     the graph's lock (graph.hpp)
//
// m_ is never held while the host lock is taken, a callback runs, or anybody sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "broken_marker.hpp"
#include "device.hpp"
#include "error.hpp"
#include "host_mutex.hpp"
#include "marker.hpp"
#include "ref.hpp"
#include "work.hpp"

namespace eventide {

struct StreamOptions {
    int16_t index = 0;
    int priority = 0;
    uint32_t max_pending = 0;  // 0: unbounded
    std::string name;
    void* existing = nullptr;  // a stream of the driver's to take over, as the bindings know it; looked at by open only
    bool is_default = false;   // the device's default stream
};

// Told when work of an immediate device has run and before its end can be heard of.
class Submitted {
  public:
    virtual void now() = 0;

  protected:
    ~Submitted() = default;
};

class Stream final : public RefCounted {
  public:
    static Ref<Stream> open(Device& device, StreamOptions options);
    // Never given before: streams of other people's frameworks have theirs from here too.
    static uint64_t next_id() noexcept;
    ~Stream() override;

    // Every stream of this process that still exists.
    static std::vector<Ref<Stream>> all();

    const uint64_t id;
    Device& device;
    const DeviceId device_id;
    const StreamOptions options;
    // On a device whose default stream blocks: "default" of that stream, "behind" of the others, which it orders itself
    // against both ways. Else empty.
    std::string_view standing() const noexcept { return standing_; }
    // What stream_creation tells: listeners that come later ask for it.
    HookRecord creation() const;
    std::string describe() const;  // "stream 3 'load' (cpu:0)"

    // Verbs of the host; all throw Error if the stream is closed or of the parent process.
    void check_usable() const;
    // Takes over the work and returns its position; 0, and nothing happened, if max_pending are queued.
    // `behind`: the marker that ends with the work, of polled devices only.
    uint64_t try_submit(Work& work, Ref<Marker>* behind = nullptr, Submitted* told = nullptr);
    Ref<Marker> record(bool timing, uint64_t event = 0);
    void wait(Marker& marker);
    bool idle();
    // Queues no more; what is queued still runs. Twice is fine.
    void refuse() noexcept { closed_.store(true, std::memory_order_relaxed); }
    // The same, and lets the worker end when it is through; an error that nobody took by then is reported as unseen.
    void close() noexcept;
    // Tells stream_deletion, once.
    void announce_deletion();
    bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

    // Waiting for room: sleeps until the stream may have some, `ns` are over, or a signal comes.
    void sleep_for_room(int64_t ns);
    uint32_t queued() const noexcept { return queued_.load(std::memory_order_relaxed); }
    // Work items that are not over: queued or running.
    uint32_t unfinished() const noexcept { return queued() + (running_.load(std::memory_order_relaxed) ? 1 : 0); }

    // Synchronizing: a marker at the end of the stream that raises and heals when it is passed. No marker: the stream
    // was idle and `failure` is what it had. A caller that gives up must say so; false means it ended meanwhile.
    struct Sync {
        Ref<Marker> marker;
        Ref<Failure> failure;
    };
    // `patient`: the caller has time to wait; else what is known must do.
    Sync begin_sync(bool patient = true);
    bool abandon_sync(Marker& marker) noexcept;
    // A marker behind all that is queued, also on a closed stream; none if the stream is known to be idle.
    Ref<Marker> mark_end(bool patient = true);
    // The stream is refused later work until it is healed: work failed, or an error could not be delivered.
    void poison(Ref<Failure> failure);
    bool poisoned() const noexcept { return poisoned_.load(std::memory_order_acquire); }

    // Called by the device, in stream order.
    void execute(Work& work);
    void pass(Marker& marker, int64_t time_ns);
    void waited(Marker& marker, uint64_t position);
    uint64_t completed() const noexcept { return completed_.load(std::memory_order_acquire); }
    uint64_t position() const noexcept { return position_.load(std::memory_order_acquire); }
    std::mutex& lock() const noexcept { return m_; }
    // The same with lock() held, for a device that finds the stream idle.
    void pass_locked(Marker& marker, int64_t time_ns) { pass_locked(marker, time_ns, time_ns); }
    void pass_locked(Marker& marker, int64_t time_ns, int64_t device_ns);
    // Gives the stream's reference to the marker, to be dropped without the lock: that may run code of its device.
    [[nodiscard]] Ref<Marker> waited_locked(Marker& marker, uint64_t position);
    // The worker has drained a finished stream: an error that nobody saw is reported.
    void drained();

    // For the markers of polled devices.
    bool polled() const noexcept { return polled_; }
    // Work runs inside submit, on the caller's thread; such devices are polled.
    bool immediate() const noexcept { return immediate_; }
    void refresh(Marker& marker);           // asks the device
    bool join(Marker& marker, int64_t ns);  // lets the device block; true if it has ended
    void forget(Marker& marker) noexcept;
    void finish_polled();

    void return_marker(Marker* m) noexcept;
    uint64_t markers_allocated() const;
    uint64_t native_handle() const { return device_stream_->native_handle(); }
    void* host_object() const { return device_stream_->host_object(); }
    const uint32_t generation;
    void* handle = nullptr;  // the bindings' object for this stream, not owned; guarded by the host lock

  private:
    friend class Graph;
    struct PendingWait {
        uint64_t position;
        Ref<Marker> marker;
    };
    // What work running on this stream blocks on: that stream must complete that position.
    struct Edge {
        Ref<Stream> stream;
        uint64_t position = 0;
        uint64_t from = 0;  // the position of the blocked work
    };

    Stream(Device& device, StreamOptions options);
    std::string_view standing_;  // set by open
    void check_open() const;
    Ref<Failure> heal_locked();
    Ref<Failure> settle_sync_locked(Marker& marker);
    void poison_locked(Ref<Failure> failure);
    template <class Prepare, class Tell>
    bool in_order(Prepare prepare, Tell tell);
    Ref<Marker> take_marker_locked(uint64_t event, bool timing);
    void tell_marker(Marker& marker);
    void flush_device();
    void ask_sometimes();
    void drop_outstanding(Marker& marker);
    void start_work();
    void end_work(Work& work, const HookRecord& record);

    // stream_immediate.cpp
    uint64_t submit_now(Work& work, Ref<Marker>* behind, Submitted* told);
    bool enter_locked(Work& work, Ref<Marker>& start, Ref<Failure>& fate);
    void run_now(Work& work, const Ref<Failure>& fate);
    Ref<Marker> mark_work(Work& work);
    void withdraw(Work& work, Marker* start);
    void leave();
    Ref<Failure> fate_again_locked() const;
    Ref<Failure> poison_before(uint64_t position);

    // stream_polled.cpp
    void advance(uint64_t position);
    void execute_polled(Work& work);
    void finish_work(Work& work, int64_t end, const Ref<Failure>& failure);
    void ask_about_waits(uint64_t before);
    using Markers = std::vector<Ref<Marker>>;
    [[nodiscard]] Markers settle_waits_locked(uint64_t before);  // to be dropped without the lock, likewise
    int64_t in_trace_time(int64_t ticks);
    Ref<Marker> first_marker() const;
    Ref<Marker> last_marker() const;
    void close_when_drained();

    uint64_t next_position_locked() noexcept;
    Ref<Marker> mark_end(bool sync, bool patient, Ref<Failure>* healed);
    Outcome run_work(Work& work, int64_t& start, int64_t& end);

    mutable std::mutex m_;
    std::atomic<uint64_t> position_{0};
    std::atomic<uint64_t> finishing_{0};
    std::atomic<uint64_t> completed_{0};
    std::atomic<uint32_t> queued_{0};
    std::atomic<uint32_t> room_waiters_{0};
    std::atomic<bool> running_{false};
    std::atomic<bool> poisoned_{false};
    std::atomic<bool> closed_{false};
    std::atomic<bool> deletion_told_{false};
    bool finished_ = false;
    Ref<Failure> poison_;
    Ref<Failure> fate_;           // immediate: what the next submission is refused with
    uint32_t entered_ = 0;        // immediate: how many are inside submit
    bool finish_due_ = false;     // immediate: the last of them finishes the stream
    std::vector<Marker*> syncs_;  // queued sync markers; alive while queued
    std::deque<PendingWait> waits_;
    HostMutex order_;                      // polled: the order of calls into the device
    HostMutex settle_;                     // polled: the order in which markers are passed
    std::deque<Ref<Marker>> outstanding_;  // polled: markers not passed yet, oldest first
    BrokenMarkers broken_;
    ClockModel* clock_ = nullptr;  // polled: of the device, if its times must be mapped
    int64_t last_time_ = 0;        // polled: of the last marker with a time; guarded by settle_
    bool polled_ = false;
    bool immediate_ = false;
    MarkerList markers_;
    Edge blocked_;
    std::unique_ptr<DeviceStream> device_stream_;
};

}  // namespace eventide
