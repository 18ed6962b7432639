// An event: a reusable name for the latest marker recorded with it. A waiter is bound to the marker of its call, so a later
// record neither delays nor releases it.
#pragma once

#include <cstdint>
#include <string>

#include "base/host_mutex.hpp"
#include "base/mutex.hpp"
#include "base/ref.hpp"
#include "hooks/hub.hpp"
#include "runtime/marker.hpp"

namespace eventide {

class EventPool;
class Stream;

struct EventOptions {
    DeviceId device;  // type -1: that of the first record; index -1: any of the type
    bool timing = false;
    bool blocking = false;
};

class Event final : public RefCounted {
  public:
    explicit Event(EventOptions options);
    // Unique in the process, as Stream::next_id.
    static uint64_t next_id() noexcept;

    const uint64_t id;
    const uint32_t generation;
    std::string describe() const;  // "event 7"

    // The latest record. No marker: never recorded.
    struct Version {
        Ref<Marker> marker;
        uint64_t number = 0;
    };
    Version current() const;

    void check_usable() const;
    bool is_current() const noexcept;
    void record(Stream& stream);
    void wait(Stream& stream);  // binds to the current version
    bool query() const;
    EventOptions options() const;
    DeviceId device() const;  // as given, then as recorded

    // Milliseconds from this event to `end`. Throws Error (value, event).
    double elapsed_ms(const Event& end) const;
    int64_t completed_at() const;

    // Ends one lease: fires event_deletion if it was ever recorded, and drops the marker. True the first time.
    bool retire(uint64_t lease);
    uint64_t lease() const;
    void reset(EventOptions options);  // for the pool, and for a new start of the same event

  private:
    void announce(Stream& stream, uint64_t version, bool first) const;
    uint64_t take_locked(Ref<Marker> marker, Stream& stream, Ref<Marker>& old);

    HostMutex recording_;  // the order of records on polled devices; device code runs while it is held; taken before m_
    mutable Mutex m_;      // guards all below; taken before a stream's lock
    EventOptions options_;
    DeviceId recorded_on_;
    Ref<Marker> marker_;
    uint64_t version_ = 0;
    uint64_t lease_ = 1;
};

}  // namespace eventide
