#include "runtime/immediate_stream.hpp"

#include <algorithm>
#include <utility>

namespace eventide {
namespace {

// What a stream that waits for the marker will fail with, as far as that is known.
Ref<Failure> known_failure(const Marker& marker) {
    return marker.decided() == MarkerState::failed ? marker.failure() : marker.doom;
}

}  // namespace

uint64_t ImmediateStream::try_submit(Work& work, Ref<Marker>* behind, Submitted* told) {
    Ref<Marker> start;
    Ref<Failure> fate;
    try {
        if (!enter(work, start, fate)) return 0;
        run_now(work, fate);
    } catch (const Error&) {
        if (work.position) withdraw(work, start.get());
        throw;
    }
    if (told) told->now();
    Ref<Marker> marker = mark_work(work);
    const uint64_t position = marker->position();
    if (behind) *behind = std::move(marker);
    flush();
    leave();
    return position;
}

bool ImmediateStream::enter(Work& work, Ref<Marker>& start, Ref<Failure>& fate) {
    std::lock_guard order(order_);
    {
        std::lock_guard lock(m_);
        if (!admit_locked(work)) return false;  // from here on the caller withdraws what fails
        ++entered_;
        fate = fate_;
        // Times are for listeners; a marker more is a good part of a small work's cost.
        if (!fate && hub::listening(Hook::work_completion)) {
            start = take_marker_locked(0, true);
            start->starts = &work;
        }
    }
    if (!start) return true;
    mark(*start);
    std::lock_guard lock(m_);
    publish_locked(*start);
    work.position = next_position_locked();
    return true;
}

// Runs it, or says why not. Throws if the device refused it.
void ImmediateStream::run_now(Work& work, const Ref<Failure>& fate) {
    if (fate) {
        (void)work.begin();
        work.skip(*fate);
        work.outcome.store(Outcome::skipped, std::memory_order_release);
        return;
    }
    try {
        locks::DeviceCall call;
        device_stream_->submit(work);
    } catch (const Error& e) {
        const Outcome outcome = work.outcome.load(std::memory_order_acquire);
        if (outcome == Outcome::none) throw;
        if (outcome != Outcome::ok) return;
        work.failure = Ref<Failure>(new Failure(e.what()));  // it ran; the device cannot vouch for what it enqueued
        work.fail(*work.failure);
        work.outcome.store(Outcome::failed, std::memory_order_release);
    }
}

// The marker with which the work is over. One that the device cannot make fails it.
Ref<Marker> ImmediateStream::mark_work(Work& work) {
    std::lock_guard order(order_);
    Ref<Marker> marker;
    {
        std::lock_guard lock(m_);
        marker = take_marker_locked(0, true);
        marker->work = &work;
    }
    mark_or_break(*marker);
    std::lock_guard lock(m_);
    if (work.failure && !fate_) fate_ = work.failure;
    work.position = position() + 1;
    publish_locked(*marker);
    return marker;
}

// The device refused: the work stays the caller's.
void ImmediateStream::withdraw(Work& work, Marker* start) {
    if (start) {
        std::lock_guard lock(m_);
        start->starts = nullptr;
    }
    {
        locks::DeviceCall call;
        device_stream_->forget(work);
    }
    queued_.fetch_sub(1, std::memory_order_relaxed);
    work.position = 0;
    leave();
}

// A stream that was closed meanwhile ends with the last submission that is inside.
void ImmediateStream::leave() {
    {
        std::lock_guard lock(m_);
        if (--entered_ || !std::exchange(finish_due_, false)) return;
    }
    close_when_drained();
}

void ImmediateStream::finish() {
    {
        std::lock_guard lock(m_);
        finish_due_ = entered_ > 0;
        if (finish_due_) return;
    }
    PolledStream::finish();
}

void ImmediateStream::execute(Work& work) {
    Outcome outcome = Outcome::cancelled;
    if (work.begin()) {
        int64_t start = 0, end = 0;
        work.failure = run_function(work, false, start, end);  // it poisons the stream where its marker is
        outcome = work.failure ? Outcome::failed : Outcome::ok;
    }
    work.outcome.store(outcome, std::memory_order_release);
}

// On an immediate device people enqueue behind our back: only the device knows that it is idle.
bool ImmediateStream::known_idle_locked(bool patient) const {
    return (!patient || finished_) && PolledStream::known_idle_locked(patient);
}

void ImmediateStream::publish_locked(Marker& marker) {
    marker.doom = fate_;
    if (marker.syncs) fate_ = {};
    PolledStream::publish_locked(marker);
}

void ImmediateStream::publish_wait_locked(Marker& marker) {
    PolledStream::publish_wait_locked(marker);
    if (!fate_) fate_ = known_failure(marker);
}

void ImmediateStream::judge_locked(Marker& marker, Passed& passed, Ref<Failure>& failure) {
    passed.earlier = poison_;
    if (!failure) failure = marker.doom;
}

Outcome ImmediateStream::finished_outcome(Passed& passed) {
    queued_.fetch_sub(1, std::memory_order_seq_cst);
    const Outcome outcome = PolledStream::finished_outcome(passed);
    if (outcome != Outcome::ok || !passed.earlier) return outcome;
    passed.work->skip(*passed.earlier);
    return Outcome::failed;
}

Ref<Failure> ImmediateStream::heal_locked() {
    if (completed() >= position()) fate_ = {};
    return Stream::heal_locked();
}

void ImmediateStream::poison_locked(Ref<Failure> failure) {
    if (poison_) return;
    Stream::poison_locked(std::move(failure));
    if (syncs_.empty() && !fate_) fate_ = poison_;  // one on its way will heal it
}

// What the end of the queue will be, from what is queued.
void ImmediateStream::abandoned_locked() {
    Ref<Failure> fate = poison_;
    auto wait = waits_.begin();
    const auto pass_waits = [&](uint64_t before) {
        for (; wait != waits_.end() && wait->position < before; ++wait)
            if (!fate) fate = known_failure(*wait->marker);
    };
    for (const Ref<Marker>& marker : outstanding_) {
        pass_waits(marker->position());
        if (!fate) fate = marker->doom;
        if (marker->syncs) fate = {};
    }
    pass_waits(UINT64_MAX);
    fate_ = fate;
}

}  // namespace eventide
