#include "encoding/deflate.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace eventide {
namespace {

constexpr size_t farthest = 32'768, longest = 258, shortest = 4;  // of a match: distance, bytes
constexpr unsigned hash_bits = 12;

struct Code {
    uint32_t bits = 0;  // the lowest is written first
    uint32_t size = 0;
};

constexpr uint32_t reversed(uint32_t bits, uint32_t size) {
    uint32_t out = 0;
    for (uint32_t i = 0; i < size; ++i) out |= (bits >> i & 1) << (size - 1 - i);
    return out;
}

// The fixed code of a byte, of the end of a block (256) and of a match's length (257 and up).
constexpr Code symbol(uint32_t number) {
    if (number < 144) return {reversed(0x30 + number, 8), 8};
    if (number < 256) return {reversed(0x190 + number - 144, 9), 9};
    if (number < 280) return {reversed(number - 256, 7), 7};
    return {reversed(0xC0 + number - 280, 8), 8};
}

// A length or a distance is a code for its highest bits, followed by the other bits.
constexpr Code with_rest(Code code, uint32_t value, uint32_t rest) {
    return {code.bits | (value & ((1U << rest) - 1)) << code.size, code.size + rest};
}

constexpr Code length_code(uint32_t length) {
    if (length == longest) return symbol(285);
    const uint32_t value = length - 3;
    if (value < 8) return symbol(257 + value);
    const uint32_t rest = uint32_t(std::bit_width(value)) - 3;
    return with_rest(symbol(257 + 4 * (rest + 1) + (value >> rest & 3)), value, rest);
}

constexpr auto literals = [] {
    std::array<Code, 256> all;
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = symbol(i);
    return all;
}();
constexpr auto lengths = [] {
    std::array<Code, longest + 1> all;
    for (uint32_t i = shortest; i < all.size(); ++i) all[i] = length_code(i);
    return all;
}();
constexpr auto distances = [] {
    std::array<Code, 30> all;
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = {reversed(i, 5), 5};
    return all;
}();

Code distance_code(uint32_t distance) {
    const uint32_t value = distance - 1;
    if (value < 4) return distances[value];
    const uint32_t rest = uint32_t(std::bit_width(value)) - 2;
    return with_rest(distances[2 * (rest + 1) + (value >> rest & 1)], value, rest);
}

template <class T>
T load_bytes(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

class BitWriter {
  public:
    explicit BitWriter(char* at) : at_(at) {}
    // Stores eight bytes each time; the next call overwrites those that are not complete.
    void put(Code code) {
        bits_ |= uint64_t(code.bits) << size_;
        size_ += code.size;
        std::memcpy(at_, &bits_, 8);  // both architectures that we build for are little-endian
        at_ += size_ >> 3;
        bits_ >>= size_ & ~7U;
        size_ &= 7;
    }
    char* end() const { return at_ + (size_ > 0); }

  private:
    char* at_;
    uint64_t bits_ = 0;
    uint32_t size_ = 0;
};

size_t common(const char* a, const char* b, size_t most) {
    size_t same = 0;
    for (; same + 8 <= most; same += 8)
        if (const uint64_t differ = load_bytes<uint64_t>(a + same) ^ load_bytes<uint64_t>(b + same))
            return same + size_t(std::countr_zero(differ)) / 8;
    while (same < most && a[same] == b[same]) ++same;
    return same;
}

void matches(BitWriter& out, std::string_view data) {
    std::vector<uint32_t> newest(size_t(1) << hash_bits, 0);  // the last position of four bytes with this hash
    const char* const text = data.data();
    const size_t size = data.size();
    size_t at = 0;
    const auto literal = [&] { out.put(literals[uint8_t(text[at++])]); };
    if (size) literal();  // so that position 0 in `newest` is always before `at`
    while (at + shortest <= size) {
        const auto four = load_bytes<uint32_t>(text + at);
        uint32_t& known = newest[four * 2'654'435'761U >> (32 - hash_bits)];
        const size_t from = known;
        known = uint32_t(at);
        if (at - from > farthest || load_bytes<uint32_t>(text + from) != four) {
            literal();
            continue;
        }
        const size_t most = std::min(longest, size - at) - shortest;
        const size_t length = shortest + common(text + at + shortest, text + from + shortest, most);
        const Code first = lengths[length], second = distance_code(uint32_t(at - from));
        out.put({first.bits | second.bits << first.size, first.size + second.size});
        at += length;
    }
    while (at < size) literal();
}

// The checksum of RFC 1950, 32 bytes at a time so that the compiler vectorizes it.
uint32_t adler32(std::string_view data) {
    constexpr uint32_t prime = 65'521;
    constexpr size_t width = 32, most = 5'536;  // bytes before a sum could overflow: a multiple of the width
    uint32_t low = 1, high = 0;
    const auto* at = reinterpret_cast<const uint8_t*>(data.data());
    for (size_t left = data.size(); left;) {
        size_t part = std::min(left, most);
        left -= part;
        for (; part >= width; part -= width, at += width) {
            uint32_t sum = 0, weighted = 0;
            for (uint32_t i = 0; i < width; ++i) {
                sum += at[i];
                weighted += (width - i) * at[i];
            }
            high += width * low + weighted;
            low += sum;
        }
        for (; part; --part) high += low += *at++;
        low %= prime;
        high %= prime;
    }
    return high << 16 | low;
}

}  // namespace

void deflate(Bytes& out, std::string_view data) {
    out.append("\x78\x01", 2);
    BitWriter bits(out.reserve_tail(data.size() + data.size() / 8 + 32));  // a byte takes nine bits at most
    bits.put({0b011, 3});                                                  // the last block, of fixed codes
    matches(bits, data);
    bits.put(symbol(256));
    out.commit(bits.end());
    const uint32_t sum = adler32(data);
    for (const int shift : {24, 16, 8, 0}) out.push_back(char(sum >> shift));
}

}  // namespace eventide
