// The calls of the host on a polled stream: queueing on the device, in order, and closing.
#include "runtime/polled_stream.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "base/process.hpp"

namespace eventide {
namespace {

class CloseTask final : public Task {
  public:
    explicit CloseTask(Ref<PolledStream> stream) : stream_(std::move(stream)) {}
    void run() override { stream_->finish(); }
    bool needs_host_lock() const override { return false; }
    int16_t device_type() const override { return stream_->device_id.type; }

  private:
    Ref<PolledStream> stream_;
};

}  // namespace

void PolledStream::opened() {
    clock_ = device.clock(options.index);
    if (clock_ && clock_->due(now_ns())) device.sample_clock(options.index, *clock_, 8);
}

uint64_t PolledStream::try_submit(Work& work, Ref<Marker>* behind, SubmitListener*) {
    Places place;
    Ref<Marker> marker;
    uint64_t p = 0;
    {
        std::lock_guard order(order_);
        {
            std::lock_guard lock(m_);
            check_open();
            if (full()) return 0;
            place = take_place_locked(0, true);
            (void)admit_locked(work);
            p = work.position;
            marker = place.front().marker;
            marker->work = &work;
        }
        try {
            {
                locks::DeviceCall call;
                device_stream_->submit(work);
            }
            // The device has the work and may run it; without a marker the Future fails.
            mark_or_break(*marker);
        } catch (const std::exception& e) {
            if (refused(work)) {
                queued_.fetch_sub(1, std::memory_order_relaxed);
                throw;
            }
            broken_.add(*marker, e.what());
        }
        std::lock_guard lock(m_);
        publish_locked(place);
    }
    if (behind) *behind = std::move(marker);
    flush();
    return p;
}

// The device raised in submit. It may have queued the work before: that never runs, and the caller keeps it. False: it
// runs already, or has run.
bool PolledStream::refused(Work& work) {
    locks::DeviceCall call;
    if (work.device_data && !device_stream_->reclaim(work)) return false;
    device_stream_->forget(work);
    return true;
}

void PolledStream::mark(Marker& marker) {
    locks::DeviceCall call;
    device_stream_->mark(marker);
}

void PolledStream::mark_or_break(Marker& marker) {
    try {
        mark(marker);
    } catch (const std::exception& e) {
        broken_.add(marker, e.what());
    }
}

PolledStream::Places PolledStream::take_place_locked(uint64_t event, bool timing, bool sync) {
    Places place(1);
    place.front().marker = take_marker_locked(event, timing, sync);
    return place;
}

void PolledStream::publish_locked(Places& place) {
    Marker& marker = *place.front().marker;
    marker.place(next_position_locked());
    outstanding_.splice(outstanding_.end(), place);
    if (marker.syncs) syncs_.push_back(&marker);
}

void PolledStream::flush() {
    {
        locks::DeviceCall call;
        flush_device();
    }
    if (flushes_.fetch_add(1, std::memory_order_relaxed) % 32 == 31) poll_occasionally();
}

Ref<Marker> PolledStream::record(bool timing, uint64_t event) {
    Ref<Marker> marker = queue_record(timing, event);
    flush();
    return marker;
}

Ref<Marker> PolledStream::queue_record(bool timing, uint64_t event) {
    Places place;
    std::lock_guard order(order_);
    {
        std::lock_guard lock(m_);
        check_open();
        place = take_place_locked(event, timing);
    }
    const Ref<Marker> marker = place.front().marker;
    mark(*marker);
    std::lock_guard lock(m_);
    publish_locked(place);
    return marker;
}

bool PolledStream::known_idle_locked(bool) const {
    return completed() >= position();
}

Ref<Marker> PolledStream::queue_end(bool sync, bool patient, Ref<Failure>* healed) {
    return queue_end(std::unique_lock(order_), sync, patient, healed);
}

Ref<Marker> PolledStream::queue_end(std::unique_lock<HostMutex> order, bool sync, bool patient, Ref<Failure>* healed) {
    Places place;
    {
        std::lock_guard lock(m_);
        if (known_idle_locked(patient)) {
            if (healed) *healed = heal_locked();
            return {};
        }
        place = take_place_locked(0, false, sync);
    }
    const Ref<Marker> marker = place.front().marker;
    mark(*marker);
    {
        std::lock_guard lock(m_);
        publish_locked(place);
    }
    order.unlock();
    flush();
    return marker;
}

void PolledStream::wait(Marker& marker) {
    {
        std::lock_guard order(order_);
        {
            std::lock_guard lock(m_);
            check_open();
            if (marker.decided() == MarkerState::done) return;
        }
        {
            locks::DeviceCall call;
            device_stream_->wait(marker, 0);
        }
        std::lock_guard lock(m_);
        publish_wait_locked(marker);
    }
    flush();
}

void PolledStream::publish_wait_locked(Marker& marker) {
    waits_.push_back({next_position_locked(), Ref<Marker>(&marker)});
}

bool PolledStream::idle() {
    if (completed() >= position()) return true;
    Ref<Marker> end = last_marker();
    if (!end) {
        std::unique_lock order(order_, std::try_to_lock);
        if (!order) return false;  // another thread is queueing an item
        end = queue_end(std::move(order), false, true, nullptr);
    }
    return !end || !end->pending();
}

void PolledStream::sleep_until_space(int64_t ns) {
    if (queued_.load(std::memory_order_seq_cst) < options.max_pending) return;
    if (Ref<Marker> first = first_marker()) {
        first->sleep(ns);
        return;
    }
    const timespec pause{0, 20'000};  // another thread is still making the marker
    nanosleep(&pause, nullptr);
}

Ref<Marker> PolledStream::first_marker() const {
    std::lock_guard lock(m_);
    if (!passed_.empty()) return passed_.front().marker;
    return outstanding_.empty() ? Ref<Marker>() : outstanding_.front().marker;
}

Ref<Marker> PolledStream::first_outstanding() const {
    std::lock_guard lock(m_);
    return outstanding_.empty() ? Ref<Marker>() : outstanding_.front().marker;
}

// The marker behind all queued items, if there is one.
Ref<Marker> PolledStream::last_marker() const {
    std::lock_guard lock(m_);
    Ref<Marker> last;
    if (!outstanding_.empty())
        last = outstanding_.back().marker;
    else if (!passed_.empty())
        last = passed_.back().marker;
    return last && last->position() == position() ? last : Ref<Marker>();
}

// Without this, complete markers of a program that never queries would accumulate: each 32nd flush polls the middle
// one, or the 64th of many.
void PolledStream::poll_occasionally() {
    Ref<Marker> middle;
    {
        std::lock_guard lock(m_);
        if (!outstanding_.empty())
            middle = std::next(outstanding_.begin(), long(std::min<size_t>(outstanding_.size() / 2, 64)))->marker;
    }
    if (middle) (void)middle->pending();
}

void PolledStream::close() noexcept {
    // At exit a thread inside the device may be parked while it holds order_, and nothing is drained any more.
    if (process::abandoned.load(std::memory_order_seq_cst)) return;
    {
        std::lock_guard lock(m_);
        refuse();
        if (std::exchange(finished_, true)) return;
    }
    close_when_drained();
}

void PolledStream::close_when_drained() {
    Ref<Marker> end;
    try {
        end = mark_end();
    } catch (const Error& e) {
        set_error(Ref<Failure>(new Failure(e.what())));
    }
    auto* task = new CloseTask(Ref<PolledStream>(this));
    if (end && end->when_ended(task)) return;
    delete task;
    finish();
}

void PolledStream::finish() {
    try {
        locks::DeviceCall call;
        device_stream_->finish();
    } catch (const Error& e) {
        set_error(Ref<Failure>(new Failure(e.what())));
    }
    drained();
}

}  // namespace eventide
