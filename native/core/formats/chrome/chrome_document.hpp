// Reads a Chrome trace from pieces of any size: an object with traceEvents, or an array of events.
//
// It keeps the columns, the current piece and the incomplete value at its end; a value of more than `max_value` bytes
// is refused. An incomplete value is read again only when twice as many bytes are available, so that the time is linear
// also for pieces of one byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoding/json_scan.hpp"
#include "formats/chrome/chrome_table.hpp"

namespace eventide::chrome {

enum class Ended : uint8_t {
    whole,      // complete
    open,       // after a complete event, without the closing brackets
    cut,        // inside a value
    bad,        // at text that is not JSON
    no_events,  // without an array of events
    empty,
};

class Document {
  public:
    Document(const std::vector<std::string>& known_categories, size_t max_value)
        : table(known_categories), max_value_(max_value) {}

    void feed(std::string_view piece);
    Ended finish();

    Table table;
    std::vector<std::pair<std::string, std::string>> metadata;  // key and JSON text of the other members
    std::string message;                                        // of bad
    int64_t position = 0;                                       // of bad: where; else the first unused byte
    int64_t bytes = 0;                                          // fed
    int64_t kept = 0;                                           // bytes up to the end of the last complete value
    int64_t trailing = 0;                                       // bytes behind the end, without blanks
    int64_t elements = 0;                                       // in the arrays of events
    int64_t oversized = 0;  // members of the outermost object that are too long to keep
    int event_arrays = 0;
    bool is_array = false;

  private:
    enum class State : uint8_t { start, key, events, done, failed };

    void run();
    bool step(json::Scanner& scan);
    bool start(json::Scanner& scan);
    bool member(json::Scanner& scan);
    bool element(json::Scanner& scan);
    void fail(const json::Scanner& scan);

    std::vector<char> buffer_;
    size_t begin_ = 0, end_ = 0;  // the unused bytes of buffer_
    size_t enough_ = 0;           // bytes that must be available before the next try
    size_t max_value_;
    State state_ = State::start;
};

}  // namespace eventide::chrome
