// A pool of events: last returned, first reused, each keeps its id.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "base/ref.hpp"
#include "runtime/event.hpp"

namespace eventide {

class EventPool final : public RefCounted {
  public:
    explicit EventPool(DeviceId device);

    const DeviceId device;
    const uint32_t generation;
    void check_usable() const;  // throws Error (event) in a forked child

    struct Lease {
        Ref<Event> event;
        uint64_t number;
    };
    struct Stats {
        uint64_t created, in_use, cached, reused;
    };

    Lease acquire(bool timing);
    // The event in use with that id; throws Error (event) otherwise, with no lock held.
    Lease find(uint64_t id);
    // Takes the event back if that lease is still running; false if it was taken back before.
    bool give_back(Event& event, uint64_t lease);
    void empty_cache();
    Stats stats() const;

  private:
    mutable Mutex m_;
    std::vector<Ref<Event>> free_;
    std::unordered_map<uint64_t, Ref<Event>> in_use_;
    uint64_t created_ = 0;
    uint64_t reused_ = 0;
};

}  // namespace eventide
