// A stream of a device that is asked. The core makes a marker behind each work; when the device is past a marker, what
// ends with it is published in two steps:
//
//   decide     each marker gets its outcome, in order, under m_ and without waiting: work that is about to run finds
//              the state of its stream, whatever hooks do meanwhile
//   announce   hooks, Future, end of the marker, in order: one thread at a time, with no lock held
//
//   member                          guarded by
//   order_                          a lock: the order of calls that queue on the device; query never waits for it
//   outstanding_, passed_, announcing_, last_time_   m_
//   clock_                          set by open
#pragma once

#include <deque>
#include <vector>

#include "base/host_mutex.hpp"
#include "runtime/broken_marker.hpp"
#include "runtime/stream.hpp"

namespace eventide {

class PolledStream : public Stream {
  public:
    PolledStream(Device& device, StreamOptions options, StreamKind kind = StreamKind::polled)
        : Stream(device, std::move(options), kind) {}

    uint64_t try_submit(Work& work, Ref<Marker>* behind, Submitted* told) override;
    Ref<Marker> record(bool timing, uint64_t event) override;
    void wait(Marker& marker) override;
    bool idle() override;
    void close() noexcept override;
    void sleep_for_room(int64_t ns) override;
    void execute(Work& work) override;

    // record in two steps: flush may run work and hooks, so a caller that holds a lock meanwhile makes it afterwards.
    Ref<Marker> queue_record(bool timing, uint64_t event);
    void flush();

    // For its markers.
    bool refresh(Marker& marker);           // asks the device; true if that is past the marker
    bool join(Marker& marker, int64_t ns);  // lets the device block; true if it has ended
    void forget(Marker& marker) noexcept;
    // Everything queued is over: lets go of the device.
    virtual void finish();

  protected:
    // A marker that the device is past, its outcome set, and the work that ends with it.
    struct Passed {
        Ref<Marker> marker;
        Work* work = nullptr;
        Ref<Failure> failure;  // of the work: the device failed it
        Ref<Failure> earlier;  // of the work: what it was enqueued behind has failed since
    };
    // What the device says about a marker that it is past.
    struct Answer {
        Ref<Failure> failure;
        int64_t ticks = 0;  // on the device's clock; 0: it has no time
        int64_t time = 0;   // on the trace's
    };
    using Markers = std::vector<Ref<Marker>>;

    void opened() override;
    Ref<Marker> queue_end(bool sync, bool patient, Ref<Failure>* healed) override;
    virtual bool known_idle_locked(bool patient) const;
    // Gives a marker its place, once the device has made it: other threads ask the device about those that have one.
    virtual void publish_locked(Marker& marker);
    virtual void publish_wait_locked(Marker& marker);
    // The waits before the marker are settled; `failure` is that of the marker.
    virtual void judge_locked(Marker&, Passed&, Ref<Failure>& failure) { (void)failure; }
    virtual Outcome finished_outcome(Passed& passed);

    void mark(Marker& marker);
    void mark_or_break(Marker& marker);  // one that the device cannot make fails
    void close_when_drained();

    HostMutex order_;
    std::deque<Ref<Marker>> outstanding_;  // markers that the device has made, without an outcome, oldest first
    std::atomic<uint32_t> flushes_{0};
    BrokenMarkers broken_;

  private:
    Ref<Marker> queue_end(std::unique_lock<HostMutex> order, bool sync, bool patient, Ref<Failure>* healed);
    void advance(uint64_t position);
    bool decide_next(uint64_t position);
    bool take_back_locked(Work& work);  // false: it runs
    Answer ask(Marker& marker);
    // To be dropped without the lock: that may run code of the device.
    [[nodiscard]] Markers decide_locked(Marker& marker, Answer answer);
    [[nodiscard]] Markers settle_waits_locked(uint64_t before);
    void announce();
    void finish_work(Passed& passed);
    void end_marker(Marker& marker);
    void ask_about_waits(uint64_t before);
    void ask_sometimes();
    Ref<Marker> first_marker() const;
    Ref<Marker> last_marker() const;

    std::deque<Passed> passed_;    // markers with an outcome that have not ended, oldest first
    bool announcing_ = false;      // a thread announces the first of passed_
    int64_t last_time_ = 0;        // of the last marker with a time
    ClockModel* clock_ = nullptr;  // of the device, if its times must be mapped
};

}  // namespace eventide
