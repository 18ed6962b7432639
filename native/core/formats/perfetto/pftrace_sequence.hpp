// What a packet sequence of Perfetto has been told: names by number, defaults, clocks.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encoding/proto.hpp"
#include "formats/columns.hpp"
#include "formats/text_table.hpp"

namespace eventide::trace {

// Clocks of all sequences, mapped to the trace's one (Perfetto's BOOTTIME, or whichever clock was never mapped).
class Clocks {
  public:
    static constexpr uint64_t boottime = 6;
    void snapshot(std::string_view data, uint32_t sequence);
    // Of an incremental clock, `value` is the difference to the last.
    int64_t resolve(uint64_t clock, uint32_t sequence, uint64_t value);

  private:
    struct Clock {
        int64_t offset = 0;  // what to add to reach the trace's clock
        int64_t last = 0;
        int64_t unit = 1;  // ns
        bool incremental = false;
    };
    using Key = std::pair<uint32_t, uint64_t>;
    static Key key(uint64_t clock, uint32_t sequence) { return {clock >= 64 && clock < 128 ? sequence : 0, clock}; }
    std::map<Key, Clock> clocks_;
};

struct Sequence {
    using Names = std::unordered_map<uint64_t, uint32_t>;  // the sequence's number -> of TextTable
    Names names, categories, annotation_names, strings;
    uint64_t default_clock = 0;  // 0: none
    uint64_t default_track = 0;
    bool has_default_track = false;
    std::vector<uint64_t> extra_counters, extra_double_counters;  // default tracks of values beside events
    bool valid = false;                                           // it has been told what later packets need
    // Older writers describe the thread once and count microseconds from there.
    uint64_t thread_track = 0;
    int64_t thread_time = 0;  // us

    void forget() {
        const uint64_t track = thread_track;
        const int64_t time = thread_time;
        *this = {};
        thread_track = track;
        thread_time = time;
        valid = true;
    }
    void interned(std::string_view data, TextTable& texts);
    void defaults(std::string_view data);
};

struct Own {
    int64_t queued = none, cpu = none, work = none, correlation = none, stack = none;
    uint32_t outcome = 0;
    std::string args;  // those of the program, where they had to be put inside ours
};

// Debug annotations as the members of a JSON object.
class AnnotationReader {
  public:
    // `room`: how many bytes of texts that are given by number may still be written out.
    AnnotationReader(const Sequence& sequence, TextTable& texts, size_t& room)
        : sequence_(sequence), texts_(texts), room_(room) {}
    // Appends `"name": value`. With `own`, an annotation called `eventide` is taken apart instead.
    void member(std::string& json, std::string_view annotation, Own* own);
    // Texts for which there was no room.
    int64_t left_out() const { return left_out_; }

  private:
    void value(std::string& json, std::string_view annotation, int depth);
    void take_own(std::string_view annotation, Own& own);
    bool scalar(std::string& json, const proto::Fields& field);
    std::string_view name(std::string_view annotation);
    std::string_view text(const Sequence::Names& names, uint64_t iid);

    const Sequence& sequence_;
    TextTable& texts_;
    size_t& room_;
    int64_t left_out_ = 0;
};

}  // namespace eventide::trace
