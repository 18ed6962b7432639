// What a device threw when it made a marker or was asked about one: that marker has failed with it.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "error.hpp"
#include "ref.hpp"

namespace eventide {

class Marker;

class BrokenMarkers {
  public:
    void add(const Marker& marker, std::string why) {
        std::lock_guard lock(m_);
        why_.emplace(&marker, std::move(why));
        any_.store(true, std::memory_order_release);
    }
    bool has(const Marker& marker) const {
        if (!any_.load(std::memory_order_acquire)) return false;
        std::lock_guard lock(m_);
        return why_.contains(&marker);
    }
    void erase(const Marker& marker) {
        if (!any_.load(std::memory_order_acquire)) return;
        std::lock_guard lock(m_);
        why_.erase(&marker);
    }
    // The failure, once; nothing if the marker is not broken.
    Ref<Failure> take(const Marker& marker) {
        if (!any_.load(std::memory_order_acquire)) return {};
        std::lock_guard lock(m_);
        auto it = why_.find(&marker);
        if (it == why_.end()) return {};
        Ref<Failure> out(new Failure(it->second));
        why_.erase(it);
        return out;
    }

  private:
    std::atomic<bool> any_{false};  // was there ever one: usually not
    mutable std::mutex m_;
    std::map<const Marker*, std::string> why_;
};

}  // namespace eventide
