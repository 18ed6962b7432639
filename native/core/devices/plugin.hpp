// Devices from shared libraries, over the C table of eventide/device.h.
#pragma once

#include <string>

namespace eventide::plugin {

// Loads the library and registers its device, under `name` if given. Returns the device's type. Throws Error (device,
// value) that says what is wrong with it; nothing is registered then.
std::string load(const std::string& path, const std::string& name);

}  // namespace eventide::plugin
