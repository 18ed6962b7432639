#include "runtime/device.hpp"

#include <array>
#include <atomic>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "hooks/foreign_devices.hpp"
#include "runtime/notifier.hpp"
#include "runtime/poller.hpp"
#include "runtime/stream.hpp"

namespace eventide {

ClockModel* Device::clock(int index) {
    {
        std::lock_guard lock(clocks_lock_);
        if (auto it = clocks_.find(index); it != clocks_.end()) return it->second.get();
    }
    const std::string name = capabilities(index).clock;
    const bool measured = name != "CLOCK_MONOTONIC" && name != "virtual";
    std::lock_guard lock(clocks_lock_);
    auto& place = clocks_[index];
    if (measured && !place) place = std::make_unique<ClockModel>();
    return place.get();
}

void Device::sample_clock(int index, ClockModel& clock, int tries) {
    clock.taking(now_ns());
    ClockSample best;
    for (int i = 0; i < tries; ++i) {
        ClockSample s;
        if (!read_clock(index, s)) break;
        if (i == 0 || s.after - s.before < best.after - best.before) best = s;
    }
    if (best.after) clock.add(best);
}

void Device::after_fork_in_child() {
    new (&clocks_lock_) Mutex;
    new (&clocks_) std::map<int, std::unique_ptr<ClockModel>>;  // the old ones belong to streams of the parent
}

}  // namespace eventide

namespace eventide::devices {
namespace {

// Readers take no lock, so that a fork can never find it taken. Leaked on purpose: workers may outlive static
// destruction.
struct Registry {
    Mutex adding;
    std::array<std::unique_ptr<Device>, max_types> slots;
    std::array<std::atomic<bool>, max_types> removed{};
    std::array<int16_t, max_types> family{};  // written before `count`: the first number of a type with that name
    std::atomic<int16_t> count{0};

    void add(std::unique_ptr<Device> device) {
        std::lock_guard lock(adding);
        const int16_t n = count.load(std::memory_order_relaxed);
        for (int16_t i = 0; i < n; ++i)
            if (!removed[size_t(i)] && slots[size_t(i)]->type() == device->type())
                throw Error(ErrorKind::value, "a device type named '" + device->type() + "' is registered already");
        if (size_t(n) == slots.size())
            throw Error(ErrorKind::device,
                        "no more than " + std::to_string(max_types) + " device types can be registered");
        device->number = family[size_t(n)] = n;
        for (int16_t i = n; i-- > 0;)
            if (slots[size_t(i)]->type() == device->type()) family[size_t(n)] = family[size_t(i)];
        slots[size_t(n)] = std::move(device);
        count.store(int16_t(n + 1), std::memory_order_release);
    }
};

Registry& registry() {
    static Registry* r = new Registry;
    return *r;
}
// Made when the library is loaded: a fork while another thread makes it would leave it half made in the child forever.
[[maybe_unused]] const Registry& at_load = registry();

}  // namespace

void add(std::unique_ptr<Device> device) {
    registry().add(std::move(device));
}

void remove(const std::string& type) {
    Device* device = find(type);
    if (!device) throw Error(ErrorKind::value, "there is no device type '" + type + "'");
    if (device->number == 0) throw Error(ErrorKind::value, "device type '" + type + "' cannot be removed");
    for (const Ref<Stream>& s : Stream::all())
        if (&s->device == device && !s->closed())
            throw Error(ErrorKind::device, "device type '" + type + "' is in use by " + s->describe() +
                                               "; close and drop its streams first");
    registry().removed[size_t(device->number)].store(true, std::memory_order_relaxed);
    poller::type_removed(device->number);
    notifier::type_removed(device->number);
}

// Without a list of them: this is called where no exception may be thrown.
Device* find(const std::string& type) noexcept {
    Registry& r = registry();
    for (int16_t i = 0; i < r.count.load(std::memory_order_acquire); ++i)
        if (!r.removed[size_t(i)].load(std::memory_order_relaxed) && r.slots[size_t(i)]->type() == type)
            return r.slots[size_t(i)].get();
    return nullptr;
}

Device& at(int16_t number) {
    return *registry().slots.at(size_t(number));
}

int16_t family(int16_t number) {
    return size_t(number) < max_types ? registry().family[size_t(number)] : number;
}

std::vector<Device*> all() {
    Registry& r = registry();
    std::vector<Device*> out;
    for (int16_t i = 0; i < r.count.load(std::memory_order_acquire); ++i)
        if (!r.removed[size_t(i)].load(std::memory_order_relaxed)) out.push_back(r.slots[size_t(i)].get());
    return out;
}

void after_fork_in_child() {
    new (&registry().adding) Mutex;
    for (Device* d : all()) d->after_fork_in_child();
}

std::string name(DeviceId id) {
    if (id.type < 0) return "";
    if (foreign::is(id)) return foreign::name(id);
    return at(id.type).type() + ":" + std::to_string(id.index < 0 ? 0 : id.index);
}

}  // namespace eventide::devices
