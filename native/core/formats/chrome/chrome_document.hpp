// A Chrome trace as a stream of bytes: an object with traceEvents, or an array of events. Feed it pieces of any size.
//
// What is held is the columns, the piece at hand and the value that it ends in; a value that needs more than
// `max_value` bytes is refused. A value is tried again only when twice as much of it is there, so that pieces of one
// byte cost no more than a constant times the whole.
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
    whole,      // as it should
    open,       // after a whole event, without the closing brackets
    cut,        // inside a value
    bad,        // at something that is no JSON
    no_events,  // there is no array of events in it
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
    int64_t position = 0;                                       // of bad: where; else the first byte that was not used
    int64_t bytes = 0;                                          // fed
    int64_t kept = 0;                                           // bytes up to the end of the last whole value
    int64_t trailing = 0;                                       // bytes behind the end that are no blanks
    int64_t elements = 0;                                       // of the arrays of events
    int64_t oversized = 0;  // members of the outermost object that were too long to keep
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
    size_t begin_ = 0, end_ = 0;  // what is not used yet
    size_t enough_ = 0;           // bytes that must be there before the next try
    size_t max_value_;
    State state_ = State::start;
};

}  // namespace eventide::chrome
