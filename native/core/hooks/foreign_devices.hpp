// Devices of other frameworks. Eventide has their names and records of them, and runs no work there.
#pragma once

#include <string>
#include <string_view>

#include "hooks/hub.hpp"

namespace eventide::foreign {

inline constexpr int16_t first = 0x4000;  // types of the registry stay below

inline bool is(DeviceId id) noexcept {
    return id.type >= first;
}

// The same name gives the same device, for the life of the process. Throws Error (value) when there are too many.
DeviceId add(std::string_view name);
std::string name(DeviceId id);
void after_fork_in_child();

}  // namespace eventide::foreign
