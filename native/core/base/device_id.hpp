// Identifies a device of the process: the number of its type in the registry and the index within the type. -1: none.
#pragma once

#include <cstdint>

namespace eventide {

struct DeviceId {
    int16_t type = -1;
    int16_t index = -1;
    bool operator==(const DeviceId&) const = default;
};

}  // namespace eventide
