// Finds the streams from which a synchronization of a whole device gets an edge; derived_work.hpp has the rule.
#pragma once

#include <cstdint>
#include <vector>

#include "base/flat_map.hpp"

namespace eventide::tracefile {

class DeviceSyncs {
  public:
    // Per stream, in the order of the streams' first work: the number of its device; 0: it has none.
    explicit DeviceSyncs(const std::vector<int32_t>& devices);

    // The stream received this work, which ended at `end`; INT64_MAX: the end is unknown.
    void submitted(uint32_t stream, int64_t span, int64_t end);
    // The streams for a synchronization of this device (0: all devices) that begins now, in order. Valid until the next
    // call. `ended`: it has completed.
    const std::vector<uint32_t>& sources(int32_t device, bool ended);
    int64_t last_work(uint32_t stream) const { return streams_[stream].span; }

  private:
    static constexpr uint32_t no_stream = UINT32_MAX;

    struct Stream {
        uint32_t leaf = 0, group = 0;
        bool fresh = false;  // it is in the list `fresh` of its group
        int64_t span = 0, end = 0;
    };
    struct Group {                    // the streams of one device
        uint32_t begin = 0, end = 0;  // leaves
        std::vector<uint32_t> fresh;  // received work since the last completed synchronization
    };

    uint32_t later(uint32_t x, uint32_t y) const;
    uint32_t latest(uint32_t begin, uint32_t end) const;
    void take_fresh(Group& group);

    std::vector<Stream> streams_;
    std::vector<Group> groups_;
    std::vector<uint32_t> groups_with_fresh_;  // may contain duplicates, and groups without fresh streams
    FlatMap<1, uint32_t> group_of_device_;
    std::vector<uint32_t> tree_;  // segment tree of streams: a node is the child whose last work ends later
    std::vector<uint32_t> found_;
};

}  // namespace eventide::tracefile
