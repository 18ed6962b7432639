// Writing protobuf's wire format: a tag, then a varint, eight bytes, or a length and bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace eventide::proto {

inline void varint(std::string& out, uint64_t value) {
    char bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) bytes[n++] = char(value | 0x80);
    bytes[n++] = char(value);
    out.append(bytes, n);
}

inline void number(std::string& out, uint32_t field, uint64_t value) {
    varint(out, uint64_t(field) << 3);
    varint(out, value);
}

inline void fixed64(std::string& out, uint32_t field, uint64_t value) {
    varint(out, uint64_t(field) << 3 | 1);
    char bytes[8];
    std::memcpy(bytes, &value, 8);  // both architectures that we build for are little-endian
    out.append(bytes, 8);
}

inline void real(std::string& out, uint32_t field, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    fixed64(out, field, bits);
}

inline void bytes(std::string& out, uint32_t field, std::string_view value) {
    varint(out, uint64_t(field) << 3 | 2);
    varint(out, value.size());
    out.append(value);
}

}  // namespace eventide::proto
