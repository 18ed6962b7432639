#include "runtime/pool.hpp"

#include <string>

#include "base/error.hpp"
#include "base/process.hpp"

namespace eventide {

EventPool::EventPool(DeviceId device)
    : device(device), generation(process::generation.load(std::memory_order_relaxed)) {}

void EventPool::check_usable() const {
    if (!process::is_current(generation)) throw Error(ErrorKind::event, process::before_fork("this event pool"));
}

EventPool::Lease EventPool::acquire(bool timing) {
    check_usable();
    const EventOptions options{.device = device, .timing = timing};
    Ref<Event> event;
    {
        std::lock_guard lock(m_);
        if (free_.empty()) {
            event = Ref<Event>(new Event(options));
            ++created_;
        } else {
            event = std::move(free_.back());
            free_.pop_back();
            ++reused_;
        }
        in_use_[event->id] = event;
    }
    event->reset(options);
    return {event, event->lease()};
}

EventPool::Lease EventPool::find(uint64_t id) {
    check_usable();
    {
        std::lock_guard lock(m_);
        if (auto it = in_use_.find(id); it != in_use_.end()) return {it->second, it->second->lease()};
    }
    throw Error(ErrorKind::event, "event id " + std::to_string(id) +
                                      " is not in use in this pool; acquire() or acquire_id() gives one that is");
}

// Removed from the table first: from then on no thread can find the event by its id and record it.
bool EventPool::give_back(Event& event, uint64_t lease) {
    Ref<Event> keep(&event);
    {
        std::lock_guard lock(m_);
        if (event.lease() != lease || !in_use_.erase(event.id)) return false;
    }
    event.retire(lease);
    std::lock_guard lock(m_);
    free_.push_back(std::move(keep));
    return true;
}

void EventPool::empty_cache() {
    std::vector<Ref<Event>> dropped;  // destroyed after the lock
    std::lock_guard lock(m_);
    dropped.swap(free_);
}

EventPool::Stats EventPool::stats() const {
    std::lock_guard lock(m_);
    return {created_, in_use_.size(), free_.size(), reused_};
}

}  // namespace eventide
