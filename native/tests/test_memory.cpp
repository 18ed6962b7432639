// Memory of the host that devices without their own hand out.
#include <cstdlib>

#include "check.hpp"
#include "devices/host_memory.hpp"

using namespace eventide;

// A compiler may leave out an allocation whose memory is not used, and take it for one that succeeded.
static void* escaped(void* memory) {
    static void* volatile seen;
    seen = memory;
    return seen;
}

TEST(a_size_that_cannot_be_rounded_up_is_refused) {
    for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 254, SIZE_MAX / 2, size_t(1) << 60})
        CHECK(escaped(allocate_host(bytes)) == nullptr);
}

TEST(memory_is_aligned_whatever_its_size) {
    for (const size_t bytes : {size_t(1), size_t(255), size_t(256), size_t(257)}) {
        void* memory = allocate_host(bytes);
        CHECK(memory != nullptr && uintptr_t(memory) % 256 == 0);
        std::free(memory);
    }
}

MAIN
