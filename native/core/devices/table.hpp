// The cpu device as a table of eventide/device.h: for other runtimes that want to stand on Eventide's streams.
#pragma once

#include "eventide/device.h"

namespace eventide {

// Lives as long as the process. Its submit is null: what runs on such a stream is given to the Stream itself, which is
// what its handle points to.
const eventide_device& cpu_table();

}  // namespace eventide
