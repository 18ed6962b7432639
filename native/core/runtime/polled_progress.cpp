// How a polled stream detects completion; polled_stream.hpp describes the two steps.
#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "runtime/polled_stream.hpp"

namespace eventide {
namespace {

constexpr int64_t longest_join_ns = 50'000'000;  // so that Ctrl-C is handled
constexpr int64_t longest_rest_ns = 1'000'000;   // then the device is polled again

// Takes the host lock unless this thread holds it; Futures and hooks need it.
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
    if (!process::is_current(generation)) return false;  // the device and its locks belong to the parent process
    if (!broken_.has(marker) && ask(marker) == MarkerState::pending) return false;
    if (broken_.has(marker) && !pass_all_before(marker)) return false;
    advance(marker.position());
    // Its Future may be done already: another thread is about to complete it, with no hook or device call in between.
    while (finishing_.load(std::memory_order_acquire) >= marker.position() && marker.state() == MarkerState::pending) {
    }
    return true;
}

// One that the device cannot poll is broken from then on.
MarkerState PolledStream::ask(Marker& marker) {
    try {
        locks::DeviceCall call;
        return device_stream_->poll(marker);
    } catch (const Error& e) {
        broken_.add(marker, e.what());
        return MarkerState::failed;
    }
}

// The device cannot say whether it is past a broken marker: it is where all before it is complete, which must not be
// lost for it.
bool PolledStream::pass_all_before(const Marker& broken) {
    for (;;) {
        const Ref<Marker> first = first_outstanding();
        if (!first || first->position() >= broken.position()) return true;
        if (!broken_.has(*first) && ask(*first) == MarkerState::pending) return false;
        advance(first->position());
        if (first_outstanding() == first) return false;  // its work runs
    }
}

bool PolledStream::join(Marker& marker, int64_t ns) {
    if (!process::is_current(generation)) return false;
    const bool broken = broken_.has(marker);
    const Ref<Marker> waited = broken ? first_outstanding() : Ref<Marker>(&marker);
    // Timeout 0 is a query: join would advance a device with virtual time.
    if (ns > 0 && marker.state() == MarkerState::pending && waited && !broken_.has(*waited)) {
        try {
            locks::DeviceCall call;
            device_stream_->join(*waited, std::min(ns, longest_join_ns));
        } catch (const Error& e) {
            broken_.add(*waited, e.what());
        }
    }
    if (marker.state() != MarkerState::pending) return true;
    const bool passed = refresh(marker);
    if (marker.state() != MarkerState::pending) return true;
    // The device is past it, but its work still runs, or hooks of what is before it do on another thread.
    return (passed || broken) && ns > 0 && marker.sleep_on_word(std::min(ns, longest_rest_ns));
}

// The device is past `position`. First each marker up to it gets its outcome, in order; this never waits, so that work
// that is about to run sees the state of its stream. Then hooks and Futures follow, in order.
void PolledStream::advance(uint64_t position) {
    poll_waits(position);
    while (decide_next(position)) {
    }
    announce();
}

// Gives the oldest marker its outcome; false: no marker up to `position` can have one now. The device is queried
// without a lock: two threads may query the same marker, and the first answer is used.
bool PolledStream::decide_next(uint64_t position) {
    Ref<Marker> marker;
    uint64_t lost = 0;  // the id of work that the device is past and has not run
    {
        std::lock_guard lock(m_);
        if (outstanding_.empty() || outstanding_.front().marker->position() > position) return false;
        marker = outstanding_.front().marker;
        if (Work* work = marker->work) {
            const bool ran = work->outcome.load(std::memory_order_acquire) != Outcome::none;
            if (!ran && !take_back_locked(*work)) return false;  // it still runs, even if the device reports otherwise
            if (work->lost) lost = work->id;
        }
    }
    Answer answer = query_device(*marker);
    if (lost && !answer.failure)
        answer.failure = Ref<Failure>(
            new Failure("device '" + device.type() + "' passed work " + std::to_string(lost) + " without running it"));
    Markers dropped;
    std::lock_guard lock(m_);
    if (!outstanding_.empty() && outstanding_.front().marker == marker)
        dropped = decide_locked(*marker, std::move(answer));
    return true;
}

// The device is past work that it has not run. Done in one step under m_, so that each thread sees the work either run
// or lost and can give its marker the outcome; a stream that waits for it needs that at once.
bool PolledStream::take_back_locked(Work& work) {
    if (!device_stream_->reclaim(work)) return false;
    if (!immediate()) start_work();
    work.lost = work.begin();
    work.outcome.store(work.lost ? Outcome::ok : Outcome::cancelled, std::memory_order_release);
    return true;
}

PolledStream::Answer PolledStream::query_device(Marker& marker) {
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
    Markers dropped = settle_waits_locked(marker.position());  // first: it may fail for lack of memory
    Places place;
    place.splice(place.begin(), outstanding_, outstanding_.begin());
    Passed& passed = place.front();
    passed.work = std::exchange(marker.work, nullptr);
    passed.failure = answer.failure;
    // Within the error of the clock model, times of a stream's markers stay in stream order.
    if (clock_ && answer.ticks) answer.time = last_time_ = std::max(last_time_, answer.time);
    if (marker.starts) marker.starts->start_ns = answer.time;
    combine_errors_locked(marker, passed, answer.failure);
    if (answer.failure) set_error_locked(std::move(answer.failure));
    marker.decide(answer.time, answer.ticks, outcome_locked(marker));
    passed_.splice(passed_.end(), place);
    return dropped;
}

// Calls hooks, publishes Futures and completes the markers that have an outcome, in order and with no lock held. One
// thread at a time does this, also for markers that other threads or the hooks themselves add meanwhile.
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

// The device is past these waits: their markers are complete; if one failed, this stream gets its error.
PolledStream::Markers PolledStream::settle_waits_locked(uint64_t before) {
    Markers settled;
    while (!waits_.empty() && waits_.front().position < before) {
        settled.push_back(waits_.front().marker);
        waits_.pop_front();
        const Marker& m = *settled.back();
        if (m.decided() == MarkerState::failed) set_error_locked(m.failure());
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

std::vector<Ref<Marker>> PolledStream::unpolled_waits(uint64_t before) const {
    std::vector<Ref<Marker>> out;
    std::lock_guard lock(m_);
    for (const auto& wait : waits_)
        if (wait.position < before && wait.marker->decided() == MarkerState::pending) out.push_back(wait.marker);
    return out;
}

// The device is past these waits, but their markers may not have been polled yet, nor those that their streams waited
// for. What was waited for comes first, so that polling finds nothing left to poll: a chain of streams may be of any
// length, the stack is not.
void PolledStream::poll_waits(uint64_t before) {
    struct Visit {
        Ref<Marker> marker;
        std::vector<Ref<Marker>> waits;
        size_t next = 0;
    };
    std::vector<Ref<Marker>> first = unpolled_waits(before);
    if (first.empty()) return;
    std::vector<Visit> path;
    path.push_back({{}, std::move(first)});
    std::set<Marker*> visited;
    std::vector<Ref<Marker>> kept;  // the visited ones, so that none is used again meanwhile
    while (!path.empty()) {
        Visit& last = path.back();
        if (last.next == last.waits.size()) {
            const Ref<Marker> marker = std::move(last.marker);
            path.pop_back();
            if (marker) (void)marker->pending();
            continue;
        }
        const Ref<Marker> marker = last.waits[last.next++];
        if (!marker->stream().polled() || !visited.insert(marker.get()).second) continue;
        kept.push_back(marker);
        path.push_back({marker, static_cast<PolledStream&>(marker->stream()).unpolled_waits(marker->position())});
    }
}

// The outcome of the work, from its run and from the device.
Outcome PolledStream::finished_outcome(Passed& passed) {
    Work& work = *passed.work;
    const Outcome outcome = work.outcome.load(std::memory_order_acquire);
    if (outcome != Outcome::ok || !passed.failure) return outcome;
    work.fail(*passed.failure);  // the device reported an error for it
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
    fire_completion(work, r);
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
        // The device could not release a marker that is no longer used: nothing depends on it.
    }
}

}  // namespace eventide
