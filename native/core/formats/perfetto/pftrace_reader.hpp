// Reads Perfetto's track events of any writer: interned names, state that is set once and cleared, incremental times.
// Slices, instants, counter values and arrows are returned in the order of the file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/null_int64.hpp"
#include "encoding/text_table.hpp"
#include "formats/perfetto/pftrace_sequence.hpp"

namespace eventide::formats {

struct PftraceTrack {
    uint64_t parent = 0;  // 0: none
    std::string name;
    int64_t pid = null_int64;
    int64_t tid = null_int64;
    bool process = false;
    bool thread = false;
    bool counter = false;
    bool incremental = false;  // a counter's values are differences
    int64_t unit = 1;          // and are multiplied by this
};

struct Slice {
    uint64_t track = 0;
    int64_t start = 0, end = null_int64;                    // null: not ended
    int32_t name = 0, category = 0, args = 0, outcome = 0;  // numbers in TextTable
    int64_t queued = null_int64, cpu = null_int64, work = null_int64, correlation = null_int64, stack = null_int64;
    bool instant = false;
};

struct PftraceContents {
    std::vector<Slice> slices;  // instants among them
    struct Value {
        uint64_t track;
        int64_t time;
        double value;
    };
    std::vector<Value> values;
    std::vector<std::pair<int64_t, int64_t>> arrows;  // from slice to slice
    TextTable texts;
    std::map<uint64_t, PftraceTrack> tracks;
    std::vector<std::pair<std::string, std::string>> tables;  // Eventide's own packets: name, Parquet
    std::string about;                                        // Eventide's own metadata, JSON
    int64_t packets = 0;                                      // with a track event
    int64_t other = 0;                                        // packets of other kinds
    int64_t lost = 0;        // events that refer to state from before the start of the file
    int64_t loose_ends = 0;  // ends of slices without a begin
    int64_t legacy = 0;      // events of kinds that are no longer written
    int64_t left_out = 0;    // texts of arguments that exceeded the budget
};

class PftraceReader {
  public:
    // Reads packets from `at` on and returns where it stopped: at the end, before a packet that is cut off, or after a
    // compressed one. The caller inflates `compressed` and feeds it before the rest.
    size_t feed(std::string_view data, size_t at, std::string& compressed);
    // Pairs begins with ends in the order of time and connects the flows.
    PftraceContents& finish();

  private:
    enum class Kind : uint8_t { begin, end, instant };
    struct TimedEvent {
        int64_t time;
        uint64_t track;
        int64_t slice;  // of an end: found later
        size_t flows, flow_count;
        Kind kind;
    };
    struct FlowId {
        uint64_t id;
        bool terminating;
    };
    struct Event;

    void packet(std::string_view data, std::string& compressed);
    void descriptor(std::string_view data);
    void chrome_events(std::string_view data);
    void own_table(std::string_view data);
    void track_event(std::string_view data, Sequence& sequence, int64_t time, bool has_time);
    void counters(const Event& event, const Sequence& sequence, int64_t time);
    void legacy(std::string_view data, Event& event);
    void add(const Event& event, int64_t time);

    PftraceContents out_;
    std::map<uint32_t, Sequence> sequences_;
    Clocks clocks_;
    // Arguments refer to interned texts and are written out: how many bytes that may still add.
    size_t text_budget_ = 16 << 20;
    std::vector<TimedEvent> timed_events_;
    std::vector<FlowId> flows_;
};

}  // namespace eventide::formats
