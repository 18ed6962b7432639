// Writes Chrome's JSON in the layout of torch.profiler: one complete event per line. Spans are written lane by lane, so
// that they nest; an arrow's ends directly follow their spans, where readers expect them.
#pragma once

#include "formats/flows.hpp"

namespace eventide::formats {

struct ChromeInput {
    Spans spans;  // `category`: code in `categories`, Chrome's name for it
    Instants instants;
    Counters counters;
    Edges edges;
    Texts names;
    Texts categories;
    Texts outcomes;
    Texts places;                           // stacks as readable text
    Texts arrows;                           // names of the kinds of edges
    Texts own;                              // Eventide's names of categories, for those that Chrome names differently
    Texts series;                           // the name of each counter
    const int32_t* arrow = nullptr;         // of each edge
    const int32_t* own_category = nullptr;  // of each span: code in `own`, or -1
    const int64_t* pid = nullptr;           // of each lane
    const int64_t* tid = nullptr;
    const int64_t* stream = nullptr;      // of each lane; null on the host
    const int64_t* device = nullptr;      // of each lane: the index of the device; null on the host
    const int64_t* series_pid = nullptr;  // of each series
    int64_t base = 0;                     // ns, subtracted from every time
};

// Writes the events, separated by commas; `first`: no comma before the first one. Returns how many edges became arrows.
int64_t write_chrome(const ChromeInput& input, const Lanes& lanes, bool first, Sink& sink);

}  // namespace eventide::formats
