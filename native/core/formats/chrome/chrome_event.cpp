#include "formats/chrome/chrome_event.hpp"

namespace eventide::chrome {
namespace {

using json::Value;

Value* event_field(Event& e, std::string_view key) {
    switch (key.size()) {
        case 2:
            if (key == "ph") return &e.phase;
            if (key == "ts") return &e.time;
            if (key == "id") return &e.id;
            if (key == "bp") return &e.bind;
            return nullptr;
        case 3:
            if (key == "cat") return &e.category;
            if (key == "pid") return &e.pid;
            if (key == "tid") return &e.tid;
            if (key == "dur") return &e.duration;
            return key == "id2" ? &e.id2 : nullptr;
        case 4:
            if (key == "name") return &e.name;
            if (key == "args") return &e.args;
            return key == "tdur" ? &e.cpu_duration : nullptr;
        case 5:
            return key == "scope" ? &e.scope : nullptr;
        default:
            return nullptr;
    }
}

Value* kineto_field(KinetoArgs& k, std::string_view key) {
    switch (key.size()) {
        case 4:
            return key == "Addr" ? &k.address : nullptr;
        case 5:
            return key == "Bytes" ? &k.bytes : nullptr;
        case 6:
            if (key == "stream") return &k.stream;
            return key == "device" ? &k.device : nullptr;
        case 9:
            if (key == "stream_id") return &k.stream;
            return key == "Device Id" ? &k.memory_device : nullptr;
        case 10:
            return key == "Call stack" ? &k.call_stack : nullptr;
        case 11:
            if (key == "correlation") return &k.correlation;
            return key == "Device Type" ? &k.memory_device_type : nullptr;
        case 14:
            if (key == "wait_on_stream") return &k.wait_stream;
            if (key == "correlation_id") return &k.correlation;  // XLA
            return key == "Total Reserved" ? &k.reserved : nullptr;
        case 15:
            return key == "Total Allocated" ? &k.allocated : nullptr;
        case 21:
            return key == "wait_on_cuda_event_id" ? &k.wait_event : nullptr;
        case 33:
            return key == "wait_on_cuda_event_record_corr_id" ? &k.wait_record : nullptr;
        default:
            return nullptr;
    }
}

// Reads the members of an object; `at` is at the brace. read_value(key, value) reads each value.
template <typename ReadValue>
bool members(json::Scanner& scan, uint8_t& flags, ReadValue&& read_value) {
    ++scan.at;
    if (!scan.space()) return false;
    if (*scan.at == '}') {
        ++scan.at;
        return true;
    }
    for (bool last = false; !last;) {
        Value key, value;
        if (!scan.space()) return false;
        if (*scan.at != '"') return scan.fail("expected a key in quotes");
        if (!scan.string(key) || !scan.expect(':', "expected : after a key")) return false;
        if (!read_value(key.inner(), value)) return false;
        flags |= key.flags | value.flags;
        if (!scan.separator('}', last)) return false;
    }
    return true;
}

bool read_args(json::Scanner& scan, Event& e) {
    e.kineto = {};
    if (!scan.space()) return false;
    if (*scan.at != '{') return scan.value(e.args);
    e.args = {.begin = scan.at, .kind = json::Kind::object};
    const bool read = members(scan, e.args.flags, [&](std::string_view key, Value& value) {
        if (!scan.value(value)) return false;
        if (Value* field = kineto_field(e.kineto, key)) *field = value;
        return true;
    });
    e.args.end = scan.at;
    return read;
}

}  // namespace

bool read_event(json::Scanner& scan, Event& e) {
    uint8_t flags = 0;
    return members(scan, flags, [&](std::string_view key, Value& value) {
        Value* field = event_field(e, key);
        if (field == &e.args) return read_args(scan, e);
        if (!scan.value(value)) return false;
        if (field) *field = value;
        return true;
    });
}

}  // namespace eventide::chrome
