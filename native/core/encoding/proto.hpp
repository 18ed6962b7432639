// Writes and reads protobuf's wire format: a tag, then a varint, 8 bytes, 4 bytes, or a length and bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "encoding/varint.hpp"

namespace eventide::proto {

// Out: std::string, Bytes, or another class with push_back and append.

template <class Out>
void varint(Out& out, uint64_t value) {
    if (value < 0x80) {
        out.push_back(char(value));
        return;
    }
    char bytes[longest_varint];
    out.append(bytes, size_t(put_varint(bytes, value) - bytes));
}

template <class Out>
void number(Out& out, uint32_t field, uint64_t value) {
    varint(out, uint64_t(field) << 3);
    varint(out, value);
}

template <class Out>
void fixed64(Out& out, uint32_t field, uint64_t value) {
    varint(out, uint64_t(field) << 3 | 1);
    char bytes[8];
    std::memcpy(bytes, &value, 8);  // both architectures that we build for are little-endian
    out.append(bytes, 8);
}

template <class Out>
void real(Out& out, uint32_t field, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    fixed64(out, field, bits);
}

template <class Out>
void bytes(Out& out, uint32_t field, std::string_view value) {
    varint(out, uint64_t(field) << 3 | 2);
    varint(out, value.size());
    out.append(value);
}

// A field's tag: number and wire type. A reader compares tags, so that a field of another type is unknown to it rather
// than a zero.
constexpr uint32_t varint_field(uint32_t number) {
    return number << 3;
}
constexpr uint32_t fixed64_field(uint32_t number) {
    return number << 3 | 1;
}
constexpr uint32_t bytes_field(uint32_t number) {
    return number << 3 | 2;
}

// Iterates over the fields of a message; stops at the first invalid byte.
class Fields {
  public:
    explicit Fields(std::string_view message) : at_(message.data()), end_(at_ + message.size()) {}

    bool next() {
        uint64_t read_tag;
        if (at_ == end_ || !read(read_tag) || read_tag > UINT32_MAX || read_tag < 8) return false;
        tag = uint32_t(read_tag);
        text = {};
        value = 0;
        switch (tag & 7) {
            case 0:
                return read(value);
            case 1:
                return fixed(8);
            case 5:
                return fixed(4);
            case 2: {
                uint64_t size;
                if (!read(size) || size > uint64_t(end_ - at_)) return false;
                text = {at_, size_t(size)};
                at_ += size;
                return true;
            }
            default:
                return false;
        }
    }
    double real() const {
        double out;
        std::memcpy(&out, &value, 8);
        return out;
    }
    const char* at() const { return at_; }

    uint32_t number() const { return tag >> 3; }

    uint32_t tag = 0;
    uint64_t value = 0;     // of a varint or a fixed-size field
    std::string_view text;  // of a field with a length

  private:
    bool read(uint64_t& out) { return get_varint(at_, end_, out); }
    bool fixed(size_t size) {
        if (size_t(end_ - at_) < size) return false;
        std::memcpy(&value, at_, size);
        at_ += size;
        return true;
    }

    const char* at_;
    const char* end_;
};

}  // namespace eventide::proto
