// Reads Perfetto's track events, whoever wrote them: interned names, state that is told once and forgotten, times as
// differences. Slices, instants, counter values and arrows come out in the order of the file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/perfetto/pftrace_sequence.hpp"

namespace eventide::trace {

struct PftraceTrack {
    uint64_t parent = 0;  // 0: none
    std::string name;
    int64_t pid = none;
    int64_t tid = none;
    bool process = false;
    bool thread = false;
    bool counter = false;
    bool incremental = false;  // a counter's values are differences
    int64_t unit = 1;          // and are multiplied by this
};

struct Slice {
    uint64_t track = 0;
    int64_t start = 0, end = none;                           // none: it had not ended
    uint32_t name = 0, category = 0, args = 0, outcome = 0;  // numbers of Texts
    int64_t queued = none, cpu = none, work = none, correlation = none, stack = none;
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
    std::vector<std::pair<std::string, std::string>> tables;  // packets of our own: name, Parquet
    std::string about;                                        // our own metadata, JSON
    int64_t packets = 0;                                      // with a track event
    int64_t other = 0;                                        // packets of other kinds
    int64_t lost = 0;        // need what their sequence was told before the file begins
    int64_t loose_ends = 0;  // ends of slices that never began
    int64_t legacy = 0;      // events of kinds that are no longer written
    int64_t left_out = 0;    // texts of arguments: more than there is room for
};

class PftraceReader {
  public:
    // Reads packets from `at` on and returns where it stopped: at the end, at a packet that is cut off, or behind one
    // that is compressed, which is then to be inflated and fed before the rest.
    size_t feed(std::string_view data, size_t at, std::string& compressed);
    // Pairs begins with ends, in the order of time, and follows the arrows.
    PftraceContents& finish();

  private:
    enum class Kind : uint8_t { begin, end, instant };
    struct Happening {
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
    // Arguments refer to texts, and each gets them written out: how many bytes that may still make of the file.
    size_t room_ = 16 << 20;
    std::vector<Happening> happenings_;
    std::vector<FlowId> flows_;
};

}  // namespace eventide::trace
