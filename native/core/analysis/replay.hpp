// The schedule of a dependency graph: each node begins as soon as all that it depends on allows it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eventide {

// Edge i: node target[i] begins no earlier than lag[i] after the end of node source[i].
struct Dependencies {
    const int64_t* source;
    const int64_t* target;
    size_t edges;
    size_t nodes;
};

// Writes the edges in an order in which all edges into a node precede those out of it, and returns how many nodes can
// be scheduled: fewer than `nodes` if there is a cycle; then the edges out of the others are missing at the end of
// `order`. O(nodes + edges). Of several possible orders it is the one of a queue: the same graph, the same order.
size_t order_edges(const Dependencies& graph, int64_t* order);

// One pass over edges in the order of `order_edges`. start has the release time of each node: it begins no earlier; it
// becomes the node's start. binding becomes the edge that was satisfied last (of equals the one with the smallest number
// in `number`), or -1 where the release time binds.
void schedule(const Dependencies& graph, const int64_t* lag, const int64_t* duration, const int64_t* number,
              int64_t* start, int64_t* binding);

}  // namespace eventide
