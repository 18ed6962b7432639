// Memory of the host for devices that have none of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace eventide {

// Aligned for vector loads and for DLPack consumers, which expect 64 bytes or more. nullptr: there is not so much, or
// the size cannot be rounded up to the alignment. Given back with std::free.
inline void* allocate_host(size_t bytes) noexcept {
    constexpr size_t alignment = 256;
    if (bytes > SIZE_MAX - (alignment - 1)) return nullptr;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

}  // namespace eventide
