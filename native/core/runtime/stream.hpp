// A stream: an ordered queue of work on one device, with the semantics that are the same on every device. A device is
// of one of three kinds, each with a class of its own:
//
//   PushStream       the device reports when work and markers are over (cpu)
//   PolledStream     the device is asked about markers; it runs work when the stream reaches it
//   ImmediateStream  a polled device on which work runs inside submit
//
//   member                       guarded by
//   position_                    written under m_, read anywhere
//   completed_, finishing_       written in order by the thread that ends an item, read anywhere
//   poison_, syncs_, waits_, finished_, markers_   m_
//   poisoned_                    written under m_, read by the device
//   queued_                      atomic; futex word of back-pressure
//   closed_                      written under m_ or once, read anywhere
//   blocked_                     the graph's lock (graph.hpp)
//
// docs/locks.md has the order of locks. m_ is never held while the host lock is taken, a callback or a polled device's
// code runs, or a thread sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/ref.hpp"
#include "runtime/device.hpp"
#include "runtime/marker.hpp"
#include "runtime/work.hpp"

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

enum class StreamKind : uint8_t { push, polled, immediate };

class Stream : public RefCounted {
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
    const StreamKind kind;
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
    virtual uint64_t try_submit(Work& work, Ref<Marker>* behind = nullptr, Submitted* told = nullptr) = 0;
    virtual Ref<Marker> record(bool timing, uint64_t event = 0) = 0;
    virtual void wait(Marker& marker) = 0;
    virtual bool idle() = 0;
    // Queues no more; what is queued still runs. Twice is fine.
    void refuse() noexcept { closed_.store(true, std::memory_order_relaxed); }
    // The same, and lets the worker end when it is through; an error that nobody took by then is reported as unseen.
    virtual void close() noexcept = 0;
    // Tells stream_deletion, once.
    void announce_deletion();
    bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

    // Waiting for room: sleeps until the stream may have some, `ns` are over, or a signal comes.
    virtual void sleep_for_room(int64_t ns) = 0;
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

    // Called by the device, in stream order, once for each work.
    virtual void execute(Work& work) = 0;
    uint64_t completed() const noexcept { return completed_.load(std::memory_order_acquire); }
    uint64_t position() const noexcept { return position_.load(std::memory_order_acquire); }
    // The device has drained a finished stream: an error that was never raised is reported.
    void drained();

    // The error of an idle stream that no marker, Future or other stream has a reference to; else nullptr. With the
    // host lock, which keeps the answer true: nothing is queued that could hand the error on.
    // Calls `visit` with it, under the stream's lock, which keeps it alive; 0 without one.
    template <class Visit>
    int with_own_error(Visit visit) const {
        std::lock_guard lock(m_);
        if (!poison_ || completed() < position() || poison_->references() != own_references_locked()) return 0;
        return visit(*poison_);
    }

    bool polled() const noexcept { return kind != StreamKind::push; }
    // Work runs inside submit, on the caller's thread; such devices are polled.
    bool immediate() const noexcept { return kind == StreamKind::immediate; }

    void return_marker(Marker* m) noexcept;
    uint64_t markers_allocated() const;
    uint64_t native_handle() const { return device_stream_->native_handle(); }
    void* host_object() const { return device_stream_->host_object(); }
    const uint32_t generation;
    void* handle = nullptr;  // the bindings' object for this stream, not owned; guarded by the host lock

  protected:
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

    Stream(Device& device, StreamOptions options, StreamKind kind);
    virtual void opened() {}  // device_stream_ is there
    // A marker behind all that is queued; none, and *healed if given, if the stream is idle. `sync`: it raises and
    // heals.
    virtual Ref<Marker> queue_end(bool sync, bool patient, Ref<Failure>* healed) = 0;
    virtual Ref<Failure> heal_locked();
    virtual void poison_locked(Ref<Failure> failure);
    virtual uint32_t own_references_locked() const { return 1; }  // to poison_, by this stream
    virtual void abandoned_locked() {}                            // a queued synchronize will not heal
    Ref<Failure> settle_sync_locked(Marker& marker);
    // What a marker that is reached fails with, if anything.
    Ref<Failure> outcome_locked(Marker& marker) { return marker.syncs ? settle_sync_locked(marker) : poison_; }
    [[noreturn]] void refuse_closed() const;
    void check_open() const {
        if (closed()) refuse_closed();
    }
    bool full() const noexcept { return options.max_pending && queued() >= options.max_pending; }
    uint64_t next_position_locked() noexcept {
        const uint64_t p = position_.load(std::memory_order_relaxed) + 1;
        position_.store(p, std::memory_order_release);
        return p;
    }
    // Gives the work a place in the queue; false: it is full.
    bool admit_locked(Work& work) {
        check_open();
        if (full()) return false;
        queued_.fetch_add(1, std::memory_order_relaxed);
        work.position = next_position_locked();
        return true;
    }
    Ref<Marker> take_marker_locked(uint64_t event, bool timing, bool sync = false) {
        retain();
        Ref<Marker> marker(markers_.take(*this, event, timing, polled()));
        marker->syncs = sync;
        return marker;
    }
    void flush_device();
    void start_work();
    Outcome run_deferred(Work& work, int64_t& start, int64_t& end);
    Ref<Failure> run_function(Work& work, bool holds, int64_t& start, int64_t& end);
    void tell_completion(const Work& work, const HookRecord& record);

    mutable Mutex m_;
    std::atomic<uint64_t> position_{0};
    std::atomic<uint64_t> finishing_{0};
    std::atomic<uint64_t> completed_{0};
    std::atomic<uint32_t> queued_{0};
    std::atomic<uint32_t> room_waiters_{0};
    std::atomic<bool> running_{false};
    std::atomic<bool> poisoned_{false};
    std::atomic<bool> closed_{false};
    bool finished_ = false;
    Ref<Failure> poison_;
    std::vector<Marker*> syncs_;  // queued sync markers; alive while queued
    std::deque<PendingWait> waits_;
    MarkerList markers_;
    std::unique_ptr<DeviceStream> device_stream_;

  private:
    std::string_view standing_;  // set by open
    std::atomic<bool> deletion_told_{false};
    Edge blocked_;
};

}  // namespace eventide
