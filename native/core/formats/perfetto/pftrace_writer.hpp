// Writes Perfetto's track events. Each lane and each counter series is a packet sequence of its own: its track is the
// sequence's default, times are differences to the previous packet, names are interned in the sequence.
#pragma once

#include "encoding/bytes.hpp"
#include "formats/flows.hpp"

namespace eventide::formats {

struct PftraceInput {
    Spans spans;
    Instants instants;  // sorted by track, then by time
    Counters counters;
    Edges edges;
    Texts names;       // dictionary of Spans::name and Instants::name
    Texts categories;  // as `names`
    Texts outcomes;
    Texts places;              // stacks as readable text
    int64_t base = 0;          // ns, subtracted from every time: Perfetto has no negative times
    int64_t first = 0;         // ns, the earliest time: the clock of each sequence starts here
    uint64_t first_track = 0;  // the uuid of lane 0; the uuids of the lanes are followed by those of the series
};

// Compresses whole packets into one packet, as Perfetto's own service does.
class CompressingSink final : public Sink {
  public:
    explicit CompressingSink(Sink& to) : to_(to) {}
    void write(std::string_view packets) override;

  private:
    Sink& to_;
    Bytes deflated_, packet_, out_;
};

// Writes everything but the track descriptors, in pieces of whole packets. Returns how many edges became arrows.
int64_t write_pftrace(const PftraceInput& input, const Lanes& lanes, Sink& sink);

}  // namespace eventide::formats
