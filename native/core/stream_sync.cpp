// Synchronizing with a stream: markers at its end, and who is told its error.
#include <algorithm>
#include <utility>

#include "stream_order.hpp"

namespace eventide {

Ref<Marker> Stream::mark_end(bool sync, bool patient, Ref<Failure>* healed) {
    Ref<Marker> marker;
    const bool queued = in_order(
        [&] {
            // On an immediate device people enqueue behind our back: only the device knows that it is idle.
            if ((!immediate_ || !patient || finished_) && completed() >= position()) {
                if (healed) *healed = heal_locked();
                return false;
            }
            marker = take_marker_locked(0, false);
            if (sync) {
                marker->syncs = 1;
                syncs_.push_back(marker.get());
                fate_ = {};
            }
            return true;
        },
        [&] { tell_marker(*marker); });
    if (queued) flush_device();
    return marker;
}

Ref<Marker> Stream::mark_end(bool patient) {
    return mark_end(false, patient, nullptr);
}

Stream::Sync Stream::begin_sync(bool patient) {
    Sync out;
    out.marker = mark_end(true, patient, &out.failure);
    return out;
}

bool Stream::abandon_sync(Marker& marker) noexcept {
    std::lock_guard lock(m_);
    if (marker.state() != MarkerState::pending) return false;
    marker.syncs = 0;
    std::erase(syncs_, &marker);
    if (immediate_) fate_ = fate_again_locked();
    return true;
}

Ref<Failure> Stream::heal_locked() {
    Ref<Failure> f = std::move(poison_);
    poisoned_.store(false, std::memory_order_release);
    if (completed() >= position()) fate_ = {};
    return f;
}

// The first synchronize that is reached heals; those queued at that moment raise the same error and heal nothing.
Ref<Failure> Stream::settle_sync_locked(Marker& marker) {
    std::erase(syncs_, &marker);
    if (marker.inherited) return marker.inherited;
    Ref<Failure> f = heal_locked();
    if (f)
        for (Marker* other : syncs_)
            if (!other->inherited) other->inherited = f;
    return f;
}

}  // namespace eventide
