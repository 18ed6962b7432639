#include "formats/perfetto/pftrace_sequence.hpp"

#include <charconv>
#include <cmath>

#include "encoding/json_cursor.hpp"

namespace eventide::trace {
namespace {

constexpr int deepest = 100;

void real(std::string& json, double value) {
    if (std::isnan(value)) {
        json += "NaN";
    } else if (std::isinf(value)) {
        json += value < 0 ? "-Infinity" : "Infinity";
    } else {
        char text[40];
        const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
        const std::string_view written(text, size_t(end - text));
        json += written;
        if (written.find_first_of(".e") == written.npos) json += ".0";  // as Python: a real number looks like one
    }
}

}  // namespace

void Clocks::snapshot(std::string_view data, uint32_t sequence) {
    struct Reading {
        uint64_t id = 0;
        int64_t time = 0, unit = 1;
        bool incremental = false;
    };
    std::vector<Reading> readings;
    const Reading* reference = nullptr;
    for (proto::Fields f(data); f.next();) {
        if (f.tag != proto::bytes_field(1)) continue;
        Reading r;
        for (proto::Fields c(f.text); c.next();) {
            if (c.tag == proto::varint_field(1)) r.id = c.value;
            if (c.tag == proto::varint_field(2)) r.time = int64_t(c.value);
            if (c.tag == proto::varint_field(3)) r.incremental = c.value;
            if (c.tag == proto::varint_field(4) && c.value) r.unit = int64_t(c.value);
        }
        readings.push_back(r);
    }
    for (const Reading& r : readings)
        if (r.id == boottime || (!reference && r.id < 64)) reference = &r;
    for (const Reading& r : readings) {
        Clock& clock = clocks_[key(r.id, sequence)];
        clock.last = int64_t(uint64_t(r.time) * uint64_t(r.unit));
        clock.unit = r.unit;
        clock.incremental = r.incremental;
        if (reference) clock.offset = int64_t(uint64_t(reference->time) - uint64_t(clock.last));
    }
}

int64_t Clocks::resolve(uint64_t clock, uint32_t sequence, uint64_t value) {
    const auto found = clocks_.find(key(clock, sequence));
    if (found == clocks_.end()) return int64_t(value);
    Clock& c = found->second;
    uint64_t now = value * uint64_t(c.unit);
    if (c.incremental) now += uint64_t(c.last);
    c.last = int64_t(now);
    return int64_t(now + uint64_t(c.offset));
}

void Sequence::interned(std::string_view data, TextTable& texts) {
    for (proto::Fields f(data); f.next();) {
        Names* const into = f.tag == proto::bytes_field(1)    ? &categories
                            : f.tag == proto::bytes_field(2)  ? &names
                            : f.tag == proto::bytes_field(3)  ? &annotation_names
                            : f.tag == proto::bytes_field(29) ? &strings
                                                              : nullptr;
        if (!into) continue;
        uint64_t iid = 0;
        std::string_view name;
        for (proto::Fields entry(f.text); entry.next();) {
            if (entry.tag == proto::varint_field(1)) iid = entry.value;
            if (entry.tag == proto::bytes_field(2)) name = entry.text;
        }
        (*into)[iid] = texts.intern(name);
    }
}

void Sequence::defaults(std::string_view data) {
    default_clock = 0;
    has_default_track = false;
    extra_counters.clear();
    extra_double_counters.clear();
    for (proto::Fields f(data); f.next();) {
        if (f.tag == proto::varint_field(58)) default_clock = f.value;
        if (f.tag != proto::bytes_field(11)) continue;
        for (proto::Fields e(f.text); e.next();) {
            if (e.tag == proto::varint_field(11)) default_track = e.value, has_default_track = true;
            if (e.tag == proto::varint_field(31)) extra_counters.push_back(e.value);
            if (e.tag == proto::varint_field(45)) extra_double_counters.push_back(e.value);
        }
    }
}

std::string_view AnnotationReader::text(const Sequence::Names& names, uint64_t iid) {
    const auto found = names.find(iid);
    if (found == names.end()) return {};
    const std::string_view text = texts_[found->second];
    if (text.size() > room_) {
        ++left_out_;
        return {};
    }
    room_ -= text.size();
    return text;
}

std::string_view AnnotationReader::name(std::string_view annotation) {
    for (proto::Fields f(annotation); f.next();) {
        if (f.tag == proto::varint_field(1)) return text(sequence_.annotation_names, f.value);
        if (f.tag == proto::bytes_field(10)) return f.text;
    }
    return {};
}

void AnnotationReader::member(std::string& json, std::string_view annotation, Own* own) {
    const std::string_view called = name(annotation);
    if (own && called == "eventide") return take_own(annotation, *own);
    if (!json.empty()) json += ", ";
    json::quote(json, called);
    json += ": ";
    value(json, annotation, 0);
}

void AnnotationReader::take_own(std::string_view annotation, Own& own) {
    for (proto::Fields f(annotation); f.next();) {
        if (f.tag != proto::bytes_field(11)) continue;
        const std::string_view called = name(f.text);
        int64_t* const into = called == "queued_ns"     ? &own.queued
                              : called == "cpu_ns"      ? &own.cpu
                              : called == "work"        ? &own.work
                              : called == "correlation" ? &own.correlation
                              : called == "stack"       ? &own.stack
                                                        : nullptr;
        bool is_text = false;
        for (proto::Fields v(f.text); v.next();) {
            if (into && v.tag == proto::varint_field(4)) *into = int64_t(v.value);
            if (called == "outcome" && v.tag == proto::varint_field(17))
                own.outcome = texts_.intern(text(sequence_.strings, v.value));
            if (called == "args" && v.tag == proto::bytes_field(6)) own.args = v.text, is_text = true;
        }
        if (called == "args" && !is_text) {
            own.args.clear();
            value(own.args, f.text, 0);
            if (own.args == "null") own.args = "{}";
        }
    }
}

// A writer gives one value, or the members of one dict or array. Where a damaged file has more, the last one counts.
void AnnotationReader::value(std::string& json, std::string_view annotation, int depth) {
    char close = 0;  // of a dict or an array that has been opened
    const size_t before = json.size();
    for (proto::Fields f(annotation); f.next();) {
        const bool dict = f.tag == proto::bytes_field(11);
        if (!dict && f.tag != proto::bytes_field(12)) {
            const size_t end = json.size();
            if (!scalar(json, f)) continue;
            json.erase(before, end - before);
            close = 0;
        } else if (depth <= deepest) {
            const char closes = dict ? '}' : ']';
            if (close != closes) json.resize(before);
            json += close == closes ? ", " : dict ? "{" : "[";
            close = closes;
            if (dict) {
                json::quote(json, name(f.text));
                json += ": ";
            }
            value(json, f.text, depth + 1);
        }
    }
    if (close) json += close;
    if (json.size() == before) json += "null";
}

// Whether the field is a value, which is then appended.
bool AnnotationReader::scalar(std::string& json, const proto::Fields& f) {
    switch (f.tag) {
        case proto::varint_field(2):
            json += f.value ? "true" : "false";
            return true;
        case proto::varint_field(3):
        case proto::varint_field(7):
            json += std::to_string(f.value);
            return true;
        case proto::varint_field(4):
            json += std::to_string(int64_t(f.value));
            return true;
        case proto::fixed64_field(5):
            real(json, f.real());
            return true;
        case proto::bytes_field(6):
            json::quote(json, f.text);
            return true;
        case proto::varint_field(17):
            json::quote(json, text(sequence_.strings, f.value));
            return true;
        case proto::bytes_field(9): {
            json::Cursor cursor(f.text);
            const std::string_view whole = cursor.skip();
            if (!whole.empty() && cursor.peek() == '\0')
                json += whole;
            else
                json::quote(json, f.text);
            return true;
        }
        default:
            return false;
    }
}

}  // namespace eventide::trace
