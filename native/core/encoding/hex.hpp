// Bytes as hexadecimal digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace eventide {

inline std::string hex(const uint8_t* bytes, size_t count) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (size_t i = 0; i < count; ++i) {
        out += digits[bytes[i] >> 4];
        out += digits[bytes[i] & 15];
    }
    return out;
}

}  // namespace eventide
