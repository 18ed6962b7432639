// Writes JSON arguments as Perfetto's debug annotations, with the names of the arguments interned.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "encoding/args_shape.hpp"
#include "encoding/bytes.hpp"
#include "encoding/json_scan.hpp"

namespace eventide::formats {

class AnnotationWriter {
  public:
    // The number of a name in this file, from 1 on.
    uint64_t key(std::string_view name);
    // A new packet sequence starts without interned names.
    void new_sequence() { ++sequence_; }
    // Appends, as fields of InternedData, the names that were used and that the sequence has not introduced yet.
    void append_new_names(Bytes& out);

    // Appends each member of a JSON object as a field of the message (debug_annotations or dict_entries). False, and
    // nothing appended, where the text is not a JSON object.
    bool append_members(Bytes& out, uint32_t field, std::string_view object);
    // The same without parsing, for arguments that differ only in integers from those that remember() was given for
    // this event name. False, and nothing appended, where they differ otherwise.
    bool append_repeated(Bytes& out, int32_t event_name, std::string_view object);
    // Prepares append_repeated() from arguments that append_members() has accepted.
    void remember(uint32_t field, int32_t event_name, std::string_view object);

  private:
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
    };
    struct Repeated {
        json::ArgsShape shape;
        std::vector<uint32_t> keys;      // the number of each name of the shape
        std::vector<std::string> heads;  // the bytes before each value: field, a byte for the size, name, type of value
        uint32_t sequence = 0;           // which has introduced all the names
    };
    Repeated& repeated(int32_t event_name) { return repeated_[size_t(uint32_t(event_name)) % repeated_.size()]; }
    uint32_t find(std::string_view name);
    void introduce(uint32_t number);
    std::string_view text_of(const json::Value& string);
    bool members(Bytes& out, uint32_t field, json::Scanner& scan, size_t depth);
    bool elements(Bytes& out, json::Scanner& scan, size_t depth);
    bool value(Bytes& out, json::Scanner& scan, size_t depth);
    bool leaf(Bytes& out, const json::Value& value);

    std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> keys_;
    std::vector<std::string_view> names_;  // by number - 1; the texts are the keys of keys_
    std::vector<uint32_t> introduced_in_;  // by number - 1: the newest sequence that has introduced it
    std::vector<uint32_t> next_;           // by number - 1: the name that followed it the last time, or 0
    uint32_t last_ = 0;                    // number of the last name
    std::vector<uint32_t> fresh_;          // numbers to introduce
    std::vector<Bytes> scratch_;           // a message under construction, by depth
    std::vector<Repeated> repeated_ = std::vector<Repeated>(256);  // by event name modulo the size
    json::PaddedText padded_;
    std::string decoded_;
    bool bad_text_ = false;
    uint32_t sequence_ = 0;
};

}  // namespace eventide::formats
