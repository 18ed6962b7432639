#include "encoding/json_text.hpp"

#include <cstring>

#include "encoding/json.hpp"
#include "encoding/utf8.hpp"

namespace eventide::json {
namespace {

// Appends the character of the escape at p (a backslash) and returns the byte behind it.
const char* decode_escape(std::string& out, const char* p, const char* end) {
    static constexpr char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char* known = p + 1 < end && p[1] ? std::strchr(from, p[1]) : nullptr;
    if (known) {
        out += to[known - from];
        return p + 2;
    }
    const int unit = p + 1 < end && p[1] == 'u' ? hex4(p + 2) : -1;
    if (unit < 0) {
        out += '\\';
        return p + 1;
    }
    if (unit >= 0xD800 && unit < 0xDC00 && p[6] == '\\' && p[7] == 'u') {
        const int low = hex4(p + 8);
        if (low >= 0xDC00 && low < 0xE000) {
            append_utf8(out, 0x10000u + (uint32_t(unit - 0xD800) << 10) + uint32_t(low - 0xDC00));
            return p + 12;
        }
    }
    append_utf8(out, unit >= 0xD800 && unit < 0xE000 ? replacement_character : uint32_t(unit));
    return p + 6;
}

}  // namespace

void decode(const Value& string, std::string& out) {
    out.clear();
    const char* p = string.begin + 1;
    const char* end = string.end - 1;
    out.reserve(size_t(end - p));
    while (p < end) {
        if (*p == '\\') {
            p = decode_escape(out, p, end);
        } else if (uint8_t(*p) < 0x80) {
            const char* const run = p;
            while (p < end && *p != '\\' && uint8_t(*p) < 0x80) ++p;
            out.append(run, size_t(p - run));
        } else if (const int length = utf8_length(p, end)) {
            out.append(p, size_t(length));
            p += length;
        } else {
            append_utf8(out, replacement_character);
            ++p;
        }
    }
}

std::string decode(const Value& string) {
    std::string out;
    decode(string, out);
    return out;
}

std::string clean(const Value& value) {
    std::string out;
    Scanner scan{value.begin, value.end + 1};  // one byte more: a number is complete when the next byte is visible
    while (scan.at < value.end) {
        const char c = *scan.at;
        Value leaf;
        if (c == '"') {
            scan.string(leaf);
            quote(out, decode(leaf));
        } else if (std::strchr("{}[],: \t\r\n", c) && c) {
            out += c;
            ++scan.at;
        } else {
            scan.value(leaf);
            const bool usable = leaf.kind != Kind::not_a_number && !(leaf.flags & DIRTY);
            out.append(usable ? leaf.text() : std::string_view("null"));
        }
    }
    return out;
}

}  // namespace eventide::json
