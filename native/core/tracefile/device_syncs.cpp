#include "tracefile/device_syncs.hpp"

#include <algorithm>

namespace eventide::tracefile {

DeviceSyncs::DeviceSyncs(const std::vector<int32_t>& devices) : streams_(devices.size()) {
    for (size_t s = 0; s < devices.size(); ++s) {
        const FlatMap<1, uint32_t>::Key key{uint64_t(devices[s])};
        if (!group_of_device_.find(key)) {
            group_of_device_.at(key) = uint32_t(groups_.size());
            groups_.emplace_back();
        }
        streams_[s].group = *group_of_device_.find(key);
        ++groups_[streams_[s].group].end;
    }
    uint32_t leaves = 0;
    for (Group& group : groups_) {
        group.begin = leaves;
        leaves += group.end;
        group.end = group.begin;
    }
    for (Stream& stream : streams_) stream.leaf = groups_[stream.group].end++;
    tree_.assign(2 * streams_.size(), no_stream);
}

uint32_t DeviceSyncs::later(uint32_t x, uint32_t y) const {
    if (x == no_stream || y == no_stream) return x == no_stream ? y : x;
    if (streams_[x].end != streams_[y].end) return streams_[x].end > streams_[y].end ? x : y;
    return std::max(x, y);
}

uint32_t DeviceSyncs::latest(uint32_t begin, uint32_t end) const {
    uint32_t found = no_stream;
    const auto count = uint32_t(streams_.size());
    for (begin += count, end += count; begin < end; begin /= 2, end /= 2) {
        if (begin & 1) found = later(found, tree_[begin++]);
        if (end & 1) found = later(found, tree_[--end]);
    }
    return found;
}

void DeviceSyncs::submitted(uint32_t s, int64_t span, int64_t end) {
    Stream& stream = streams_[s];
    stream.span = span;
    stream.end = end;
    size_t node = stream.leaf + streams_.size();
    for (tree_[node] = s; node > 1;) {
        node /= 2;
        tree_[node] = later(tree_[2 * node], tree_[2 * node + 1]);
    }
    if (stream.fresh) return;
    stream.fresh = true;
    Group& group = groups_[stream.group];
    if (group.fresh.empty()) groups_with_fresh_.push_back(stream.group);
    group.fresh.push_back(s);
}

void DeviceSyncs::take_fresh(Group& group) {
    for (const uint32_t s : group.fresh) {
        streams_[s].fresh = false;
        found_.push_back(s);
    }
    group.fresh.clear();
}

const std::vector<uint32_t>& DeviceSyncs::sources(int32_t device, bool ended) {
    found_.clear();
    uint32_t last = no_stream;
    if (!device) {
        if (ended) {
            for (const uint32_t group : groups_with_fresh_) take_fresh(groups_[group]);
            groups_with_fresh_.clear();
        }
        last = latest(0, uint32_t(streams_.size()));
    } else if (const uint32_t* group = group_of_device_.find({uint64_t(device)})) {
        if (ended) take_fresh(groups_[*group]);
        last = latest(groups_[*group].begin, groups_[*group].end);
    }
    std::sort(found_.begin(), found_.end());
    if (last != no_stream && !std::binary_search(found_.begin(), found_.end(), last))
        found_.insert(std::upper_bound(found_.begin(), found_.end(), last), last);
    return found_;
}

}  // namespace eventide::tracefile
