// JSON arguments as Perfetto's debug annotations, with the names of the arguments interned.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "encoding/args_shape.hpp"
#include "encoding/bytes.hpp"
#include "encoding/json_cursor.hpp"

namespace eventide::trace {

class Annotations {
  public:
    // The number of a name in this file, from 1 on.
    uint64_t key(std::string_view name);
    // A new packet sequence knows no names.
    void new_sequence() { ++sequence_; }
    // Names that were used and that the sequence has not seen, as fields of InternedData. Appended to `out`.
    void take_new_names(Bytes& out);

    // Appends each member of a JSON object as a field of the message (debug_annotations or dict_entries). False, and
    // nothing appended, where the text is no JSON object.
    bool members(Bytes& out, uint32_t field, std::string_view object);
    // The same for an event's arguments that are like others of that event's name before, but for whole numbers. False,
    // and nothing appended, where they are not, or where one is called as ours is.
    bool repeat(Bytes& out, int32_t name, std::string_view object);
    // Tells `repeat` about arguments that `members` took; `field` is where they go.
    void learn(uint32_t field, int32_t name, std::string_view object);
    // Appends one annotation with any JSON value.
    bool value(Bytes& out, json::Cursor& cursor, size_t depth);

  private:
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
    };
    struct Known {
        json::Shape shape;
        std::vector<uint32_t> keys;      // the number of each name of the shape
        std::vector<std::string> heads;  // what stands before each value: field, room for the size, name, kind of value
        uint32_t sequence = 0;           // which has been told all the names
    };
    Known& known(int32_t name) { return known_[size_t(uint32_t(name)) % known_.size()]; }
    uint32_t find(std::string_view name);
    void tell(uint32_t number);
    bool members(Bytes& out, uint32_t field, json::Cursor& cursor, size_t depth);
    bool elements(Bytes& out, json::Cursor& cursor, size_t depth);
    void number(Bytes& out, std::string_view text);

    std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> keys_;
    std::vector<std::string_view> names_;  // by number - 1; they live in keys_
    std::vector<uint32_t> seen_in_;        // by number - 1: the sequence that knows it
    std::vector<uint32_t> next_;           // by number - 1: the name that came behind it the last time, or 0
    uint32_t last_ = 0;
    std::vector<uint32_t> fresh_;                         // numbers to introduce
    std::vector<Bytes> scratch_;                          // a message being made, by depth
    std::vector<Known> known_ = std::vector<Known>(256);  // by the event's name, or a few of them
    std::string text_;
    uint32_t sequence_ = 0;
};

}  // namespace eventide::trace
