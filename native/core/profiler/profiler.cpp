#include "profiler/profiler.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/clock.hpp"
#define EVENTIDE_DISABLE  // the types alone: we have no slot of our own
#include "encoding/json.hpp"
#include "eventide/profiler.h"
#include "profiler/torch_device.hpp"
#include "recorder/payload_records.hpp"

namespace eventide::profiler {
namespace {

std::atomic<uint64_t> refusals{0};
constexpr int64_t farthest_us = int64_t(9'000'000'000'000'000);  // later times overflow in nanoseconds

std::string_view text(const char* given) noexcept {
    return given ? std::string_view(given) : std::string_view();
}

std::string track_of(std::string_view backend) {
    return json::Object().text("kind", "other").text("name", backend).done();
}

// No exception may leave these functions into a backend, not even std::bad_alloc.
template <class F>
void safely(F f) noexcept {
    try {
        f();
    } catch (...) {
        refusals.fetch_add(1, std::memory_order_relaxed);
    }
}

void c_span(const char* name, int64_t start_ns, int64_t end_ns) {
    safely([&] { recorder::record_span("", text(name), "span", start_ns, end_ns); });
}

void c_backend_event(int64_t start_us, int64_t end_us, int64_t handle, const char* name, const char* backend) {
    safely([&] {
        if (!backend_event(start_us, end_us, handle, text(name), text(backend)))
            refusals.fetch_add(1, std::memory_order_relaxed);
    });
}

void c_memory_event(const void* ptr, int64_t size, uint64_t allocated, uint64_t reserved, const char* device) {
    safely([&] { backend_memory_event(uint64_t(uintptr_t(ptr)), size, allocated, reserved, text(device)); });
}

void c_clock(const char* backend, int64_t before_us, int64_t backend_us, int64_t after_us) {
    safely([&] { backend_clock(text(backend), before_us, backend_us, after_us); });
}

int64_t c_now_ns() {
    return now_ns();
}

constexpr int64_t year_us = int64_t(31'556'952) * 1'000'000;

// What has to be subtracted from a backend's time to get the trace's clock: 0, or the distance of the two clocks if the
// time is Unix time. The clocks lie decades apart, so a time is of the one that it is nearer to. A machine that booted
// without the date may have Unix time close to zero: then all times are monotonic.
int64_t unix_offset_us(int64_t time_us, int64_t now) {
    const int64_t monotonic_us = now / 1000;
    if (std::abs(time_us - monotonic_us) < year_us) return 0;
    timespec unix_time;
    clock_gettime(CLOCK_REALTIME, &unix_time);
    // Both rounded down, so that a time is never before the same time on the monotonic clock.
    const int64_t offset = (int64_t(unix_time.tv_sec) * 1'000'000'000 + unix_time.tv_nsec - now) / 1000;
    const int64_t nearer = std::abs(time_us - monotonic_us - offset);
    return std::abs(offset) > 2 * year_us && nearer < std::abs(time_us - monotonic_us) ? offset : 0;
}

}  // namespace
}  // namespace eventide::profiler

// The table is found by this name; see exports.map. Not const here: `on` changes.
extern "C" {
__attribute__((visibility("default"), used)) eventide_profiler eventide_profiler_table_1 = {
    EVENTIDE_PROFILER_VERSION,
    sizeof(eventide_profiler),
    0,
    0,
    eventide::profiler::c_now_ns,
    eventide::profiler::c_span,
    eventide::profiler::c_backend_event,
    eventide::profiler::c_memory_event,
    eventide::profiler::c_clock,
};
}

namespace eventide::profiler {

namespace {

std::atomic<uint32_t> of_profiles{0}, of_recorder{0};

void publish_request() noexcept {
    const uint32_t what = of_profiles.load(std::memory_order_relaxed) | of_recorder.load(std::memory_order_relaxed);
    __atomic_store_n(&eventide_profiler_table_1.on, what, __ATOMIC_RELEASE);
}

}  // namespace

void request(uint32_t what) noexcept {
    of_profiles.store(what, std::memory_order_relaxed);
    publish_request();
}

void record(bool runs) noexcept {
    of_recorder.store(runs ? EVENTIDE_PROFILER_EVENTS | EVENTIDE_PROFILER_MEMORY : 0, std::memory_order_relaxed);
    publish_request();
}

bool backend_event(int64_t start_us, int64_t end_us, int64_t debug_handle, std::string_view name,
                   std::string_view backend) {
    if (end_us < start_us || start_us < -farthest_us || end_us > farthest_us) return false;
    json::Object arguments;
    arguments.add("debug_handle", std::to_string(debug_handle)).text("Backend", backend);
    if (__atomic_load_n(&eventide_profiler_table_1.on, __ATOMIC_RELAXED) & foreign_clocks) {
        arguments.add("raw_start", std::to_string(start_us * 1000)).add("raw_end", std::to_string(end_us * 1000));
        recorder::record_instant(track_of(backend), name, "backend", arguments.done());
    } else {
        const int64_t now = now_ns(), offset = unix_offset_us(end_us, now);
        arguments.add("reported", std::to_string(now));
        recorder::record_span(track_of(backend), name, "backend", (start_us - offset) * 1000, (end_us - offset) * 1000,
                              arguments.done());
    }
    return true;
}

void backend_memory_event(uint64_t address, int64_t alloc_size, uint64_t total_allocated, uint64_t total_reserved,
                          std::string_view device, int64_t at_ns) {
    const std::string name = "memory " + std::string(device);
    const std::string track = json::Object().text("kind", "counter").text("name", name).text("device", device).done();
    const auto [type, index] = torch_device(device);
    const int64_t now = at_ns ? at_ns : now_ns();
    recorder::record_counter(track, "allocated bytes", double(total_allocated), now);
    recorder::record_counter(track, "reserved bytes", double(total_reserved), now);
    const std::string arguments = json::Object()
                                      .add("Addr", address)
                                      .add("Bytes", std::to_string(alloc_size))
                                      .add("Total Allocated", total_allocated)
                                      .add("Total Reserved", total_reserved)
                                      .text("Device", device)
                                      .add("Device Type", std::to_string(type))
                                      .add("Device Id", std::to_string(index))
                                      .done();
    recorder::record_instant("", "[memory]", "backend", arguments, 0, now);
}

void backend_clock(std::string_view backend, int64_t before_us, int64_t backend_us, int64_t after_us) {
    const std::string arguments = json::Object()
                                      .add("before", std::to_string(before_us))
                                      .add("backend", std::to_string(backend_us))
                                      .add("after", std::to_string(after_us))
                                      .done();
    recorder::record_instant(track_of(backend), "clock", "backend", arguments);
}

uint64_t refused() noexcept {
    return refusals.load(std::memory_order_relaxed);
}

// How shared objects that include eventide/profiler.h and this table find each other.
namespace {

int add_name(dl_phdr_info* info, size_t, void* names) {
    if (info->dlpi_name && info->dlpi_name[0])
        static_cast<std::vector<std::string>*>(names)->emplace_back(info->dlpi_name);
    return 0;
}

}  // namespace

int connect_loaded() {
    std::vector<std::string> names;
    dl_iterate_phdr(add_name, &names);
    int found = 0;
    for (const std::string& name : names) {
        // A reference while the slot is read, so that the object is not unloaded. NOLOAD: this never loads an object.
        void* object = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (!object) continue;
        auto* slot = static_cast<const eventide_profiler**>(dlsym(object, "eventide_profiler_slot_1"));
        if (slot && !__atomic_load_n(slot, __ATOMIC_ACQUIRE)) {
            const eventide_profiler* table = &eventide_profiler_table_1;
            __atomic_store_n(slot, table, __ATOMIC_RELEASE);
            ++found;
        }
        dlclose(object);
    }
    return found;
}

void publish_table() noexcept {
    Dl_info info;
    // A Python module is loaded with RTLD_LOCAL; opened again like this, its exported names are visible to all objects.
    if (dladdr(&eventide_profiler_table_1, &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD);
}

}  // namespace eventide::profiler
