// How a polled stream finds out what is over: see polled_stream.hpp for the two steps.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "runtime/polled_stream.hpp"

namespace eventide {
namespace {

constexpr int64_t longest_join_ns = 50'000'000;  // so that Ctrl-C gets through
constexpr int64_t longest_rest_ns = 1'000'000;   // then the device is asked again

// Takes the host lock if this thread has not got it; Futures and hooks need it.
class HostTurn {
  public:
    HostTurn() : host_(HostLock::installed()), how_(host_ ? host_->enter() : 0) {}
    void end() {
        if (host_) host_->leave(how_);
    }

  private:
    HostLock* const host_;
    const int how_;
};

}  // namespace

bool PolledStream::refresh(Marker& marker) {
    if (!process::is_current(generation)) return false;  // the device and its locks are the parent's
    MarkerState state = MarkerState::failed;
    if (!broken_.has(marker)) {
        try {
            locks::DeviceCall call;
            state = device_stream_->poll(marker);
        } catch (const Error& e) {
            broken_.add(marker, e.what());
        }
    }
    if (state == MarkerState::pending) return false;
    advance(marker.position());
    // Its Future may be done already: another thread is about to end it, with no hook or device call in between.
    while (finishing_.load(std::memory_order_acquire) >= marker.position() && marker.state() == MarkerState::pending) {
    }
    return true;
}

bool PolledStream::join(Marker& marker, int64_t ns) {
    if (!process::is_current(generation)) return false;
    // No time to wait is a question: a device with virtual time would move on.
    if (ns > 0 && marker.state() == MarkerState::pending && !broken_.has(marker)) {
        try {
            locks::DeviceCall call;
            device_stream_->join(marker, std::min(ns, longest_join_ns));
        } catch (const Error& e) {
            broken_.add(marker, e.what());
        }
    }
    if (marker.state() != MarkerState::pending) return true;
    const bool over = refresh(marker);
    if (marker.state() != MarkerState::pending) return true;
    // The device is past it, but its work still runs, or hooks of what is before it do on another thread.
    return over && ns > 0 && marker.sleep_on_word(std::min(ns, longest_rest_ns));
}

// Everything up to `position` is over on the device. First each marker gets its outcome, in order; this waits for
// nothing, so that work that is about to run knows the state of its stream. Then hooks and Futures follow, in order.
void PolledStream::advance(uint64_t position) {
    ask_about_waits(position);
    while (decide_next(position)) {
    }
    announce();
}

// Gives the oldest marker its outcome; false: there is none up to `position` that can have one now. The device is asked
// without a lock: two threads may ask the same, and the answer that comes first counts.
bool PolledStream::decide_next(uint64_t position) {
    Ref<Marker> marker;
    uint64_t lost = 0;  // the id of work that the device is past and has not run
    {
        std::lock_guard lock(m_);
        if (outstanding_.empty() || outstanding_.front()->position() > position) return false;
        marker = outstanding_.front();
        if (Work* work = marker->work) {
            const bool over = work->outcome.load(std::memory_order_acquire) != Outcome::none;
            if (!over && !take_back_locked(*work)) return false;  // it runs: whatever the device says, that is not over
            if (work->lost) lost = work->id;
        }
    }
    Answer answer = ask(*marker);
    if (lost && !answer.failure)
        answer.failure = Ref<Failure>(
            new Failure("device '" + device.type() + "' passed work " + std::to_string(lost) + " without running it"));
    Markers dropped;
    std::lock_guard lock(m_);
    if (!outstanding_.empty() && outstanding_.front() == marker) dropped = decide_locked(*marker, std::move(answer));
    return true;
}

// The device is past work that it has not run. In one step, so that each thread that asks sees the work run or lost,
// and can give its marker the outcome: a stream that waits for it needs that now.
bool PolledStream::take_back_locked(Work& work) {
    if (!device_stream_->reclaim(work)) return false;
    if (!immediate()) start_work();
    work.lost = work.begin();
    work.outcome.store(work.lost ? Outcome::ok : Outcome::cancelled, std::memory_order_release);
    return true;
}

PolledStream::Answer PolledStream::ask(Marker& marker) {
    Answer answer{broken_.failure(marker)};
    locks::DeviceCall call;
    try {
        if (!answer.failure) answer.failure = device_stream_->failure(marker);
        if (marker.timing() && !answer.failure) answer.ticks = answer.time = device_stream_->completed_at(marker);
        if (answer.ticks && clock_) {
            if (clock_->due(now_ns())) device.sample_clock(options.index, *clock_, 1);
            answer.time = clock_->at(answer.ticks).host;
        }
    } catch (const Error& e) {
        answer.failure = Ref<Failure>(new Failure(e.what()));
    }
    return answer;
}

PolledStream::Markers PolledStream::decide_locked(Marker& marker, Answer answer) {
    Passed passed{std::move(outstanding_.front()), std::exchange(marker.work, nullptr), answer.failure};
    outstanding_.pop_front();
    // Within what the clock is known to, markers of a stream stay in its order.
    if (clock_ && answer.ticks) answer.time = last_time_ = std::max(last_time_, answer.time);
    if (marker.starts) marker.starts->start_ns = answer.time;
    Markers dropped = settle_waits_locked(marker.position());
    judge_locked(marker, passed, answer.failure);
    if (answer.failure) poison_locked(std::move(answer.failure));
    marker.decide(answer.time, answer.ticks, outcome_locked(marker));
    passed_.push_back(std::move(passed));
    return dropped;
}

// Calls hooks and publishes Futures of markers that have their outcome, and ends them, in order and with no lock held.
// Only one thread does: what others, or the hooks themselves, add meanwhile is left to it.
void PolledStream::announce() {
    for (;;) {
        Passed next;
        {
            std::lock_guard lock(m_);
            if (announcing_ || passed_.empty()) return;
            announcing_ = true;
            next = passed_.front();
        }
        if (next.work)
            finish_work(next);
        else
            end_marker(*next.marker);
    }
}

void PolledStream::end_marker(Marker& marker) {
    const uint64_t p = marker.position();
    finishing_.store(p, std::memory_order_release);
    marker.end();
    completed_.store(p, std::memory_order_release);
    Ref<Marker> dropped;
    std::lock_guard lock(m_);
    dropped = std::move(passed_.front().marker);
    passed_.pop_front();
    announcing_ = false;
}

// The device is past these waits: what they waited for has ended, and if it failed, so has this stream.
PolledStream::Markers PolledStream::settle_waits_locked(uint64_t before) {
    Markers settled;
    while (!waits_.empty() && waits_.front().position < before) {
        Ref<Marker> m = std::move(waits_.front().marker);
        waits_.pop_front();
        if (m->decided() == MarkerState::failed) poison_locked(m->failure());
        settled.push_back(std::move(m));
    }
    return settled;
}

void PolledStream::execute(Work& work) {
    advance(work.position);
    {
        Markers dropped;
        std::lock_guard lock(m_);
        dropped = settle_waits_locked(work.position);
    }
    start_work();
    try {
        locks::DeviceCall call;
        const int64_t ticks = device_stream_->now();
        work.start_ns = clock_ ? clock_->at(ticks).host : ticks;
    } catch (const Error&) {
        work.start_ns = -1;
    }
    int64_t host_start = 0, host_end = 0;
    work.outcome.store(run_deferred(work, host_start, host_end), std::memory_order_release);
}

// The device is past these waits, but their markers may not have been polled yet. In order, so that the streams they
// belong to, which may wait for this one, have little left to ask.
void PolledStream::ask_about_waits(uint64_t before) {
    std::vector<Ref<Marker>> over;
    {
        std::lock_guard lock(m_);
        for (auto& wait : waits_)
            if (wait.position < before && wait.marker->decided() == MarkerState::pending) over.push_back(wait.marker);
    }
    for (auto& marker : over) (void)marker->pending();
}

// The outcome of the work, from its run and from the device.
Outcome PolledStream::finished_outcome(Passed& passed) {
    Work& work = *passed.work;
    const Outcome outcome = work.outcome.load(std::memory_order_acquire);
    if (outcome != Outcome::ok || !passed.failure) return outcome;
    work.fail(*passed.failure);  // the device cannot vouch for it
    return Outcome::failed;
}

void PolledStream::finish_work(Passed& passed) {
    HostTurn turn;
    Work& work = *passed.work;
    const Outcome outcome = finished_outcome(passed);
    HookRecord r{.hook = Hook::work_completion, .outcome = outcome, .device = device_id, .stream = id, .work = work.id};
    r.end_ns = passed.marker->time_ns();
    r.start_ns = work.start_ns >= 0 ? work.start_ns : r.end_ns;
    r.cpu_ns = work.cpu_ns;
    {
        locks::DeviceCall call;
        device_stream_->forget(work);
    }
    tell_completion(work, r);
    finishing_.store(passed.marker->position(), std::memory_order_release);
    running_.store(false, std::memory_order_relaxed);
    work.publish();
    end_marker(*passed.marker);
    work.dispose();  // may run any code, which may wait for this stream
    turn.end();
}

void PolledStream::forget(Marker& marker) noexcept {
    if (!process::is_current(generation)) return;
    broken_.erase(marker);
    try {
        locks::DeviceCall call;
        device_stream_->forget(marker);
    } catch (const Error&) {
        // It cannot let go of something that we let go of: nothing depends on it any more.
    }
}

}  // namespace eventide
