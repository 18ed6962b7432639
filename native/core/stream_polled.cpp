// The half of a stream that asks: for devices whose markers are found out about by polling.
#include <algorithm>
#include <ctime>

#include "clock.hpp"
#include "stream.hpp"

namespace eventide {
namespace {

constexpr int64_t longest_join_ns = 50'000'000;  // so that Ctrl-C gets through

void rest(int64_t ns) {
    const timespec pause{0, long(std::min<int64_t>(ns, 1'000'000))};
    nanosleep(&pause, nullptr);
}

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

class CloseTask final : public Task {
  public:
    explicit CloseTask(Ref<Stream> stream) : stream_(std::move(stream)) {}
    void run() override { stream_->finish_polled(); }
    bool needs_host_lock() const override { return true; }

  private:
    Ref<Stream> stream_;
};

}  // namespace

void Stream::refresh(Marker& marker) {
    MarkerState state = MarkerState::failed;
    if (!broken_.has(marker)) {
        try {
            state = device_stream_->poll(marker);
        } catch (const Error& e) {
            broken_.add(marker, e.what());
        }
    }
    if (state != MarkerState::pending) advance(marker.position());
}

bool Stream::join(Marker& marker, int64_t ns) {
    // No time to wait is a question: a device with virtual time would move on.
    if (ns > 0 && marker.state() == MarkerState::pending && !broken_.has(marker)) {
        try {
            device_stream_->join(marker, std::min(ns, longest_join_ns));
        } catch (const Error& e) {
            broken_.add(marker, e.what());
        }
    }
    if (!marker.pending()) return true;
    if (broken_.has(marker)) rest(ns);  // its work still runs
    return false;
}

// Everything up to `position` is over on the device: passes the markers, in order, and with them the work before each.
void Stream::advance(uint64_t position) {
    ask_about_waits(position);
    std::lock_guard settling(settle_);
    for (;;) {
        Ref<Marker> marker;
        {
            std::lock_guard lock(m_);
            if (outstanding_.empty() || outstanding_.front()->position() > position) return;
            marker = outstanding_.front();
        }
        Work* work = marker->work;
        const bool ran = work && work->outcome.load(std::memory_order_acquire) != Outcome::none;
        if (work && !ran && !device_stream_->reclaim(*work))
            return;  // it runs: whatever the device says, that is not over
        Ref<Failure> failure = broken_.take(*marker);
        int64_t ticks = 0, time = 0;
        try {
            if (!failure) failure = device_stream_->failure(*marker);
            if (marker->timing() && !failure) ticks = device_stream_->completed_at(*marker);
            if (ticks) time = in_trace_time(ticks);
        } catch (const Error& e) {
            failure = Ref<Failure>(new Failure(e.what()));
        }
        if (marker->starts) marker->starts->start_ns = time;
        marker->work = nullptr;
        if (work) finish_work(*work, time, failure);
        if (!failure) failure = marker->doom;
        Markers dropped;
        std::lock_guard lock(m_);
        outstanding_.pop_front();
        dropped = settle_waits_locked(marker->position());
        if (failure) poison_locked(std::move(failure));
        pass_locked(*marker, time, ticks);
    }
}

// A marker's time on the trace's clock. Within what the clock is known to, markers of a stream stay in its order.
int64_t Stream::in_trace_time(int64_t ticks) {
    if (!clock_) return ticks;
    if (clock_->due(now_ns())) device.sample_clock(options.index, *clock_, 1);
    return last_time_ = std::max(last_time_, clock_->at(ticks).host);
}

// The device is past these waits: what they waited for has ended, and if it failed, so has this stream.
Stream::Markers Stream::settle_waits_locked(uint64_t before) {
    Markers settled;
    while (!waits_.empty() && waits_.front().position < before) {
        Ref<Marker> m = std::move(waits_.front().marker);
        waits_.pop_front();
        if (m->state() == MarkerState::failed) poison_locked(m->failure());
        settled.push_back(std::move(m));
    }
    return settled;
}

void Stream::execute_polled(Work& work) {
    if (immediate_) {
        int64_t start = 0, end = 0;
        work.outcome.store(run_work(work, start, end), std::memory_order_release);
        return;
    }
    advance(work.position);
    {
        Markers dropped;
        std::lock_guard lock(m_);
        dropped = settle_waits_locked(work.position);
    }
    start_work();
    try {
        const int64_t ticks = device_stream_->now();
        work.start_ns = clock_ ? clock_->at(ticks).host : ticks;
    } catch (const Error&) {
        work.start_ns = -1;
    }
    int64_t host_start = 0, host_end = 0;
    work.outcome.store(run_work(work, host_start, host_end), std::memory_order_release);
}

// The device is past these waits, but nobody may have asked about their markers yet. In order, so that the streams they
// belong to, which may wait for this one, have little left to ask; and before settle_ is taken, for the same reason.
void Stream::ask_about_waits(uint64_t before) {
    std::vector<Ref<Marker>> over;
    {
        std::lock_guard lock(m_);
        for (auto& wait : waits_)
            if (wait.position < before && wait.marker->state() == MarkerState::pending) over.push_back(wait.marker);
    }
    for (auto& marker : over) (void)marker->pending();
}

void Stream::finish_work(Work& work, int64_t end, const Ref<Failure>& failure) {
    HostTurn turn;
    Outcome outcome = work.outcome.load(std::memory_order_acquire);
    if (immediate_) queued_.fetch_sub(1, std::memory_order_seq_cst);
    if (outcome == Outcome::none) {  // the device is past it and never ran it
        if (!immediate_) start_work();
        outcome = work.begin() ? Outcome::ok : Outcome::cancelled;
        if (outcome == Outcome::ok && !failure) {
            Ref<Failure> lost(new Failure("device '" + device.type() + "' passed work " + std::to_string(work.id) +
                                          " without running it"));
            work.fail(*lost);
            poison(std::move(lost));
            outcome = Outcome::failed;
        }
    }
    if (outcome == Outcome::ok && failure) {  // the marker behind it failed: the device cannot vouch for it
        work.fail(*failure);
        outcome = Outcome::failed;
    } else if (outcome == Outcome::ok && immediate_) {
        if (Ref<Failure> first = poison_before(work.position)) {  // what it was enqueued behind has failed since
            work.skip(*first);
            outcome = Outcome::failed;
        }
    }
    HookRecord r{.hook = Hook::work_completion, .outcome = outcome, .device = device_id, .stream = id, .work = work.id};
    r.start_ns = work.start_ns >= 0 ? work.start_ns : end;
    r.end_ns = end;
    r.cpu_ns = work.cpu_ns;
    device_stream_->forget(work);
    end_work(work, r);
    turn.end();
}

Ref<Marker> Stream::first_marker() const {
    std::lock_guard lock(m_);
    return outstanding_.empty() ? Ref<Marker>() : outstanding_.front();
}

// A program that never asks would let what is over pile up: now and then the middle of it is asked about.
void Stream::ask_sometimes() {
    Ref<Marker> middle;
    {
        std::lock_guard lock(m_);
        if (!outstanding_.empty()) middle = outstanding_[outstanding_.size() / 2];
    }
    if (middle) (void)middle->pending();
}

// The marker behind all that is queued, if there is one already.
Ref<Marker> Stream::last_marker() const {
    std::lock_guard lock(m_);
    const bool behind_all = !outstanding_.empty() && outstanding_.back()->position() == position();
    return behind_all ? outstanding_.back() : Ref<Marker>();
}

void Stream::close_when_drained() {
    Ref<Marker> end;
    try {
        end = mark_end();
    } catch (const Error& e) {
        poison(Ref<Failure>(new Failure(e.what())));
    }
    auto* task = new CloseTask(Ref<Stream>(this));
    if (end && end->when_ended(task)) return;
    delete task;
    finish_polled();
}

void Stream::finish_polled() {
    {
        std::lock_guard lock(m_);
        finish_due_ = entered_ > 0;
        if (finish_due_) return;
    }
    try {
        device_stream_->finish();
    } catch (const Error& e) {
        poison(Ref<Failure>(new Failure(e.what())));
    }
    drained();
}

void Stream::forget(Marker& marker) noexcept {
    broken_.erase(marker);
    try {
        device_stream_->forget(marker);
    } catch (const Error&) {
        // It cannot let go of something that we let go of: nothing depends on it any more.
    }
}

}  // namespace eventide
