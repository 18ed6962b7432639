// The `cpu` device: each stream is one native worker thread with a queue.
#pragma once

namespace eventide {

// Once, before any other device is registered: the module does it when it is imported.
void register_cpu_device();

}  // namespace eventide
