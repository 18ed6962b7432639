// The `cpu` device: each stream is one native worker thread with a queue.
#pragma once

#include "eventide/device.h"

namespace eventide {

// Once, before any other device is registered: the module does it when it is imported.
void register_cpu_device();

// The same device as a table of eventide/device.h, for other runtimes that use Eventide's streams. It lives as long as
// the process. Its submit is null: the caller submits to the Stream itself, to which the stream handle points.
const eventide_device& cpu_table();

}  // namespace eventide
