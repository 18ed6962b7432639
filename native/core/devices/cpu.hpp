// The `cpu` device: each stream is one native worker thread with a queue.
#pragma once

#include <memory>

#include "runtime/device.hpp"

namespace eventide {

std::unique_ptr<Device> make_cpu_device();

}  // namespace eventide
