// What a device threw when it made a marker or was asked about one: that marker has failed with it.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/ref.hpp"

namespace eventide {

class Marker;

class BrokenMarkers {
  public:
    void add(const Marker& marker, std::string why) {
        std::lock_guard lock(m_);
        why_.emplace(&marker, Ref<Failure>(new Failure(std::move(why))));
        any_.store(true, std::memory_order_release);
    }
    bool has(const Marker& marker) const { return bool(failure(marker)); }
    void erase(const Marker& marker) {
        if (!any_.load(std::memory_order_acquire)) return;
        std::lock_guard lock(m_);
        why_.erase(&marker);
    }
    // Nothing if the marker is not broken. It stays so until erase(): its handle must never reach the device.
    Ref<Failure> failure(const Marker& marker) const {
        if (!any_.load(std::memory_order_acquire)) return {};
        std::lock_guard lock(m_);
        auto it = why_.find(&marker);
        return it == why_.end() ? Ref<Failure>() : it->second;
    }

  private:
    std::atomic<bool> any_{false};  // was there ever one: usually not
    mutable Mutex m_;
    std::map<const Marker*, Ref<Failure>> why_;
};

}  // namespace eventide
