#include "analysis/replay.hpp"

#include <vector>

#include "base/clamped.hpp"

namespace eventide {

size_t order_edges(const Dependencies& g, int64_t* order) {
    std::vector<size_t> first(g.nodes + 1);  // edges by source: those of node n from first[n] to first[n + 1]
    std::vector<size_t> missing(g.nodes);    // edges into the node that are not yet in `order`
    for (size_t i = 0; i < g.edges; ++i) {
        ++first[size_t(g.source[i]) + 1];
        ++missing[size_t(g.target[i])];
    }
    for (size_t n = 0; n < g.nodes; ++n) first[n + 1] += first[n];
    std::vector<size_t> outgoing(g.edges);
    {
        std::vector<size_t> next(first.begin(), first.end() - 1);
        for (size_t i = 0; i < g.edges; ++i) outgoing[next[size_t(g.source[i])]++] = i;
    }
    std::vector<size_t> queue;
    queue.reserve(g.nodes);
    for (size_t n = 0; n < g.nodes; ++n)
        if (missing[n] == 0) queue.push_back(n);
    size_t written = 0;
    for (size_t head = 0; head < queue.size(); ++head)
        for (size_t k = first[queue[head]]; k < first[queue[head] + 1]; ++k) {
            order[written++] = int64_t(outgoing[k]);
            const size_t target = size_t(g.target[outgoing[k]]);
            if (--missing[target] == 0) queue.push_back(target);
        }
    return queue.size();
}

void schedule(const Dependencies& g, const int64_t* lag, const int64_t* duration, const int64_t* number, int64_t* start,
              int64_t* binding) {
    for (size_t n = 0; n < g.nodes; ++n) binding[n] = -1;
    for (size_t i = 0; i < g.edges; ++i) {
        const size_t from = size_t(g.source[i]), to = size_t(g.target[i]);
        const int64_t ready = clamped::add(clamped::add(start[from], duration[from]), lag[i]);
        const bool tie = ready == start[to] && binding[to] >= 0 && number[i] < binding[to];
        if (ready > start[to] || tie) {
            start[to] = ready;
            binding[to] = number[i];
        }
    }
}

}  // namespace eventide
