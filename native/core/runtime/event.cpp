#include "runtime/event.hpp"

#include <utility>

#include "base/process.hpp"
#include "runtime/device.hpp"
#include "runtime/polled_stream.hpp"

namespace eventide {
namespace {

std::atomic<uint64_t> event_ids{0};

Error value_error(const std::string& message) {
    return Error(ErrorKind::value, message);
}

}  // namespace

uint64_t Event::next_id() noexcept {
    return event_ids.fetch_add(1, std::memory_order_relaxed) + 1;
}

Event::Event(EventOptions options)
    : id(next_id()), generation(process::generation.load(std::memory_order_relaxed)), options_(options) {}

std::string Event::describe() const {
    return "event " + std::to_string(id);
}

bool Event::is_current() const noexcept {
    return process::is_current(generation);
}

void Event::check_usable() const {
    if (!is_current()) throw Error(ErrorKind::event, process::before_fork(describe()));
}

Event::Version Event::current() const {
    std::lock_guard lock(m_);
    return {marker_, version_};
}

EventOptions Event::options() const {
    std::lock_guard lock(m_);
    return options_;
}

DeviceId Event::device() const {
    std::lock_guard lock(m_);
    return version_ ? recorded_on_ : options_.device;
}

uint64_t Event::lease() const {
    std::lock_guard lock(m_);
    return lease_;
}

void Event::record(Stream& stream) {
    check_usable();
    const EventOptions given = options();
    if (given.device.type >= 0 && given.device.type != stream.device_id.type)
        throw value_error(describe() + " belongs to device type '" + devices::at(given.device.type).type() +
                          "' and cannot be recorded on " + stream.describe() + "; make an event for that device");
    Ref<Marker> old;  // released after the lock
    uint64_t version;
    if (stream.polled()) {
        // Code of the device runs, possibly Python: m_, which others take with the host lock, is not held.
        auto& polled = static_cast<PolledStream&>(stream);
        {
            std::lock_guard order(recording_);
            Ref<Marker> marker = polled.queue_record(given.timing, id);
            std::lock_guard lock(m_);
            version = take_locked(std::move(marker), stream, old);
        }
        polled.flush();  // may run work and hooks
    } else {
        std::lock_guard lock(m_);
        version = take_locked(stream.record(given.timing, id), stream, old);
    }
    if (hub::listening_mask.load(std::memory_order_relaxed)) announce(stream, version, version == 1);
}

uint64_t Event::take_locked(Ref<Marker> marker, Stream& stream, Ref<Marker>& old) {
    old = std::exchange(marker_, std::move(marker));
    recorded_on_ = stream.device_id;
    return ++version_;
}

void Event::announce(Stream& stream, uint64_t version, bool first) const {
    HookRecord r{
        .hook = Hook::event_creation, .device = stream.device_id, .stream = stream.id, .event = id, .version = version};
    if (first && hub::listening(Hook::event_creation)) hub::fire(r);
    r.hook = Hook::event_record;
    if (hub::listening(Hook::event_record)) hub::fire(r);
}

void Event::wait(Stream& stream) {
    check_usable();
    Version v = current();
    if (v.marker) {
        const DeviceId from = v.marker->stream().device_id;
        if (from.type != stream.device_id.type && !stream.device.capabilities(stream.device_id.index).gate)
            throw value_error(stream.describe() + " cannot wait for " + describe() + " of " + devices::name(from) +
                              ": device type '" + stream.device.type() +
                              "' lacks the capability 'gate'; synchronize the event on the host instead");
        stream.wait(*v.marker);
    } else {
        stream.check_usable();
    }
    if (hub::listening(Hook::event_wait)) {
        HookRecord r{.hook = Hook::event_wait,
                     .device = stream.device_id,
                     .stream = stream.id,
                     .event = id,
                     .version = v.number};
        hub::fire(r);
    }
}

bool Event::query() const {
    check_usable();
    const Ref<Marker> marker = current().marker;
    return !marker || !marker->pending();
}

double Event::elapsed_ms(const Event& end) const {
    check_usable();
    end.check_usable();
    const Version a = current(), b = end.current();
    const EventOptions ao = options(), bo = end.options();
    const int16_t at = device().type, bt = end.device().type;
    if (at >= 0 && bt >= 0 && at != bt)
        throw value_error("elapsed_time needs two events of one device type: " + describe() + " is of '" +
                          devices::at(at).type() + "', " + end.describe() + " of '" + devices::at(bt).type() + "'");
    if (!ao.timing || !bo.timing) throw value_error("Both events must be created with argument 'enable_timing=True'.");
    if (!a.marker || !b.marker)
        throw value_error("Both events must be recorded before calculating elapsed time: " +
                          (a.marker ? end : *this).describe() + " was never recorded; call event.record(stream) first");
    if (a.marker->pending() || b.marker->pending())
        throw Error(ErrorKind::event, "Both events must be completed before calculating elapsed time: " +
                                          (a.marker->pending() ? *this : end).describe() +
                                          " is still pending; call event.synchronize() first");
    // On one device its own clock is the most exact; times of two devices are compared on the trace's clock.
    if (device() == end.device()) return double(b.marker->device_ns() - a.marker->device_ns()) * 1e-6;
    return double(b.marker->time_ns() - a.marker->time_ns()) * 1e-6;
}

int64_t Event::completed_at() const {
    check_usable();
    const Version v = current();
    if (!options().timing)
        throw value_error(describe() + " has no time: it must be created with argument 'enable_timing=True'.");
    if (!v.marker) throw value_error(describe() + " was never recorded; call event.record(stream) first");
    if (v.marker->pending())
        throw Error(ErrorKind::event, describe() + " is still pending; call event.synchronize() first");
    return v.marker->time_ns();
}

bool Event::retire(uint64_t lease) {
    Ref<Marker> dropped;
    HookRecord r{.hook = Hook::event_deletion, .event = id};
    {
        std::lock_guard lock(m_);
        if (lease_ != lease) return false;
        ++lease_;
        r.device = recorded_on_;
        r.version = version_;
    }
    if (r.version && hub::listening(Hook::event_deletion)) hub::fire(r);
    std::lock_guard lock(m_);
    dropped = std::move(marker_);
    version_ = 0;
    return true;
}

void Event::reset(EventOptions options) {
    std::lock_guard lock(m_);
    options_ = options;
}

}  // namespace eventide
