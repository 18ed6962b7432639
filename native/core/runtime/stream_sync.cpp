// Synchronizing with a stream: markers at its end, and which calls raise its error.
#include <algorithm>
#include <utility>

#include "runtime/stream.hpp"

namespace eventide {

Ref<Marker> Stream::mark_end(bool patient) {
    return queue_end(false, patient, nullptr);
}

Stream::Sync Stream::begin_sync(bool patient) {
    Sync out;
    out.marker = queue_end(true, patient, &out.failure);
    return out;
}

bool Stream::abandon_sync(Marker& marker) noexcept {
    std::lock_guard lock(m_);
    if (marker.decided() != MarkerState::pending) return false;
    marker.syncs = 0;
    std::erase(syncs_, &marker);
    abandoned_locked();
    return true;
}

Ref<Failure> Stream::heal_locked() {
    Ref<Failure> f = std::move(poison_);
    poisoned_.store(false, std::memory_order_release);
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
