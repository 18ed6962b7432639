// The interface of a device: streams that run work in order and pass markers. The core (stream.hpp, event.hpp) does
// identity, versions, timing checks, hooks and errors, so a new device implements only this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "hooks/hub.hpp"
#include "runtime/clock_model.hpp"
#include "runtime/marker.hpp"

namespace eventide {

class Stream;
class Work;

struct Capabilities {
    bool deferred = false;               // work runs when the stream reaches it (else inside submit)
    bool timing = false;                 // markers have times
    bool join_timeout = false;           // waiting for a marker can be bounded
    bool gate = false;                   // a stream can be held by the host: waits across device types
    bool copy = false;                   // has its own copies
    bool host_visible = false;           // its memory can be read and written by the host
    bool concurrent = false;             // streams really run at once
    bool priorities = false;             // Stream(priority=) makes a difference
    bool default_stream_blocks = false;  // the default stream orders all others
    bool heals = false;                  // a stream is usable again after an error was raised
    std::string clock;                   // of marker times: "CLOCK_MONOTONIC", "virtual", or another that is measured
};

// One stream of a device, in one of two ways (Device::polled).
//
// A push device: submit, mark and wait are called with the stream's lock held, in stream order, and lead to the calls
// of PushStream named there.
//
// A polled device: they are called in stream order, with no lock held but the stream's order lock; the core makes a
// marker behind each work. submit must lead to Stream::execute; poll returns the state of a marker.
class DeviceStream {
  public:
    virtual ~DeviceStream() = default;
    // Must lead to Stream::execute(work), once, when everything before it is complete.
    virtual void submit(Work& work) = 0;
    // Must lead to PushStream::pass(marker, time), once, when everything before it is complete. Owns one reference
    // until then.
    virtual void mark(Marker& marker) = 0;
    // Must lead to PushStream::waited(marker, position) when the marker has ended and everything before is complete.
    virtual void wait(Marker& marker, uint64_t position) = 0;
    // Called after submit, mark and wait without the lock: the place to wake a worker or to flush a driver's queue.
    virtual void flush() {}
    // Of polled devices only. poll and join may run work, the others must not, nor block. What poll or join throws is
    // the failure of that marker.
    virtual MarkerState poll(Marker&) { return MarkerState::pending; }
    virtual void join(Marker&, int64_t) {}                // blocks up to that many ns, called without the host lock
    virtual Ref<Failure> failure(Marker&) { return {}; }  // of a failed marker
    virtual int64_t completed_at(Marker&) { return 0; }   // of a marker that has ended
    virtual int64_t now() { return 0; }                   // on the device's clock
    // Takes work back; false: its run has begun. Called with the stream's lock: it must call nothing.
    virtual bool reclaim(Work&) { return true; }
    virtual void forget(Marker&) {}  // the core no longer uses it
    virtual void forget(Work&) {}    // likewise; it has run or was reclaimed

    // The last call. Queued items still run; afterwards the device drops its reference to the stream.
    virtual void finish() = 0;
    // The driver's own handle, or 0.
    virtual uint64_t native_handle() const { return 0; }
    // The host language's object for the stream, or nullptr. Lives as long as this.
    virtual void* host_object() const { return nullptr; }
};

class Device {
  public:
    virtual ~Device() = default;
    virtual std::string type() const = 0;
    virtual int count() const = 0;
    virtual Capabilities capabilities(int index) const = 0;
    virtual bool polled() const { return true; }
    virtual std::string description(int index) const = 0;
    virtual std::unique_ptr<DeviceStream> open_stream(Stream& stream) = 0;
    virtual void* allocate(int index, size_t bytes) = 0;  // nullptr: no memory
    virtual void free(int index, void* memory, size_t bytes) = 0;

    // Reads the clock of its marker times between two readings of CLOCK_MONOTONIC. False: it cannot, now or ever.
    virtual bool read_clock(int, ClockSample&) { return false; }
    // How its clock relates to the trace's; nullptr where it is that clock, or where its time is not real.
    ClockModel* clock(int index);
    // Takes the tightest of several samples. Runs code of the device.
    void sample_clock(int index, ClockModel& clock, int tries);

    // Resets its clocks: a thread of the parent may have been using them.
    void after_fork_in_child();

    int16_t number = -1;  // of the type in the registry

  private:
    Mutex clocks_lock_;
    std::map<int, std::unique_ptr<ClockModel>> clocks_;  // guarded by the lock; never removed
};

namespace devices {

constexpr size_t max_types = 1024;  // that can be registered in one process

// Registers a device type for the life of the process. Throws Error (value) if the name is taken. The first one has
// number 0 and cannot be removed: that is the cpu device, see register_cpu_device().
void add(std::unique_ptr<Device> device);
// Unregisters a type. Its number is not used again, and its library stays loaded: events of it may still exist.
// Throws Error (value: there is no such type; device: it has streams).
void remove(const std::string& type);
// nullptr if there is none of that name.
Device* find(const std::string& type) noexcept;
Device& at(int16_t number);
// The same number for each type that was ever registered under one name: what a filter by name compares.
int16_t family(int16_t number);
std::vector<Device*> all();
// "cpu:0"
std::string name(DeviceId id);
void after_fork_in_child();

}  // namespace devices
}  // namespace eventide
