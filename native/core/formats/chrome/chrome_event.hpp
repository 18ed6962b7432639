// Reads one event of a Chrome trace: its fields, and the arguments of Kineto that become columns.
#pragma once

#include "encoding/json_scan.hpp"

namespace eventide::chrome {

// Arguments that become columns; they also stay in the text of the arguments.
struct KinetoArgs {
    json::Value correlation, stream, device;
    json::Value wait_stream, wait_record, wait_event;  // a stream's wait for an event
    json::Value address, bytes, allocated, reserved, memory_device_type, memory_device;
    json::Value call_stack;
};

struct Event {
    json::Value phase, name, category, pid, tid, time, duration, cpu_duration, id, id2, scope, bind, args;
    KinetoArgs kineto;
};

// Reads one object. The last value of a duplicate key is used; values of unknown keys are checked and skipped.
bool read_event(json::Scanner& scan, Event& out);

}  // namespace eventide::chrome
