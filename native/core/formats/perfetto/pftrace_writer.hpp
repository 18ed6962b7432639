// Perfetto's track events. Each lane and each series of a counter is a packet sequence of its own: its track is the
// sequence's default, times are differences to the packet before, names are numbers that the sequence has been told.
#pragma once

#include "encoding/bytes.hpp"
#include "formats/flows.hpp"

namespace eventide::trace {

struct PftraceInput {
    Spans spans;
    Instants instants;  // sorted by track, then by time
    Counters counters;
    Edges edges;
    Texts names;       // what Spans::name, Instants::name point to
    Texts categories;  // as `names`
    Texts outcomes;
    Texts places;              // stacks, as text for people
    int64_t base = 0;          // ns; what is subtracted from every time, because Perfetto has no negative ones
    int64_t first = 0;         // the earliest time of all: where the clock of each sequence starts
    uint64_t first_track = 0;  // the uuid of lane 0; lanes come first, then series
};

// Whole packets become one packet that holds them compressed: the form that Perfetto's own service writes.
class PackedSink final : public Sink {
  public:
    explicit PackedSink(Sink& to) : to_(to) {}
    void write(std::string_view packets) override;

  private:
    Sink& to_;
    Bytes deflated_, packet_, out_;
};

// Writes everything but the descriptors of the tracks, in pieces of whole packets. Returns how many edges are arrows in
// the file.
int64_t write_pftrace(const PftraceInput& input, const Lanes& lanes, Sink& sink);

}  // namespace eventide::trace
