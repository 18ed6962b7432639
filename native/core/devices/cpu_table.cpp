#include <string>

#include "base/clock.hpp"
#include "devices/cpu.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"

namespace eventide {
namespace {

thread_local std::string why;  // of last_error

Stream& stream_of(void* handle) {
    return *static_cast<Stream*>(handle);
}
Marker& marker_of(void* handle) {
    return *static_cast<Marker*>(handle);
}

// Functions of a table do not throw: an Error becomes the value `failed`.
template <class Answer, class F>
Answer attempt(Answer failed, F f) {
    try {
        return f();
    } catch (const Error& e) {
        why = e.what();
        return failed;
    }
}

void* open_stream(int32_t index, int32_t priority) {
    return attempt<void*>(nullptr, [&]() -> void* {
        return Stream::open(*devices::find("cpu"), {int16_t(index), priority, 0, "stand-in"}).detach();
    });
}

void close_stream(void* handle) {
    stream_of(handle).close();
    stream_of(handle).release();
}

int poll(void* handle) {
    Marker& marker = marker_of(handle);
    if (marker.pending()) return EVENTIDE_PENDING;
    return marker.state() == MarkerState::done ? EVENTIDE_DONE : EVENTIDE_FAILED;
}

const char* error(void* handle) {
    const Ref<Failure>& failure = marker_of(handle).failure();
    if (!failure) return nullptr;
    why = failure->message;
    return why.c_str();
}

const eventide_device table = {
    .version = EVENTIDE_DEVICE_VERSION,
    .size = sizeof(eventide_device),
    .type = "cpu",
    .count = [] { return int32_t{1}; },
    .capabilities = [](int32_t, eventide_capabilities*) {},  // those of Device("cpu")
    .description = [](int32_t) { return "host threads"; },
    .last_error = [] { return why.c_str(); },
    .open_stream = open_stream,
    .close_stream = close_stream,
    .submit = nullptr,
    .make_marker =
        [](void* stream, int timing) {
            return attempt<void*>(nullptr, [&]() -> void* { return stream_of(stream).record(timing != 0).detach(); });
        },
    .wait =
        [](void* stream, void* marker) {
            return attempt<int>(1, [&] {
                stream_of(stream).wait(marker_of(marker));
                return 0;
            });
        },
    .flush = nullptr,
    .poll = poll,
    .error = error,
    .join = [](void* marker, int64_t timeout_ns) { (void)marker_of(marker).sleep(timeout_ns); },
    .completed_at = [](void* marker) { return marker_of(marker).time_ns(); },
    .release = [](void* marker) { marker_of(marker).release(); },
    .gate = nullptr,
    .open_gate = nullptr,
    .allocate = nullptr,
    .free = nullptr,
    .now = [](int32_t) { return now_ns(); },
};

}  // namespace

const eventide_device& cpu_table() {
    return table;
}

}  // namespace eventide
