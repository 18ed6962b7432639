// Memory of this process as counters of the recording: "RSS" (resident) and "heap" (allocated by malloc and not freed;
// glibc only), in bytes.
#pragma once

#include <cstdint>

namespace eventide::python {

// Records the counters if the last values are old enough; without the GIL. malloc counts by a walk through its free
// lists: the next one is so much later that the walks take less than a thousandth of the time.
class ProcessMemory {
  public:
    void record_if_due(int64_t now_ns);

  private:
    int64_t rss_due_ns_ = 0;
    int64_t heap_due_ns_ = 0;
};

}  // namespace eventide::python
