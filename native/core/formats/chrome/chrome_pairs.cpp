// Begins that find their ends: B with E on one track, b with e of one id. Events may stand in any order in the file.
#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "formats/chrome/chrome_table.hpp"

namespace eventide::chrome {

void Table::finish() {
    pair_ends();
    pair_async();
    const size_t rows = spans.rows();
    for (auto* column : {&spans.cpu, &spans.correlation, &spans.stream, &spans.device}) column->finish(rows);
    spans.call_stack.finish(rows);
}

// By track and time; events of one time stay in the order of the file.
void Table::pair_ends() {
    struct Item {
        int32_t track;
        int64_t time, order, span;  // span < 0: an end, ~index
    };
    std::vector<Item> items;
    items.reserve(begins_.size() + ends_.size());
    for (const Begin& b : begins_)
        items.push_back({spans.track[b.span], spans.start[b.span], b.order, int64_t(b.span)});
    for (size_t i = 0; i < ends_.size(); ++i)
        items.push_back({ends_[i].track, ends_[i].time, ends_[i].order, ~int64_t(i)});
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        return std::tie(a.track, a.time, a.order) < std::tie(b.track, b.time, b.order);
    });
    std::vector<size_t> open;
    std::vector<std::pair<size_t, size_t>> patches;
    int32_t track = -1;
    for (const Item& item : items) {
        if (item.track != track) open.clear();
        track = item.track;
        if (item.span >= 0) {
            open.push_back(size_t(item.span));
        } else if (open.empty()) {
            ignore("end without begin");
        } else {
            const size_t row = open.back();
            open.pop_back();
            spans.duration[row] = item.time - spans.start[row];
            if (!ends_[size_t(~item.span)].args.empty()) patches.emplace_back(row, size_t(~item.span));
        }
    }
    if (!patches.empty()) merge_args(patches);
    begins_ = {};
    ends_ = {};
}

// An end may bring arguments of its own: they follow the begin's.
void Table::merge_args(const std::vector<std::pair<size_t, size_t>>& patches) {
    std::vector<std::pair<size_t, size_t>> sorted = patches;
    std::sort(sorted.begin(), sorted.end());
    TextColumn merged;
    auto next = sorted.begin();
    size_t row = 0;
    for (size_t c = 0; c < spans.args.chunks(); ++c) {
        const TextColumn::Chunk& chunk = spans.args.chunk(c);
        for (size_t i = 0; i + 1 < chunk.offsets.size(); ++i, ++row) {
            std::string_view text(chunk.bytes.data() + chunk.offsets[i],
                                  size_t(chunk.offsets[i + 1] - chunk.offsets[i]));
            if (next == sorted.end() || next->first != row) {
                merged.push(text);
                continue;
            }
            const std::string& more = ends_[(next++)->second].args;
            if (text.empty()) {
                merged.push(more);
            } else {
                merged.push(text.substr(0, text.size() - 1));
                merged.append(",");
                merged.append(std::string_view(more).substr(1));
            }
        }
    }
    spans.args = std::move(merged);
}

// Asynchronous spans of one id nest; those of different ids overlap as they like. So each outermost one takes a lane of
// its process and category, the first that is free, and its inner ones follow it: on a lane everything nests.
void Table::pair_async() {
    std::vector<size_t> order(async_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto group = [&](size_t i) {
        const Async& a = async_[i];
        return std::tuple(pid_kind[size_t(a.track)], pid[size_t(a.track)], a.category, a.scope, a.id.kind, a.id.value);
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::tuple(group(a), async_[a].time, a) < std::tuple(group(b), async_[b].time, b);
    });
    struct Pair {
        size_t begin;
        int64_t end;
        size_t root;  // number of the outermost pair
        const std::string* args;
    };
    std::vector<Pair> pairs;
    std::vector<size_t> open;
    for (size_t n = 0; n < order.size(); ++n) {
        const Async& a = async_[order[n]];
        if (n && group(order[n]) != group(order[n - 1])) open.clear();
        if (a.phase == 'b') {
            pairs.push_back({order[n], NONE, open.empty() ? pairs.size() : pairs[open.front()].root, nullptr});
            open.push_back(pairs.size() - 1);
        } else if (a.phase == 'n') {
            instants.track.push(a.track);
            instants.name.push(a.name);
            instants.category.push(a.category);
            instants.time.push(a.time);
            instants.args.push(a.args);
        } else if (open.empty()) {
            ignore("end without begin");
        } else {
            pairs[open.back()].end = a.time;
            pairs[open.back()].args = &a.args;
            open.pop_back();
        }
    }
    // Lanes, in the order of time. An outermost span that never ended keeps its lane.
    std::vector<size_t> roots;
    for (size_t i = 0; i < pairs.size(); ++i)
        if (pairs[i].root == i) roots.push_back(i);
    std::stable_sort(roots.begin(), roots.end(),
                     [&](size_t a, size_t b) { return async_[pairs[a].begin].time < async_[pairs[b].begin].time; });
    using Free = std::pair<int64_t, int64_t>;  // free from, lane
    std::map<std::tuple<int8_t, int64_t, int32_t>, std::priority_queue<Free, std::vector<Free>, std::greater<>>> lanes;
    std::vector<int32_t> tracks(pairs.size());
    for (const size_t root : roots) {
        const Async& a = async_[pairs[root].begin];
        const Id process{Id::Kind(pid_kind[size_t(a.track)]), pid[size_t(a.track)]};
        auto& free = lanes[{process.kind, process.value, a.category}];
        int64_t lane = int64_t(free.size());
        if (!free.empty() && free.top().first <= a.time) {
            lane = free.top().second;
            free.pop();
        }
        free.push({pairs[root].end == NONE ? INT64_MAX : pairs[root].end, lane});
        tracks[root] = track({process, {Id::lane, (int64_t(a.category) << 32) | lane}});
    }
    for (const Pair& p : pairs) {
        const Async& a = async_[p.begin];
        std::string args = a.args;
        if (p.args && !p.args->empty() && *p.args != a.args) {
            args = args.empty() ? *p.args : args.substr(0, args.size() - 1) + "," + p.args->substr(1);
        }
        push_span(tracks[p.root], a.name, a.category, a.time, p.end == NONE ? NONE : p.end - a.time, args);
    }
    async_ = {};
}

}  // namespace eventide::chrome
