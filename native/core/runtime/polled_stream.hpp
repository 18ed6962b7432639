// A stream of a polled device. The core makes a marker behind each work item; when the device is past a marker, its
// completion is published in two steps:
//
//   decide     each marker gets its outcome, in order, under m_ and without waiting: work that is about to run sees
//              the state of its stream, independent of hooks that still run
//   announce   hooks, Future, completion of the marker, in order: one thread at a time, with no lock held
//
//   member                          guarded by
//   order_                          a lock: the order of calls that queue on the device; query never waits for it
//   outstanding_, passed_,          m_
//   announcing_, last_time_
//   clock_                          set by open
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/host_mutex.hpp"
#include "runtime/stream.hpp"

namespace eventide {

// Markers that the device could not make or poll, each with the error of the device.
class BrokenMarkers {
  public:
    void add(const Marker& marker, std::string why) {
        std::lock_guard lock(m_);
        why_.emplace(&marker, Ref<Failure>(new Failure(std::move(why))));
        any_.store(true, std::memory_order_release);
    }
    bool has(const Marker& marker) const { return bool(failure(marker)); }
    void erase(const Marker& marker) {
        if (!any_.load(std::memory_order_acquire)) return;
        std::lock_guard lock(m_);
        why_.erase(&marker);
    }
    // Null if the marker is not broken. A broken one stays broken until erase(): its handle is never given to the
    // device.
    Ref<Failure> failure(const Marker& marker) const {
        if (!any_.load(std::memory_order_acquire)) return {};
        std::lock_guard lock(m_);
        auto it = why_.find(&marker);
        return it == why_.end() ? Ref<Failure>() : it->second;
    }

  private:
    std::atomic<bool> any_{false};  // whether there ever was one
    mutable Mutex m_;
    std::map<const Marker*, Ref<Failure>> why_;
};

class PolledStream : public Stream {
  public:
    PolledStream(Device& device, StreamOptions options, StreamKind kind = StreamKind::polled)
        : Stream(device, std::move(options), kind) {}

    uint64_t try_submit(Work& work, Ref<Marker>* behind, SubmitListener* listener) override;
    Ref<Marker> record(bool timing, uint64_t event) override;
    void wait(Marker& marker) override;
    bool idle() override;
    void close() noexcept override;
    void sleep_until_space(int64_t ns) override;
    void execute(Work& work) override;

    // record in two steps: flush may run work and hooks, so a caller that holds a lock calls it after the unlock.
    Ref<Marker> queue_record(bool timing, uint64_t event);
    void flush();

    // For its markers.
    bool refresh(Marker& marker);           // polls the device; true if it is past the marker
    bool join(Marker& marker, int64_t ns);  // lets the device block; true if the marker is complete
    void forget(Marker& marker) noexcept;
    // All queued items are complete: closes the stream of the device.
    virtual void finish();

  protected:
    // A marker; once the device is past it, the work that completes with it, and its errors. Its place in a list is
    // made before the device makes the marker: from then on nothing can fail for lack of memory.
    struct Passed {
        Ref<Marker> marker;
        Work* work = nullptr;
        Ref<Failure> failure;  // of the work: the device failed it
        Ref<Failure> earlier;  // of the work: an error before it in the stream
    };
    // What the device returned for a marker that it is past.
    struct Answer {
        Ref<Failure> failure;
        int64_t ticks = 0;  // on the device's clock; 0: it has no time
        int64_t time = 0;   // on the trace's
    };
    using Places = std::list<Passed>;
    using Markers = std::vector<Ref<Marker>>;

    void opened() override;
    Ref<Marker> queue_end(bool sync, bool patient, Ref<Failure>* healed) override;
    virtual bool known_idle_locked(bool patient) const;
    Places take_place_locked(uint64_t event, bool timing, bool sync = false);
    // Gives the marker of this place its position, once the device has made it: from then on other threads poll it.
    virtual void publish_locked(Places& place);
    virtual void publish_wait_locked(Marker& marker);
    // Called after the waits before the marker are settled; `failure` is that of the marker.
    virtual void combine_errors_locked(Marker&, Passed&, Ref<Failure>& failure) { (void)failure; }
    virtual Outcome finished_outcome(Passed& passed);

    bool refused(Work& work);
    void mark(Marker& marker);
    void mark_or_break(Marker& marker);  // a marker that the device cannot make fails
    void close_when_drained();

    HostMutex order_;
    Places outstanding_;  // markers that the device has made, without an outcome, oldest first
    std::atomic<uint32_t> flushes_{0};
    BrokenMarkers broken_;

  private:
    Ref<Marker> queue_end(std::unique_lock<HostMutex> order, bool sync, bool patient, Ref<Failure>* healed);
    MarkerState ask(Marker& marker);
    bool pass_all_before(const Marker& broken);
    void advance(uint64_t position);
    bool decide_next(uint64_t position);
    bool take_back_locked(Work& work);  // false: it runs
    Answer query_device(Marker& marker);
    // The caller drops the result without the lock: that may run code of the device.
    [[nodiscard]] Markers decide_locked(Marker& marker, Answer answer);
    [[nodiscard]] Markers settle_waits_locked(uint64_t before);
    void announce();
    void finish_work(Passed& passed);
    void end_marker(Marker& marker);
    std::vector<Ref<Marker>> unpolled_waits(uint64_t before) const;
    void poll_waits(uint64_t before);
    void poll_occasionally();
    Ref<Marker> first_marker() const;
    Ref<Marker> first_outstanding() const;
    Ref<Marker> last_marker() const;

    Places passed_;                // markers with an outcome that are not complete, oldest first
    bool announcing_ = false;      // a thread announces the first of passed_
    int64_t last_time_ = 0;        // of the last marker with a time
    ClockModel* clock_ = nullptr;  // of the device, if its times must be mapped
};

}  // namespace eventide
