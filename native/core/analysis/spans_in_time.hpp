// Loops over spans that numpy does not have. The caller owns all arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eventide {

// Spans of one thread, sorted by (start, -end), each longer than 0. The innermost span at a time is the open span that
// started last, whether spans nest or not.
struct Nesting {
    const int64_t* start;
    const int64_t* end;
    size_t rows;
    int64_t* parent;     // rows; the innermost span when the span started, or -1
    int64_t* self_time;  // rows; time in which the span was innermost
    int64_t* times;      // 2 * rows + 1; segments from times[i] to times[i + 1] ...
    int64_t* owner;      // 2 * rows; ... have this innermost span, or -1
};

// Fills the four output arrays in one pass and returns the number of segments.
size_t nest(const Nesting& n);

// Sets slack[source] to the minimum of itself and gap + slack[target]. The edges must be sorted so that all edges out
// of a node precede those into it.
void relax(const int64_t* source, const int64_t* target, const int64_t* gap, size_t edges, int64_t* slack);

// Writes the nodes from `node` along `pred` to `out`, up to one whose `low` is not after `begin`, or the last; at most
// `capacity`. Returns their number.
size_t follow(const int64_t* pred, const int64_t* low, int64_t node, int64_t begin, size_t capacity, int64_t* out);

}  // namespace eventide
