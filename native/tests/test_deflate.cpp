// Deflated bytes inflate to the original. The inflater here supports fixed codes only and reads bit by bit.
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "encoding/deflate.hpp"

using namespace eventide;

namespace {

class Bits {
  public:
    explicit Bits(std::string_view data) : data_(data) {}
    unsigned bit() {
        CHECK(at_ / 8 < data_.size());
        const unsigned value = static_cast<unsigned char>(data_[at_ / 8]) >> at_ % 8 & 1;
        ++at_;
        return value;
    }
    unsigned number(unsigned size) {
        unsigned value = 0;
        for (unsigned i = 0; i < size; ++i) value |= bit() << i;
        return value;
    }
    unsigned code(unsigned size, unsigned begun = 0) {
        for (unsigned i = 0; i < size; ++i) begun = begun << 1 | bit();
        return begun;
    }
    unsigned symbol() {  // RFC 1951, 3.2.6
        unsigned value = code(7);
        if (value <= 23) return 256 + value;
        value = code(1, value);
        if (value >= 0x30 && value <= 0xBF) return value - 0x30;
        if (value >= 0xC0 && value <= 0xC7) return 280 + value - 0xC0;
        return code(1, value) - 0x190 + 144;
    }

  private:
    std::string_view data_;
    size_t at_ = 0;
};

constexpr unsigned length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr unsigned length_rest[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                    2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

std::string inflated(std::string_view stream) {
    CHECK(stream.substr(0, 2) == "\x78\x01" && stream.size() >= 8);
    Bits bits(stream.substr(2, stream.size() - 6));
    CHECK(bits.number(3) == 3);
    std::string out;
    for (unsigned symbol; (symbol = bits.symbol()) != 256;) {
        if (symbol < 256) {
            out.push_back(char(symbol));
            continue;
        }
        const unsigned length = length_base[symbol - 257] + bits.number(length_rest[symbol - 257]);
        const unsigned code = bits.code(5), rest = code < 2 ? 0 : code / 2 - 1;
        const unsigned distance = 1 + (code < 2 ? code : ((2 + code % 2) << rest) + bits.number(rest));
        CHECK(distance <= out.size() && distance <= 32'768);
        for (unsigned i = 0; i < length; ++i) out.push_back(out[out.size() - distance]);
    }
    unsigned low = 1, high = 0;
    for (const char c : out) {
        low = (low + static_cast<unsigned char>(c)) % 65'521;
        high = (high + low) % 65'521;
    }
    unsigned sum = 0;
    for (const char c : stream.substr(stream.size() - 4)) sum = sum << 8 | static_cast<unsigned char>(c);
    CHECK(sum == (high << 16 | low));
    return out;
}

std::string deflated(std::string_view text) {
    const std::vector<char> exact(text.begin(),
                                  text.end());  // an exact copy, so that a sanitizer finds a read behind it
    Bytes out;
    deflate(out, {exact.data(), exact.size()});
    return std::string(std::string_view(out));
}

}  // namespace

TEST(empty_and_short_texts_are_restored) {
    for (size_t size = 0; size < 40; ++size)
        for (const char c : {'\0', 'a', '\xFF'})
            CHECK(inflated(deflated(std::string(size, c))) == std::string(size, c));
}

TEST(random_bytes_are_restored_and_grow_by_an_eighth_at_most) {
    std::mt19937_64 random(1);
    for (size_t size = 1; size < 200'000; size = size * 3 + 1) {
        std::string text(size, '\0');
        for (char& c : text) c = char(random());
        const std::string stream = deflated(text);
        CHECK(inflated(stream) == text && stream.size() <= size + size / 8 + 16);
    }
}

TEST(repetitions_at_any_distance_are_restored_and_small) {
    std::mt19937_64 random(2);
    for (size_t period : {1u, 2u, 3u, 4u, 5u, 61u, 257u, 4'000u, 32'767u, 32'768u, 32'769u, 40'000u}) {
        std::string text(period, '\0');
        for (char& c : text) c = char(random());
        while (text.size() < 150'000) text += text.substr(0, period);
        const std::string stream = deflated(text);
        CHECK(inflated(stream) == text);
        if (period <= 257) CHECK(stream.size() < text.size() / 50);
    }
}

TEST(packets_that_differ_in_a_few_bytes_are_restored) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 30; ++round) {
        std::string text, packet(20 + random() % 80, 'p');
        for (char& c : packet) c = char(random());
        while (text.size() < 70'000) {
            for (size_t i = 0; i < random() % 4; ++i) packet[random() % packet.size()] = char(random());
            text += packet;
        }
        CHECK(inflated(deflated(text)) == text);
    }
}

MAIN
