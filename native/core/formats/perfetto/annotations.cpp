#include "formats/perfetto/annotations.hpp"

#include <charconv>
#include <limits>

#include "encoding/proto.hpp"

namespace eventide::trace {
namespace {

// Fields of DebugAnnotation.
constexpr uint32_t name_iid = 1, bool_value = 2, uint_value = 3, int_value = 4, double_value = 5, string_value = 6,
                   legacy_json_value = 9, dict_entries = 11, array_values = 12;
constexpr uint32_t debug_annotation_names = 3;  // of InternedData
constexpr size_t deepest = 100;                 // deeper values are kept as JSON text

}  // namespace

uint32_t Annotations::find(std::string_view name) {
    auto found = keys_.find(name);
    if (found == keys_.end()) {
        found = keys_.emplace(std::string(name), uint32_t(names_.size() + 1)).first;
        names_.push_back(found->first);
        seen_in_.push_back(0);
        next_.push_back(0);
    }
    return found->second;
}

uint64_t Annotations::key(std::string_view name) {
    // Events of one kind have the same names in the same order: what followed the last name will follow it again.
    uint32_t number = last_ ? next_[last_ - 1] : 0;
    if (!number || names_[number - 1] != name) {
        number = find(name);
        if (last_) next_[last_ - 1] = number;
    }
    last_ = number;
    tell(number);
    return number;
}

void Annotations::tell(uint32_t number) {
    if (seen_in_[number - 1] == sequence_) return;
    seen_in_[number - 1] = sequence_;
    fresh_.push_back(number);
}

void Annotations::take_new_names(Bytes& out) {
    std::string entry;
    for (const uint32_t number : fresh_) {
        entry.clear();
        proto::number(entry, 1, number);
        proto::bytes(entry, 2, names_[number - 1]);
        proto::bytes(out, debug_annotation_names, entry);
    }
    fresh_.clear();
}

bool Annotations::members(Bytes& out, uint32_t field, std::string_view object) {
    json::Cursor cursor(object);
    const size_t before = out.size();
    if (members(out, field, cursor, 0) && cursor.peek() == '\0') return true;
    out.cut(before);
    return false;
}

bool Annotations::repeat(Bytes& out, int32_t name, std::string_view object) {
    Known& like = known(name);
    const size_t before = out.size();
    const bool same = like.shape.match(object, [&](size_t i, uint64_t bits) {
        const std::string& head = like.heads[i];
        char* const made = out.room(32);  // a head has 9 bytes at most, a value 10
        std::memcpy(made, head.data(), head.size());
        const char* const end = proto::varint(made + head.size(), bits);
        made[1] = char(end - made - 2);
        out.took(end);
    });
    if (!same) {
        out.cut(before);
        return false;
    }
    if (like.sequence != sequence_) {
        for (const uint32_t number : like.keys) tell(number);
        like.sequence = sequence_;
    }
    return true;
}

void Annotations::learn(uint32_t field, int32_t name, std::string_view object) {
    Known& like = known(name);
    if (!like.shape.learn(object)) return;
    like.keys.clear();
    like.heads.clear();
    like.sequence = 0;
    for (const std::string& each : like.shape.names()) {
        like.keys.push_back(find(each));
        std::string& head = like.heads.emplace_back();
        proto::bytes(head, field, {});
        proto::number(head, name_iid, like.keys.back());
        proto::varint(head, int_value << 3);
    }
}

bool Annotations::members(Bytes& out, uint32_t field, json::Cursor& cursor, size_t depth) {
    if (!cursor.take('{')) return false;
    if (cursor.take('}')) return true;
    do {
        if (scratch_.size() <= depth) scratch_.resize(depth + 8);
        Bytes made = std::move(scratch_[depth]);
        made.clear();
        std::string_view name;
        if (!cursor.string(name, text_) || !cursor.take(':')) return false;
        proto::number(made, name_iid, key(name));
        if (!value(made, cursor, depth + 1)) return false;
        proto::bytes(out, field, made);
        scratch_[depth] = std::move(made);
    } while (cursor.take(','));
    return cursor.take('}');
}

bool Annotations::elements(Bytes& out, json::Cursor& cursor, size_t depth) {
    if (!cursor.take('[')) return false;
    do {
        Bytes made;
        if (!value(made, cursor, depth + 1)) return false;
        proto::bytes(out, array_values, made);
    } while (cursor.take(','));
    return cursor.take(']');
}

void Annotations::number(Bytes& out, std::string_view text) {
    int64_t whole;
    uint64_t large;
    const char *const begin = text.data(), *const end = begin + text.size();
    const auto reads = [&](auto& into) {
        const auto read = std::from_chars(begin, end, into);
        return read.ptr == end && read.ec == std::errc();
    };
    if (reads(whole)) {
        proto::number(out, int_value, uint64_t(whole));
    } else if (reads(large)) {
        proto::number(out, uint_value, large);
    } else if (text.find_first_of(".eENI") == text.npos) {  // a whole number of more than 64 bits
        proto::bytes(out, legacy_json_value, text);
    } else {
        const bool negative = text[0] == '-';
        double real = 0;
        if (text.find('N') != text.npos)
            real = std::numeric_limits<double>::quiet_NaN();
        else if (text.find('I') != text.npos)
            real = std::numeric_limits<double>::infinity() * (negative ? -1 : 1);
        else if (std::from_chars(begin, end, real).ec == std::errc::result_out_of_range)
            return proto::bytes(out, legacy_json_value, text);
        proto::real(out, double_value, real);
    }
}

bool Annotations::value(Bytes& out, json::Cursor& cursor, size_t depth) {
    switch (cursor.peek()) {
        case '"': {
            std::string_view text;
            if (!cursor.string(text, text_)) return false;
            proto::bytes(out, string_value, text);
            return true;
        }
        case 't':
            proto::number(out, bool_value, 1);
            return cursor.word("true");
        case 'f':
            proto::number(out, bool_value, 0);
            return cursor.word("false");
        case '{':
        case '[': {
            json::Cursor ahead = cursor;
            const bool object = ahead.take('{'),
                       empty = ahead.take('}') || (!object && ahead.take('[') && ahead.take(']'));
            if (!empty && depth < deepest)
                return object ? members(out, dict_entries, cursor, depth) : elements(out, cursor, depth);
            [[fallthrough]];  // what Perfetto has no value for is JSON text
        }
        case 'n': {
            const std::string_view text = cursor.skip();
            proto::bytes(out, legacy_json_value, text);
            return !text.empty();
        }
        default: {
            const std::string_view text = cursor.number();
            if (text.empty()) return false;
            number(out, text);
            return true;
        }
    }
}

}  // namespace eventide::trace
