#include "runtime/immediate_stream.hpp"

#include <algorithm>
#include <utility>

namespace eventide {
namespace {

// The error that a stream gets by waiting for the marker, as far as the host can see.
Ref<Failure> known_failure(const Marker& marker) {
    return marker.decided() == MarkerState::failed ? marker.failure() : marker.error_at_creation;
}

}  // namespace

uint64_t ImmediateStream::try_submit(Work& work, Ref<Marker>* behind, SubmitListener* listener) {
    Places end;
    Ref<Marker> start;
    Ref<Failure> error;
    std::string raised;
    try {
        if (!enter(work, end, start, error)) return 0;
        raised = run_now(work, error);
    } catch (const std::exception&) {
        if (work.position) withdraw(work, start.get());
        throw;
    }
    if (listener) listener->on_submitted();
    Ref<Marker> marker = mark_work(work, end, std::move(raised));
    const uint64_t position = marker->position();
    if (behind) *behind = std::move(marker);
    flush();
    leave();
    return position;
}

// `end`: the place of the marker that ends the work. After this nothing can fail for lack of memory.
bool ImmediateStream::enter(Work& work, Places& end, Ref<Marker>& start, Ref<Failure>& error) {
    Places place;
    std::lock_guard order(order_);
    {
        std::lock_guard lock(m_);
        check_open();
        if (full()) return false;
        end = take_place_locked(0, true);
        (void)admit_locked(work);  // after this the caller withdraws work that fails
        ++entered_;
        error = next_submit_error_;
        // Only listeners need times; one more marker is a large part of the cost of small work.
        if (!error && hub::listening(Hook::work_completion)) {
            place = take_place_locked(0, true);
            start = place.front().marker;
            start->starts = &work;
        }
    }
    if (!start) return true;
    mark(*start);
    std::lock_guard lock(m_);
    publish_locked(place);
    work.position = next_position_locked();
    return true;
}

// Runs the work, or skips it with the error. Throws if the device did not accept it. Returns what the device raised
// while another thread runs the work: that is the error of its marker.
std::string ImmediateStream::run_now(Work& work, const Ref<Failure>& error) {
    if (error) {
        (void)work.begin();
        work.skip(*error);
        work.outcome.store(Outcome::skipped, std::memory_order_release);
        return {};
    }
    try {
        locks::DeviceCall call;
        device_stream_->submit(work);
    } catch (const Error& e) {
        const Outcome outcome = work.outcome.load(std::memory_order_acquire);
        if (outcome == Outcome::none && refused(work)) throw;
        if (outcome == Outcome::none) return e.what();
        if (outcome != Outcome::ok) return {};
        work.failure = Ref<Failure>(new Failure(e.what()));  // it ran, and the device then raised for what it enqueued
        work.fail(*work.failure);
        work.outcome.store(Outcome::failed, std::memory_order_release);
    }
    return {};
}

// The marker with which the work completes. The work fails if the device cannot make it, or `raised`.
Ref<Marker> ImmediateStream::mark_work(Work& work, Places& end, std::string raised) {
    std::lock_guard order(order_);
    const Ref<Marker> marker = end.front().marker;
    marker->work = &work;
    if (raised.empty())
        mark_or_break(*marker);
    else
        broken_.add(*marker, std::move(raised));
    std::lock_guard lock(m_);
    if (work.failure && !next_submit_error_) next_submit_error_ = work.failure;
    work.position = position() + 1;
    publish_locked(end);
    return marker;
}

// The device raised: the caller keeps the work.
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

// The last submission inside finishes a stream that was closed meanwhile.
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
        work.failure = run_function(work, false, start, end);  // applies to the stream from its marker on
        outcome = work.failure ? Outcome::failed : Outcome::ok;
    }
    work.outcome.store(outcome, std::memory_order_release);
}

// On an immediate device other code may enqueue too: only the device can report that it is idle.
bool ImmediateStream::known_idle_locked(bool patient) const {
    return (!patient || finished_) && PolledStream::known_idle_locked(patient);
}

void ImmediateStream::publish_locked(Places& place) {
    Marker& marker = *place.front().marker;
    marker.error_at_creation = next_submit_error_;
    if (marker.syncs) next_submit_error_ = {};
    PolledStream::publish_locked(place);
}

void ImmediateStream::publish_wait_locked(Marker& marker) {
    PolledStream::publish_wait_locked(marker);
    if (!next_submit_error_) next_submit_error_ = known_failure(marker);
}

void ImmediateStream::combine_errors_locked(Marker& marker, Passed& passed, Ref<Failure>& failure) {
    passed.earlier = stream_error_;
    if (!failure) failure = marker.error_at_creation;
}

Outcome ImmediateStream::finished_outcome(Passed& passed) {
    queued_.fetch_sub(1, std::memory_order_seq_cst);
    const Outcome outcome = PolledStream::finished_outcome(passed);
    if (outcome != Outcome::ok || !passed.earlier) return outcome;
    passed.work->skip(*passed.earlier);
    return Outcome::failed;
}

Ref<Failure> ImmediateStream::heal_locked() {
    if (completed() >= position()) next_submit_error_ = {};
    return Stream::heal_locked();
}

void ImmediateStream::set_error_locked(Ref<Failure> failure) {
    if (stream_error_) return;
    Stream::set_error_locked(std::move(failure));
    if (syncs_.empty() && !next_submit_error_)
        next_submit_error_ = stream_error_;  // a queued synchronize will clear it
}

// Computes the error at the tail of the queue again, from the queued items.
void ImmediateStream::abandoned_locked() {
    Ref<Failure> error = stream_error_;
    auto wait = waits_.begin();
    const auto pass_waits = [&](uint64_t before) {
        for (; wait != waits_.end() && wait->position < before; ++wait)
            if (!error) error = known_failure(*wait->marker);
    };
    for (const Passed& each : outstanding_) {
        const Ref<Marker>& marker = each.marker;
        pass_waits(marker->position());
        if (!error) error = marker->error_at_creation;
        if (marker->syncs) error = {};
    }
    pass_waits(UINT64_MAX);
    next_submit_error_ = error;
}

}  // namespace eventide
