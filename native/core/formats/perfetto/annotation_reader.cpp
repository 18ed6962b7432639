#include "formats/perfetto/annotation_reader.hpp"

#include <charconv>
#include <cmath>

#include "encoding/json.hpp"
#include "formats/perfetto/fields.hpp"

namespace eventide::formats {
namespace {

using proto::bytes_field;
using proto::fixed64_field;
using proto::varint_field;
namespace annotation_fields = fields::annotation;

constexpr int max_depth = 100;
constexpr int max_json_text_depth = 200;  // AnnotationWriter writes no deeper text

void append_real(std::string& json, double value) {
    if (std::isnan(value)) {
        json += "NaN";
    } else if (std::isinf(value)) {
        json += value < 0 ? "-Infinity" : "Infinity";
    } else {
        char text[40];
        const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
        const std::string_view written(text, size_t(end - text));
        json += written;
        if (written.find_first_of(".e") == written.npos) json += ".0";  // as Python writes a float
    }
}

}  // namespace

std::string_view AnnotationReader::text(const Sequence::Names& names, uint64_t iid) {
    const auto found = names.find(iid);
    if (found == names.end()) return {};
    const std::string_view text = texts_[found->second];
    if (text.size() > text_budget_) {
        ++left_out_;
        return {};
    }
    text_budget_ -= text.size();
    return text;
}

std::string_view AnnotationReader::name(std::string_view annotation) {
    for (proto::Fields f(annotation); f.next();) {
        if (f.tag == varint_field(annotation_fields::name_iid)) return text(sequence_.annotation_names, f.value);
        if (f.tag == bytes_field(annotation_fields::name)) return f.text;
    }
    return {};
}

void AnnotationReader::append_member(std::string& json, std::string_view annotation, EventideFields* own) {
    const std::string_view called = name(annotation);
    if (own && called == "eventide") return read_own(annotation, *own);
    if (!json.empty()) json += ", ";
    json::quote(json, called);
    json += ": ";
    append_value(json, annotation, 0);
}

void AnnotationReader::read_own(std::string_view annotation, EventideFields& own) {
    for (proto::Fields f(annotation); f.next();) {
        if (f.tag != bytes_field(annotation_fields::dict_entries)) continue;
        const std::string_view called = name(f.text);
        int64_t* const into = called == "queued_ns"     ? &own.queued
                              : called == "cpu_ns"      ? &own.cpu
                              : called == "work"        ? &own.work
                              : called == "correlation" ? &own.correlation
                              : called == "stack"       ? &own.stack
                                                        : nullptr;
        const bool is_outcome = called == "outcome", is_args = called == "args";
        bool is_text = false;
        for (proto::Fields v(f.text); v.next();) {
            if (into && v.tag == varint_field(annotation_fields::int_value)) *into = int64_t(v.value);
            if (is_outcome && v.tag == varint_field(annotation_fields::string_value_iid))
                own.outcome = texts_.intern(text(sequence_.strings, v.value));
            if (is_args && v.tag == bytes_field(annotation_fields::string_value)) own.args = v.text, is_text = true;
        }
        if (is_args && !is_text) {
            own.args.clear();
            append_value(own.args, f.text, 0);
            if (own.args == "null") own.args = "{}";
        }
    }
}

// An annotation has one value, or the members of one dict or array. A damaged file may have more: the last is used.
void AnnotationReader::append_value(std::string& json, std::string_view annotation, int depth) {
    char close = 0;  // of a dict or an array that has been opened
    const size_t before = json.size();
    for (proto::Fields f(annotation); f.next();) {
        const bool dict = f.tag == bytes_field(annotation_fields::dict_entries);
        if (!dict && f.tag != bytes_field(annotation_fields::array_values)) {
            const size_t end = json.size();
            if (!append_scalar(json, f)) continue;
            json.erase(before, end - before);
            close = 0;
        } else if (depth <= max_depth) {
            const char closes = dict ? '}' : ']';
            if (close != closes) json.resize(before);
            json += close == closes ? ", " : dict ? "{" : "[";
            close = closes;
            if (dict) {
                json::quote(json, name(f.text));
                json += ": ";
            }
            append_value(json, f.text, depth + 1);
        }
    }
    if (close) json += close;
    if (json.size() == before) json += "null";
}

// False where the field is not a value; nothing is appended then.
bool AnnotationReader::append_scalar(std::string& json, const proto::Fields& f) {
    switch (f.tag) {
        case varint_field(annotation_fields::bool_value):
            json += f.value ? "true" : "false";
            return true;
        case varint_field(annotation_fields::uint_value):
        case varint_field(annotation_fields::pointer_value):
            json += std::to_string(f.value);
            return true;
        case varint_field(annotation_fields::int_value):
            json += std::to_string(int64_t(f.value));
            return true;
        case fixed64_field(annotation_fields::double_value):
            append_real(json, f.real());
            return true;
        case bytes_field(annotation_fields::string_value):
            json::quote(json, f.text);
            return true;
        case varint_field(annotation_fields::string_value_iid):
            json::quote(json, text(sequence_.strings, f.value));
            return true;
        case bytes_field(annotation_fields::legacy_json_value):
            append_json(json, f.text);
            return true;
        default:
            return false;
    }
}

// The text itself where it is JSON, else as a string.
void AnnotationReader::append_json(std::string& json, std::string_view text) {
    json::Scanner scan = padded_.scan(text);
    scan.max_depth = max_json_text_depth;
    json::Value value;
    const bool is_json = scan.value(value) && !scan.space() && !(value.flags & (json::BAD_TEXT | json::NOT_A_NUMBER));
    if (is_json)
        json += value.text();
    else
        json::quote(json, text);
}

}  // namespace eventide::formats
