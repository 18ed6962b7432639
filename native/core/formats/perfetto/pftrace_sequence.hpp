// State of Perfetto's packet sequences that later packets refer to: interned names, defaults, clocks.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encoding/text_table.hpp"

namespace eventide::formats {

// The clocks of all sequences, converted to the clock of the trace: BOOTTIME, or the clock itself where no snapshot
// relates it to another.
class Clocks {
  public:
    void add_snapshot(std::string_view data, uint32_t sequence);
    // The time in ns on the trace's clock. The value of an incremental clock is the difference to its last one.
    int64_t resolve(uint64_t clock, uint32_t sequence, uint64_t value);

  private:
    struct Clock {
        int64_t offset = 0;  // the trace's clock minus this one
        int64_t last = 0;
        int64_t unit = 1;  // ns
        bool incremental = false;
    };
    using Key = std::pair<uint32_t, uint64_t>;
    static Key key(uint64_t clock, uint32_t sequence);
    std::map<Key, Clock> clocks_;
};

struct Sequence {
    using Names = std::unordered_map<uint64_t, int32_t>;  // iid -> number in TextTable
    Names names, categories, annotation_names, strings;
    uint64_t default_clock = 0;  // 0: none
    uint64_t default_track = 0;
    bool has_default_track = false;
    std::vector<uint64_t> extra_counters, extra_double_counters;  // default tracks of extra counter values
    bool valid = false;                                           // its state was cleared, so later packets can be read
    // Older writers describe the thread once and give times as differences from there.
    uint64_t thread_track = 0;
    int64_t thread_time = 0;  // us

    // Clears what later packets refer to, but for the thread.
    void clear_state() {
        const uint64_t track = thread_track;
        const int64_t time = thread_time;
        *this = {};
        thread_track = track;
        thread_time = time;
        valid = true;
    }
    void add_interned(std::string_view data, TextTable& texts);
    void set_defaults(std::string_view data);
};

}  // namespace eventide::formats
