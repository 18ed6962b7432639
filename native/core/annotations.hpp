// JSON arguments as Perfetto's debug annotations, with the names of the arguments interned.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "json_cursor.hpp"

namespace eventide::trace {

class Annotations {
  public:
    // The number of a name in this file, from 1 on.
    uint64_t key(std::string_view name);
    // A new packet sequence knows no names.
    void new_sequence() { ++sequence_; }
    // Names that were used and that the sequence has not seen, as fields of InternedData. Appended to `out`.
    void take_new_names(std::string& out);

    // Appends each member of a JSON object as a field of the message (debug_annotations or dict_entries). False, and
    // nothing appended, where the text is no JSON object.
    bool members(std::string& out, uint32_t field, std::string_view object);
    // Appends one annotation with any JSON value.
    bool value(std::string& out, json::Cursor& cursor, size_t depth);

  private:
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
    };
    uint32_t find(std::string_view name);
    bool members(std::string& out, uint32_t field, json::Cursor& cursor, size_t depth);
    bool elements(std::string& out, json::Cursor& cursor, size_t depth);
    void number(std::string& out, std::string_view text);

    std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> keys_;
    std::vector<std::string_view> names_;  // by number - 1; they live in keys_
    std::vector<uint32_t> seen_in_;        // by number - 1: the sequence that knows it
    std::vector<uint32_t> next_;           // by number - 1: the name that came behind it the last time, or 0
    uint32_t last_ = 0;
    std::vector<uint32_t> fresh_;       // numbers to introduce
    std::vector<std::string> scratch_;  // a message being made, by depth
    std::string text_;
    uint32_t sequence_ = 0;
};

}  // namespace eventide::trace
