// Computes from allocations and deallocations, in the order of time, how many bytes of each device are allocated.
#pragma once

#include <cstdint>
#include <vector>

#include "base/flat_map.hpp"

namespace eventide::tracefile {

class MemoryLevels {
  public:
    // A deallocation frees the block at its address, or `bytes` if its allocation was not recorded.
    void change(int64_t row, int32_t device, uint64_t address, uint64_t bytes, bool allocated);
    // Per change its row and the allocated bytes after it. A block whose allocation was not recorded counts from the
    // first change on.
    void finish(LargeVector<int64_t>& rows, LargeVector<double>& held);

  private:
    struct Block {
        uint64_t bytes = 0;
        bool live = false;
    };
    struct Change {
        int64_t row;
        uint32_t device;
        bool allocated;
        uint64_t bytes;
    };
    __extension__ using Bytes = __int128;  // a sum of 64-bit numbers never overflows

    FlatMap<1, uint32_t> devices_;  // index in held_, plus one
    FlatMap<2, Block> blocks_;      // by device and address
    std::vector<Bytes> held_;
    std::vector<Change> changes_;
};

}  // namespace eventide::tracefile
