// What a device's poll or join threw, kept for the marker it was asked about: that marker has failed with it.
#pragma once

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
    }
    bool has(const Marker& marker) const {
        std::lock_guard lock(m_);
        return why_.contains(&marker);
    }
    // The failure, once; nothing if the marker is not broken.
    Ref<Failure> take(const Marker& marker) {
        std::lock_guard lock(m_);
        auto it = why_.find(&marker);
        if (it == why_.end()) return {};
        Ref<Failure> out(new Failure(it->second));
        why_.erase(it);
        return out;
    }

  private:
    mutable std::mutex m_;
    std::map<const Marker*, std::string> why_;
};

}  // namespace eventide
