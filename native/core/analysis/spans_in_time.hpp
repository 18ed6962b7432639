// What the analysis asks of spans that numpy has no loop for. All arrays are the caller's; nothing is allocated in
// them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eventide {

// Spans of one thread, sorted by (start, -end), each longer than 0. The innermost at a time is the one that started
// last of those running, whether they nest or not.
struct Nesting {
    const int64_t* start;
    const int64_t* end;
    size_t rows;
    int64_t* parent;     // rows; the innermost one when the span began, or -1
    int64_t* self_time;  // rows; time in which the span was innermost
    int64_t* times;      // 2 * rows + 1; segments from times[i] to times[i + 1] ...
    int64_t* owner;      // 2 * rows; ... have this innermost span, or -1
};

// Fills the four arrays in one pass and says how many segments there are.
size_t nest(const Nesting& n);

// Edges in an order in which all edges out of a node stand before those into it: slack[source] becomes the least of
// itself and gap + slack[target].
void relax(const int64_t* source, const int64_t* target, const int64_t* gap, size_t edges, int64_t* slack);

// The nodes from `node` along `pred` until one whose `low` is not after `begin`, or until there is none; at most
// `room`.
size_t follow(const int64_t* pred, const int64_t* low, int64_t node, int64_t begin, size_t room, int64_t* out);

}  // namespace eventide
