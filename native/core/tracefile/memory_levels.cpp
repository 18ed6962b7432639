#include "tracefile/memory_levels.hpp"

namespace eventide::tracefile {

void MemoryLevels::change(int64_t row, int32_t device, uint64_t address, uint64_t bytes, bool allocated) {
    uint32_t& place = devices_.at({uint64_t(device)});
    if (!place) {
        held_.push_back(0);
        place = uint32_t(held_.size());
    }
    Block& block = blocks_.at({uint64_t(device), address});
    if (allocated) {
        block = {bytes, true};
    } else if (block.live) {
        bytes = block.bytes;
        block.live = false;
    } else {
        held_[place - 1] += bytes;
    }
    changes_.push_back({row, place - 1, allocated, bytes});
}

void MemoryLevels::finish(LargeVector<int64_t>& rows, LargeVector<double>& held) {
    for (const Change& change : changes_) {
        Bytes& now = held_[change.device];
        now += change.allocated ? Bytes(change.bytes) : -Bytes(change.bytes);
        rows.push_back(change.row);
        held.push_back(double(now));
    }
}

}  // namespace eventide::tracefile
