// One event of the Chrome trace format as its fields stand in the text, and the arguments of Kineto that have columns.
#pragma once

#include "encoding/json_scan.hpp"

namespace eventide::chrome {

// Arguments that become columns; each stays in the text of the arguments as well.
struct Known {
    json::Value correlation, stream, device;
    json::Value wait_stream, wait_record, wait_event;  // of a stream's wait for an event
    json::Value address, bytes, allocated, reserved, memory_device_type, memory_device;
    json::Value call_stack;
};

struct Event {
    json::Value phase, name, category, pid, tid, time, duration, cpu_duration, id, id2, scope, bind, args;
    Known known;
};

// Reads one object; of keys that come twice, the last counts. Values of unknown keys are checked and passed over.
bool read_event(json::Scanner& scan, Event& out);

}  // namespace eventide::chrome
