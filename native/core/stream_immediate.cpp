// The half of a stream that runs work inside submit: for immediate devices, where work is what a function enqueues.
//
//   submit:  [start marker]  fn, on the caller's thread, no lock held  ->  hook  ->  marker behind, which ends the work
//
// What fn raises is known at once, but holds from its marker on: what was recorded before still ends well. So there are
// two states. `fate_` is that of the host's end of the queue: the next submission is refused with it, a synchronize
// that is queued clears it. `poison_` is that of the device's end, where markers pass.
#include <algorithm>
#include <utility>

#include "stream_order.hpp"

namespace eventide {

uint64_t Stream::submit_now(Work& work, Ref<Marker>* behind, Submitted* told) {
    Ref<Marker> start;
    Ref<Failure> fate;
    bool entered = false;
    try {
        entered = in_order([&] { return enter_locked(work, start, fate); },
                           [&] {
                               if (start) tell_marker(*start);
                           });
        if (!entered) return 0;
        run_now(work, fate);
    } catch (const Error&) {
        if (work.position) withdraw(work, start.get());
        throw;
    }
    if (told) told->now();
    Ref<Marker> marker = mark_work(work);
    const uint64_t position = marker->position();
    if (behind) *behind = std::move(marker);
    flush_device();
    leave();
    return position;
}

bool Stream::enter_locked(Work& work, Ref<Marker>& start, Ref<Failure>& fate) {
    check_open();
    if (options.max_pending && queued() >= options.max_pending) return false;
    queued_.fetch_add(1, std::memory_order_relaxed);
    ++entered_;
    fate = fate_;
    // Times are for listeners; a marker more is a good part of a small work's cost.
    if (!fate && hub::listening(Hook::work_completion)) {
        start = take_marker_locked(0, true);
        start->starts = &work;
    }
    work.position = next_position_locked();
    return true;
}

// Runs it, or says why not. Throws if the device refused it.
void Stream::run_now(Work& work, const Ref<Failure>& fate) {
    if (fate) {
        (void)work.begin();
        work.skip(*fate);
        work.outcome.store(Outcome::skipped, std::memory_order_release);
        return;
    }
    try {
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
Ref<Marker> Stream::mark_work(Work& work) {
    Ref<Marker> marker;
    try {
        in_order(
            [&] {
                if (work.failure && !fate_) fate_ = work.failure;
                marker = take_marker_locked(0, true);
                marker->work = &work;
                work.position = marker->position();
                return true;
            },
            [&] { device_stream_->mark(*marker); });
    } catch (const Error& e) {
        broken_.add(*marker, e.what());
    }
    return marker;
}

// The device refused: the work stays the caller's.
void Stream::withdraw(Work& work, Marker* start) {
    if (start) {
        std::lock_guard settling(settle_);
        start->starts = nullptr;
    }
    device_stream_->forget(work);
    queued_.fetch_sub(1, std::memory_order_relaxed);
    work.position = 0;
    leave();
}

// A stream that was closed meanwhile ends with the last one who is inside.
void Stream::leave() {
    {
        std::lock_guard lock(m_);
        if (--entered_ || !std::exchange(finish_due_, false)) return;
    }
    close_when_drained();
}

// What the end of the queue will be, from what is queued: after a synchronize gave up.
Ref<Failure> Stream::fate_again_locked() const {
    Ref<Failure> fate = poison_;
    auto wait = waits_.begin();
    const auto pass_waits = [&](uint64_t before) {
        for (; wait != waits_.end() && wait->position < before; ++wait)
            if (!fate)
                fate = wait->marker->state() == MarkerState::failed ? wait->marker->failure() : wait->marker->doom;
    };
    for (const Ref<Marker>& marker : outstanding_) {
        pass_waits(marker->position());
        if (!fate) fate = marker->doom;
        if (marker->syncs) fate = {};
    }
    pass_waits(UINT64_MAX);
    return fate;
}

// The device is past this position: what the stream was poisoned with before it, if anything.
Ref<Failure> Stream::poison_before(uint64_t position) {
    Markers dropped;
    std::lock_guard lock(m_);
    dropped = settle_waits_locked(position);
    return poison_;
}

}  // namespace eventide
