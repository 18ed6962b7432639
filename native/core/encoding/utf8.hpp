// UTF-8, and the four hexadecimal digits of a JSON escape.
#pragma once

#include <cstdint>
#include <string>

namespace eventide {

inline constexpr uint32_t replacement_character = 0xFFFD;

// The length of the valid non-ASCII sequence at p, or 0. Surrogates and overlong forms are invalid.
inline int utf8_length(const char* p, const char* end) {
    const auto byte = [&](int i) { return p + i < end ? uint8_t(p[i]) : uint8_t(0); };
    const auto follows = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
    const uint8_t lead = byte(0);
    if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
        return follows(1) && follows(2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
        return follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

inline void append_utf8(std::string& out, uint32_t code) {
    if (code < 0x80) {
        out += char(code);
    } else if (code < 0x800) {
        out += {char(0xC0 | (code >> 6)), char(0x80 | (code & 0x3F))};
    } else if (code < 0x10000) {
        out += {char(0xE0 | (code >> 12)), char(0x80 | ((code >> 6) & 0x3F)), char(0x80 | (code & 0x3F))};
    } else {
        out += {char(0xF0 | (code >> 18)), char(0x80 | ((code >> 12) & 0x3F)), char(0x80 | ((code >> 6) & 0x3F)),
                char(0x80 | (code & 0x3F))};
    }
}

// The value of four hexadecimal digits, or -1; reads no further than the first other character.
inline int hex4(const char* p) {
    int value = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = p[i];
        const int digit = c >= '0' && c <= '9'                     ? c - '0'
                          : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                   : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

}  // namespace eventide
