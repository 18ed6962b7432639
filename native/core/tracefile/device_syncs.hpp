// Which streams a synchronization of a whole device gets an edge from: see derived_work.hpp for the rule.
#pragma once

#include <cstdint>
#include <vector>

#include "base/flat_map.hpp"

namespace eventide::recorder {

class DeviceSyncs {
  public:
    // Per stream, in the order of the streams' first work: the number of its device; 0: it has none.
    explicit DeviceSyncs(const std::vector<int32_t>& devices);

    // The stream got this work, which ended then; INT64_MAX where no end is known.
    void submitted(uint32_t stream, int64_t span, int64_t end);
    // The streams for a synchronization of this device (0: of all) that begins now, in their order. Valid until the
    // next call. `ended`: it neither gave up nor was cut off.
    const std::vector<uint32_t>& sources(int32_t device, bool ended);
    int64_t last_work(uint32_t stream) const { return streams_[stream].span; }

  private:
    static constexpr uint32_t no_stream = UINT32_MAX;

    struct Stream {
        uint32_t leaf = 0, group = 0;
        bool fresh = false;  // it is in the list of its group
        int64_t span = 0, end = 0;
    };
    struct Group {                    // the streams of one device
        uint32_t begin = 0, end = 0;  // leaves
        std::vector<uint32_t> fresh;  // got work since the last synchronization that ended
    };

    uint32_t later(uint32_t x, uint32_t y) const;
    uint32_t latest(uint32_t begin, uint32_t end) const;
    void take_fresh(Group& group);

    std::vector<Stream> streams_;
    std::vector<Group> groups_;
    std::vector<uint32_t> groups_with_fresh_;  // may name one twice, or one that has none any more
    FlatMap<1, uint32_t> group_of_device_;
    std::vector<uint32_t> tree_;  // of streams by the end of their last work: a node has the latest of its two
    std::vector<uint32_t> found_;
};

}  // namespace eventide::recorder
