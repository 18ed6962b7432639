// Collects the events of a Chrome trace in columns, in the order of the file. Used by one thread.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/null_int64.hpp"
#include "encoding/column.hpp"
#include "encoding/decimal.hpp"
#include "encoding/text_table.hpp"
#include "formats/chrome/chrome_event.hpp"

namespace eventide::chrome {

// A process id, a thread id or an event's id, as written in the file.
struct Id {
    enum Kind : int8_t { none, integer, text, lane };  // lane: made here for asynchronous spans
    Kind kind = none;
    int64_t value = 0;  // of text: its number in `strings`

    bool operator==(const Id&) const = default;
};

struct SpanTable {
    Column<int32_t> track, name, category;
    Column<int64_t> start, duration;  // ns; null duration: not ended
    SparseColumn<int64_t> cpu{{}, null_int64}, correlation{{}, null_int64}, stream{{}, null_int64},
        device{{}, null_int64};
    SparseColumn<int32_t> call_stack{{}, -1};  // number of a string
    ChunkedTextColumn args;
    size_t rows() const { return start.size(); }
};

struct WaitTable {  // which event a span waited for
    Column<int64_t> span, stream, record, event;
};

struct InstantTable {
    Column<int32_t> track, name, category;
    Column<int64_t> time;
    ChunkedTextColumn args;
};

struct MemoryTable {  // Kineto's instants named [memory]
    Column<int64_t> instant, address, bytes, allocated, reserved, device_type, device;
};

struct CounterTable {
    Column<int32_t> track, name;
    Column<int64_t> time;
    Column<double> value;
};

struct FlowTable {
    Column<char> phase;  // s, t, f
    Column<int32_t> track, name, category;
    Column<int64_t> time, id;
    Column<int8_t> id_kind;
    Column<uint8_t> enclosing;  // f with bp "e": binds to the enclosing slice, else to the next one
};

struct NameTable {  // metadata events
    Column<int32_t> track, name;
    ChunkedTextColumn args;
};

class Table {
  public:
    explicit Table(const std::vector<std::string>& known_categories);

    void add(const Event& e);
    void ignore(const char* why) { ++ignored[why]; }
    void finish();  // pairs begins with ends; add() must not be called after it

    TextTable strings;
    Column<int8_t> pid_kind, tid_kind;  // of tracks
    Column<int64_t> pid, tid;
    SpanTable spans;
    WaitTable waits;
    InstantTable instants;
    MemoryTable memory;
    CounterTable counters;
    FlowTable flows;
    NameTable names;
    std::map<std::string, int64_t> ignored;
    int64_t repaired = 0;  // texts that were invalid JSON or contained NaN

  private:
    struct End {
        int32_t track;
        int64_t time, order;
        std::string args;
    };
    struct Begin {
        size_t span;
        int64_t order;
    };
    struct Async {
        char phase;
        int32_t track, name, category, scope;
        Id id;
        int64_t time;
        std::string args;
    };
    struct TrackKey {
        Id pid, tid;
        bool operator==(const TrackKey&) const = default;
    };
    struct TrackHash {
        size_t operator()(const TrackKey& k) const;
    };

    int32_t text(const json::Value& value);
    Id id(const json::Value& value);
    Id id_of(const Event& e);
    int32_t track(const Event& e);
    int32_t track(const TrackKey& key);
    int32_t category(const Event& e);
    std::string_view args(const Event& e, bool with_category = true);
    bool time(const json::Value& value, FineTime& out);
    int64_t integer(const json::Value& value);

    void add_span(const Event& e, bool complete);
    void add_kineto(const Event& e, size_t row);
    void add_instant(const Event& e);
    void add_counter(const Event& e);
    void add_flow(const Event& e, char phase);
    void add_end(const Event& e);
    void add_async(const Event& e, char phase);
    void push_span(int32_t track, int32_t name, int32_t category, int64_t start, int64_t duration, std::string_view);
    void pair_ends();
    void pair_async();
    void merge_args(const std::vector<std::pair<size_t, size_t>>& patches);  // (span, end), by span

    std::unordered_map<TrackKey, int32_t, TrackHash> tracks_;
    TrackKey last_key_;
    int32_t last_track_ = -1;
    std::unordered_set<int32_t> known_categories_;
    std::vector<Begin> begins_;
    std::vector<End> ends_;
    std::vector<Async> async_;
    int64_t order_ = 0;
    std::string scratch_;
};

}  // namespace eventide::chrome
