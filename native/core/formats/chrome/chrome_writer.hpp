// Chrome's JSON, in the layout of torch.profiler: one complete event a line. Spans come lane by lane, so that they
// nest; an arrow's ends stand right behind the spans that they belong to, which is how readers find them.
#pragma once

#include "formats/flows.hpp"

namespace eventide::formats {

struct ChromeInput {
    Spans spans;  // `category` points into `categories` and is the word of Chrome's file
    Instants instants;
    Counters counters;
    Edges edges;
    Texts names;
    Texts categories;
    Texts outcomes;
    Texts places;  // stacks, as text for people
    Texts arrows;  // names of the kinds of edges
    Texts own;     // our own word for each span's category, where Chrome's differs; empty where it does not
    Texts series;  // the name of each counter
    const int32_t* arrow = nullptr;         // of each edge
    const int32_t* own_category = nullptr;  // of each span, into `own`
    const int64_t* pid = nullptr;           // of each lane
    const int64_t* tid = nullptr;
    const int64_t* stream = nullptr;      // of each lane; none on the host
    const int64_t* device = nullptr;      // as `stream`: the device's index
    const int64_t* series_pid = nullptr;  // of each series
    int64_t base = 0;                     // ns, subtracted from every time
};

// Writes the events, each with a comma before it but the first. Returns how many edges are arrows in the file.
int64_t write_chrome(const ChromeInput& input, const Lanes& lanes, bool first, Sink& sink);

}  // namespace eventide::formats
