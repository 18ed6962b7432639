// A stream: an ordered queue of work on one device, with the semantics that are the same on every device. A device is
// of one of three kinds, each with a class of its own:
//
//   PushStream       the device reports that work and markers are complete (cpu)
//   PolledStream     the device is polled for markers; it runs work when the stream reaches it
//   ImmediateStream  a polled device on which work runs inside submit
//
//   member                       guarded by
//   position_                    written under m_, read anywhere
//   completed_, finishing_       written in order by the thread that completes an item, read anywhere
//   stream_error_, syncs_,       m_
//   waits_, finished_, markers_
//   has_error_                   written under m_, read by the device
//   queued_                      atomic; futex word of back-pressure
//   closed_                      written under m_ or once, read anywhere
//   blocked_                     the lock of the wait graph (wait_graph.hpp)
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
    void* existing = nullptr;  // a stream of the driver to wrap, an object of the bindings; used by open only
    bool is_default = false;   // the device's default stream
};

// Called once, when work of an immediate device has run, before its completion is visible; on others, before the
// function of work that runs within its submission.
class SubmitListener {
  public:
    virtual void on_submitted() = 0;

  protected:
    ~SubmitListener() = default;
};

enum class StreamKind : uint8_t { push, polled, immediate };

// On a device whose default stream blocks: that stream, or one that is ordered with it in both directions.
enum class DefaultStreamRole : uint8_t { none, is_default, ordered_with_default };

class Stream : public RefCounted {
  public:
    static Ref<Stream> open(Device& device, StreamOptions options);
    // Unique in the process; streams of other frameworks get their ids here too.
    static uint64_t next_id() noexcept;
    ~Stream() override;

    // Every stream of this process that still exists, in order of id.
    static std::vector<Ref<Stream>> all();
    // The one with that id, or null if it no longer exists.
    static Ref<Stream> find(uint64_t id);
    // Empties that list: its streams belong to the parent.
    static void after_fork_in_child();

    const uint64_t id;
    Device& device;
    const DeviceId device_id;
    const StreamOptions options;
    const StreamKind kind;
    DefaultStreamRole default_role() const noexcept { return default_role_; }
    // The record of stream_creation, for listeners that are added later.
    HookRecord creation() const;
    std::string describe() const;  // "stream 3 'load' (cpu:0)"

    // Verbs of the host; all throw Error if the stream is closed or of the parent process.
    void check_usable() const;
    // Takes ownership of the work and returns its position; 0 without any effect if max_pending items are queued.
    // `behind`: the marker that completes with the work, of polled devices only.
    virtual uint64_t try_submit(Work& work, Ref<Marker>* behind = nullptr, SubmitListener* listener = nullptr) = 0;
    virtual Ref<Marker> record(bool timing, uint64_t event = 0) = 0;
    virtual void wait(Marker& marker) = 0;
    virtual bool idle() = 0;
    // Accepts no more items; queued ones still run. Idempotent.
    void refuse() noexcept { closed_.store(true, std::memory_order_relaxed); }
    // The same, and ends the worker when the queue is empty; an error that was not raised by then is reported as
    // unseen.
    virtual void close() noexcept = 0;
    // Fires stream_deletion, once.
    void announce_deletion();
    bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

    // Back-pressure: sleeps until the queue may have space, `ns` have passed, or a signal arrives.
    virtual void sleep_until_space(int64_t ns) = 0;
    uint32_t queued() const noexcept { return queued_.load(std::memory_order_relaxed); }
    // Work items that are not complete: queued or running.
    uint32_t unfinished() const noexcept { return queued() + (running_.load(std::memory_order_relaxed) ? 1 : 0); }

    // Synchronizing: a marker at the end of the stream that, when passed, takes the stream's error and clears it. No
    // marker: the stream was idle and `failure` is its error. A caller that stops waiting calls abandon_sync; false:
    // the marker was decided meanwhile.
    struct Sync {
        Ref<Marker> marker;
        Ref<Failure> failure;
    };
    // `patient`: the caller can wait; false: only host-side state is used.
    Sync begin_sync(bool patient = true);
    bool abandon_sync(Marker& marker) noexcept;
    // A marker behind all queued items, also on a closed stream; none if the stream is known to be idle.
    Ref<Marker> mark_end(bool patient = true);
    // Puts the stream into the error state: later work is skipped until a synchronize raises the error.
    void set_error(Ref<Failure> failure);
    bool has_error() const noexcept { return has_error_.load(std::memory_order_acquire); }

    // Called by the device, in stream order, once for each work.
    virtual void execute(Work& work) = 0;
    uint64_t completed() const noexcept { return completed_.load(std::memory_order_acquire); }
    uint64_t position() const noexcept { return position_.load(std::memory_order_acquire); }
    // The device has drained a finished stream: reports an error that was never raised.
    void drained();

    // Calls `visit` with the error of an idle stream to which no marker, Future or other stream has a reference; 0 if
    // there is none. The stream's lock keeps the error alive; the caller holds the host lock, so nothing is queued that
    // could pass it on.
    template <class Visit>
    int with_own_error(Visit visit) const {
        std::lock_guard lock(m_);
        if (!stream_error_ || completed() < position() || stream_error_->references() != own_references_locked())
            return 0;
        return visit(*stream_error_);
    }

    // The error, and how many of the references to it are this stream's own.
    Ref<Failure> own_error(uint32_t& references) const {
        std::lock_guard lock(m_);
        references = own_references_locked();
        return stream_error_;
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
    // The work running on this stream blocks until `stream` completes `position`.
    struct Edge {
        Ref<Stream> stream;
        uint64_t position = 0;
        uint64_t from = 0;  // the position of the blocked work
    };

    Stream(Device& device, StreamOptions options, StreamKind kind);
    virtual void opened() {}  // called once device_stream_ is set
    // A marker behind all queued items; none if the stream is idle, and then *healed, if given, is its error. `sync`:
    // it takes the error and clears it.
    virtual Ref<Marker> queue_end(bool sync, bool patient, Ref<Failure>* healed) = 0;
    virtual Ref<Failure> heal_locked();
    virtual void set_error_locked(Ref<Failure> failure);
    virtual uint32_t own_references_locked() const { return 1; }  // references to stream_error_ held by this stream
    virtual void abandoned_locked() {}                            // a queued synchronize will not clear the error
    Ref<Failure> settle_sync_locked(Marker& marker);
    // The error of a marker that is reached, if any.
    Ref<Failure> outcome_locked(Marker& marker) { return marker.syncs ? settle_sync_locked(marker) : stream_error_; }
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
    // The last item was not queued after all.
    void withdraw_position_locked() noexcept { position_.fetch_sub(1, std::memory_order_release); }
    // Reserves a place in the queue for the work; false: it is full.
    bool admit_locked(Work& work) {
        check_open();
        if (full()) return false;
        queued_.fetch_add(1, std::memory_order_relaxed);
        work.position = next_position_locked();
        return true;
    }
    Ref<Marker> take_marker_locked(uint64_t event, bool timing, bool sync = false) {
        if (sync) syncs_.reserve(syncs_.size() + 1);
        Ref<Marker> marker(markers_.take(*this, event, timing, polled()));
        retain();  // given back by return_marker
        marker->syncs = sync;
        return marker;
    }
    void flush_device();
    void start_work();
    Outcome run_deferred(Work& work, int64_t& start, int64_t& end);
    Ref<Failure> run_function(Work& work, bool holds, int64_t& start, int64_t& end);
    void fire_completion(const Work& work, const HookRecord& record);

    mutable Mutex m_;
    std::atomic<uint64_t> position_{0};
    std::atomic<uint64_t> finishing_{0};
    std::atomic<uint64_t> completed_{0};
    std::atomic<uint32_t> queued_{0};
    std::atomic<uint32_t> space_waiters_{0};
    std::atomic<bool> running_{false};
    std::atomic<bool> has_error_{false};
    std::atomic<bool> closed_{false};
    bool finished_ = false;
    Ref<Failure> stream_error_;
    std::vector<Marker*> syncs_;  // queued sync markers; alive while queued
    std::deque<PendingWait> waits_;
    MarkerList markers_;
    std::unique_ptr<DeviceStream> device_stream_;

  private:
    DefaultStreamRole default_role_ = DefaultStreamRole::none;  // set by open
    std::atomic<bool> deletion_fired_{false};
    Edge blocked_;
};

}  // namespace eventide
