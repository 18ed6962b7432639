#include "formats/perfetto/annotation_writer.hpp"

#include <charconv>
#include <limits>

#include "encoding/json_text.hpp"
#include "encoding/proto.hpp"
#include "formats/perfetto/fields.hpp"

namespace eventide::formats {
namespace {

using json::Kind;
using json::Scanner;
using json::Value;
namespace annotation = fields::annotation;

constexpr size_t max_dict_depth = 100;  // deeper values are written as JSON text
constexpr int max_json_depth = 200;     // of such a text; AnnotationReader has the same limit

// Whether the dict or array at `at` is empty.
bool is_empty(const Scanner& scan) {
    Scanner ahead{scan.at + 1, scan.end};
    return ahead.space() && *ahead.at == (*scan.at == '{' ? '}' : ']');
}

void append_number(Bytes& out, std::string_view text) {
    int64_t integer;
    uint64_t large;
    double real = 0;
    const char *const begin = text.data(), *const end = begin + text.size();
    const auto reads = [&](auto& into) {
        const auto read = std::from_chars(begin, end, into);
        return read.ptr == end && read.ec == std::errc();
    };
    if (reads(integer))
        proto::number(out, annotation::int_value, uint64_t(integer));
    else if (reads(large))
        proto::number(out, annotation::uint_value, large);
    else if (text.find_first_of(".eE") != text.npos && reads(real))
        proto::real(out, annotation::double_value, real);
    else  // beyond 64 bits, or beyond a double
        proto::bytes(out, annotation::legacy_json_value, text);
}

// Only as Python spells them: NaN, Infinity, -Infinity.
bool append_not_a_number(Bytes& out, std::string_view text) {
    const bool negative = text[0] == '-';
    const std::string_view word = text.substr(negative);
    if (word == "NaN")
        proto::real(out, annotation::double_value, std::numeric_limits<double>::quiet_NaN());
    else if (word == "Infinity")
        proto::real(out, annotation::double_value, std::numeric_limits<double>::infinity() * (negative ? -1 : 1));
    else
        return false;
    return true;
}

}  // namespace

uint32_t AnnotationWriter::find(std::string_view name) {
    auto found = keys_.find(name);
    if (found == keys_.end()) {
        found = keys_.emplace(std::string(name), uint32_t(names_.size() + 1)).first;
        names_.push_back(found->first);
        introduced_in_.push_back(0);
        next_.push_back(0);
    }
    return found->second;
}

uint64_t AnnotationWriter::key(std::string_view name) {
    // Events of one kind have the same names in the same order: try the name that followed the last one before.
    uint32_t number = last_ ? next_[last_ - 1] : 0;
    if (!number || names_[number - 1] != name) {
        number = find(name);
        if (last_) next_[last_ - 1] = number;
    }
    last_ = number;
    introduce(number);
    return number;
}

void AnnotationWriter::introduce(uint32_t number) {
    if (introduced_in_[number - 1] == sequence_) return;
    introduced_in_[number - 1] = sequence_;
    fresh_.push_back(number);
}

void AnnotationWriter::append_new_names(Bytes& out) {
    std::string entry;
    for (const uint32_t number : fresh_) {
        entry.clear();
        proto::number(entry, fields::interned_text::iid, number);
        proto::bytes(entry, fields::interned_text::text, names_[number - 1]);
        proto::bytes(out, fields::interned_data::annotation_names, entry);
    }
    fresh_.clear();
}

bool AnnotationWriter::append_members(Bytes& out, uint32_t field, std::string_view object) {
    Scanner scan = padded_.scan(object);
    scan.max_depth = max_json_depth;
    bad_text_ = false;
    const size_t before = out.size();
    if (members(out, field, scan, 0) && !scan.space() && !bad_text_) return true;
    out.cut(before);
    return false;
}

bool AnnotationWriter::append_repeated(Bytes& out, int32_t event_name, std::string_view object) {
    Repeated& like = repeated(event_name);
    const size_t before = out.size();
    const bool same = like.shape.match(object, [&](size_t i, uint64_t bits) {
        const std::string& head = like.heads[i];
        char* const made = out.reserve_tail(32);  // a head has 9 bytes at most, a value 10
        std::memcpy(made, head.data(), head.size());
        const char* const end = put_varint(made + head.size(), bits);
        made[1] = char(end - made - 2);
        out.commit(end);
    });
    if (!same) {
        out.cut(before);
        return false;
    }
    if (like.sequence != sequence_) {
        for (const uint32_t number : like.keys) introduce(number);
        like.sequence = sequence_;
    }
    return true;
}

void AnnotationWriter::remember(uint32_t field, int32_t event_name, std::string_view object) {
    Repeated& like = repeated(event_name);
    if (!like.shape.assign(object)) return;
    like.keys.clear();
    like.heads.clear();
    like.sequence = 0;
    for (const std::string& name : like.shape.names()) {
        like.keys.push_back(find(name));
        std::string& head = like.heads.emplace_back();
        proto::bytes(head, field, {});
        proto::number(head, annotation::name_iid, like.keys.back());
        proto::varint(head, proto::varint_field(annotation::int_value));
    }
}

// Valid until the next call.
std::string_view AnnotationWriter::text_of(const Value& string) {
    bad_text_ |= (string.flags & json::BAD_TEXT) != 0;
    if (!string.flags) return string.inner();
    json::decode(string, decoded_);
    return decoded_;
}

bool AnnotationWriter::members(Bytes& out, uint32_t field, Scanner& scan, size_t depth) {
    if (!scan.expect('{', "") || !scan.space()) return false;
    if (*scan.at == '}') {
        ++scan.at;
        return true;
    }
    for (bool last = false; !last;) {
        if (scratch_.size() <= depth) scratch_.resize(depth + 8);
        Bytes made = std::move(scratch_[depth]);
        made.clear();
        Value name;
        if (!scan.space() || *scan.at != '"' || !scan.string(name) || !scan.expect(':', "")) return false;
        proto::number(made, annotation::name_iid, key(text_of(name)));
        if (!value(made, scan, depth + 1)) return false;
        proto::bytes(out, field, made);
        scratch_[depth] = std::move(made);
        if (!scan.separator('}', last)) return false;
    }
    return true;
}

bool AnnotationWriter::elements(Bytes& out, Scanner& scan, size_t depth) {
    if (!scan.expect('[', "")) return false;
    for (bool last = false; !last;) {
        Bytes made;
        if (!value(made, scan, depth + 1)) return false;
        proto::bytes(out, annotation::array_values, made);
        if (!scan.separator(']', last)) return false;
    }
    return true;
}

bool AnnotationWriter::value(Bytes& out, Scanner& scan, size_t depth) {
    if (!scan.space()) return false;
    const char c = *scan.at;
    if ((c == '{' || c == '[') && depth < max_dict_depth && !is_empty(scan))
        return c == '{' ? members(out, annotation::dict_entries, scan, depth) : elements(out, scan, depth);
    Value read;
    return scan.value(read) && leaf(out, read);
}

bool AnnotationWriter::leaf(Bytes& out, const Value& value) {
    switch (value.kind) {
        case Kind::string:
            proto::bytes(out, annotation::string_value, text_of(value));
            return true;
        case Kind::number:
            append_number(out, value.text());
            return true;
        case Kind::not_a_number:
            return append_not_a_number(out, value.text());
        case Kind::literal:
            if (value.text() != "null") {
                proto::number(out, annotation::bool_value, value.text() == "true");
                return true;
            }
            [[fallthrough]];
        default:  // Perfetto has no null and no empty or very deep dicts and arrays
            bad_text_ |= (value.flags & json::BAD_TEXT) != 0;
            proto::bytes(out, annotation::legacy_json_value, value.text());
            return true;
    }
}

}  // namespace eventide::formats
