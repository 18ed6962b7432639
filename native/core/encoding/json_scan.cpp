#include "encoding/json_scan.hpp"

#include <bitset>
#include <cstring>

#include "encoding/utf8.hpp"

namespace eventide::json {
namespace {

constexpr uint64_t ONES = 0x0101010101010101ull;
constexpr uint64_t HIGH = 0x8080808080808080ull;

uint64_t load(const char* p) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

uint64_t has_zero(uint64_t v) {
    return (v - ONES) & ~v & HIGH;
}

// Nonzero if one of eight bytes is a quote, a backslash, a control character or beyond ASCII. Bits behind the first
// such byte may be wrong; the caller checks each byte from there.
uint64_t special(uint64_t v) {
    return has_zero(v ^ (ONES * '"')) | has_zero(v ^ (ONES * '\\')) | ((v - ONES * 0x20) & HIGH) | (v & HIGH);
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

bool Scanner::string(Value& out) {
    out = {.begin = at, .kind = Kind::string};
    ++at;
    for (;;) {
        while (at < end && !special(load(at))) at += 8;
        while (at < end && *at != '"' && *at != '\\' && uint8_t(*at) >= 0x20 && uint8_t(*at) < 0x80) ++at;
        if (at >= end) {
            at = end;
            return more();
        }
        if (*at == '"') break;
        if (*at == '\\') {
            if (!escape(out.flags)) return false;
        } else if (uint8_t(*at) < 0x20) {
            out.flags |= BAD_TEXT;
            ++at;
        } else if (!high_bytes(out.flags)) {
            return false;
        }
    }
    out.end = ++at;
    return true;
}

// One escape, or both of a surrogate pair. An unknown escape stays in the text and sets a flag.
bool Scanner::escape(uint8_t& flags) {
    flags |= ESCAPED;
    if (end - at < 2) return more();
    if (at[1] != 'u') {
        if (!std::strchr("\"\\/bfnrt", at[1]) || !at[1]) flags |= BAD_TEXT;
        at += at[1] == '\0' || uint8_t(at[1]) >= 0x80 ? 1 : 2;  // a byte that cannot be part of an escape is read next
        return true;
    }
    if (end - at < 12 && !std::memchr(at, '"', size_t(end - at))) return more();
    const int unit = hex4(at + 2);
    if (unit < 0 || (unit >= 0xDC00 && unit < 0xE000)) {
        flags |= unit < 0 ? BAD_TEXT : NOT_PORTABLE;
        at += unit < 0 ? 2 : 6;
    } else if (unit >= 0xD800 && unit < 0xDC00) {
        const int low = at[6] == '\\' && at[7] == 'u' ? hex4(at + 8) : -1;
        const bool pair = low >= 0xDC00 && low < 0xE000;
        if (!pair) flags |= NOT_PORTABLE;
        at += pair ? 12 : 6;
    } else {
        at += 6;
    }
    return true;
}

bool Scanner::high_bytes(uint8_t& flags) {
    while (at < end && uint8_t(*at) >= 0x80) {
        if (const int length = utf8_length(at, end)) {
            at += length;
        } else {
            if (end - at < 4 && !std::memchr(at, '"', size_t(end - at))) return more();
            flags |= BAD_TEXT;
            ++at;
        }
    }
    return true;
}

bool Scanner::number(Value& out) {
    out = {.begin = at, .kind = Kind::number};
    if (*at == '-') ++at;
    if (at < end && (*at == 'n' || *at == 'N' || *at == 'i' || *at == 'I')) {
        const char* begin = out.begin;
        if (!word(out)) return false;
        out.begin = begin;
        return true;
    }
    const char* digits = at;
    while (at < end && is_digit(*at)) ++at;
    if (at < end && (at == digits || (*digits == '0' && at - digits > 1))) return fail("not a number");
    if (at < end && *at == '.') {
        const char* fraction = ++at;
        while (at < end && is_digit(*at)) ++at;
        if (at < end && at == fraction) return fail("a number without digits after its point");
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        ++at;
        if (at < end && (*at == '+' || *at == '-')) ++at;
        const char* exponent = at;
        while (at < end && is_digit(*at)) ++at;
        if (at < end && at == exponent) return fail("a number without digits in its exponent");
    }
    if (at >= end) return more();
    if (size_t(at - out.begin) > MAX_NUMBER) out.flags |= NOT_PORTABLE;
    out.end = at;
    return true;
}

// true, false, null, and the spellings of NaN and infinity by printf, Python and JavaScript.
bool Scanner::word(Value& out) {
    out = {.begin = at, .kind = Kind::literal};
    while (at < end && at - out.begin < 16 && ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z')) ++at;
    if (at >= end) return more();
    const std::string_view text(out.begin, size_t(at - out.begin));
    out.end = at;
    if (text == "true" || text == "false" || text == "null") return true;
    for (const std::string_view known : {"NaN", "nan", "Infinity", "inf", "Inf", "INF", "NAN", "infinity"}) {
        if (text != known) continue;
        out.kind = Kind::not_a_number;
        out.flags = NOT_A_NUMBER;
        return true;
    }
    at = out.begin;
    return fail("expected a value");
}

bool Scanner::scalar(Value& out) {
    if (*at == '"') return string(out);
    if (is_digit(*at) || *at == '-') return number(out);
    return word(out);
}

bool Scanner::key_and_colon(uint8_t& flags) {
    Value key;
    if (!space()) return false;
    if (*at != '"') return fail("expected a key in quotes");
    if (!string(key)) return false;
    flags |= key.flags;
    return expect(':', "expected : after a key");
}

// Objects and arrays, without recursion: one bit per level for which of the two it is.
bool Scanner::nested(Value& out) {
    std::bitset<MAX_DEPTH> objects;
    int depth = 0;
    out = {.begin = at, .kind = *at == '{' ? Kind::object : Kind::array};
    for (;;) {
        if (*at == '{' || *at == '[') {  // `at` is at the first byte of a value
            if (depth == max_depth) return fail("nested deeper than 400 levels");
            const bool object = *at++ == '{';
            objects[size_t(depth++)] = object;
            if (!space()) return false;
            if (*at != (object ? '}' : ']')) {
                if (object && !key_and_colon(out.flags)) return false;
                if (!space()) return false;
                continue;
            }
            ++at;
            --depth;
        } else {
            Value leaf;
            if (!scalar(leaf)) return false;
            out.flags |= leaf.flags;
        }
        for (bool last = true; last;) {  // close what ends here
            if (depth == 0) {
                out.end = at;
                return true;
            }
            const bool object = objects[size_t(depth - 1)];
            if (!separator(object ? '}' : ']', last)) return false;
            if (last) {
                --depth;
            } else if (object && !key_and_colon(out.flags)) {
                return false;
            }
        }
        if (!space()) return false;
    }
}

bool Scanner::value(Value& out) {
    if (!space()) return false;
    return *at == '{' || *at == '[' ? nested(out) : scalar(out);
}

}  // namespace eventide::json
