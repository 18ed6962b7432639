#include "tracefile/codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "encoding/varint.hpp"

namespace eventide::tracefile {
namespace {

constexpr uint8_t with_payload = 16, with_name = 32, with_a = 64, with_b = 128;
constexpr size_t smallest_record = 2;  // bytes: its tag and its stamp

// The state from which both sides predict the next record.
struct Expected {
    uint64_t stamp = 0;
    int64_t time = 0;
    uint64_t span = 0;
    std::vector<uint64_t> open;  // spans begun in this chunk

    uint64_t innermost() const { return open.empty() ? 0 : open.back(); }
    void begun(uint64_t number) {
        span = number;
        open.push_back(number);
    }
    void ended(uint64_t number) {
        for (size_t i = open.size(); i-- > 0;)
            if (open[i] == number) {
                open.erase(open.begin() + long(i));
                return;
            }
    }
};

// Integers up to 2^53 are written as such, but not -0.0.
bool is_integer(double v) noexcept {
    return v == std::trunc(v) && std::abs(v) <= 9007199254740992.0 && !(v == 0 && std::signbit(v));
}

uint8_t tag_of(const Entry& e, const Expected& expected, uint32_t track) {
    uint8_t tag = uint8_t(e.kind) | (e.size ? with_payload : 0) | (e.name ? with_name : 0);
    switch (e.kind) {
        case Kind::begin:
            return tag | (e.a != expected.span + 1 ? with_a : 0) | (e.b ? with_b : 0);
        case Kind::end:
            return tag | (e.a != expected.innermost() ? with_a : 0) | (e.b != track ? with_b : 0);
        case Kind::counter:
            return tag | (!is_integer(std::bit_cast<double>(e.a)) ? with_a : 0) | (e.b ? with_b : 0);
        default:
            return tag | (e.a ? with_a : 0) | (e.b ? with_b : 0);
    }
}

uint8_t* put_numbers(uint8_t* p, const Entry& e, uint8_t tag, Expected& expected) {
    switch (e.kind) {
        case Kind::begin:
            if (tag & with_a) p = put_varint(p, e.a);
            if (tag & with_b) p = put_varint(p, e.b);
            expected.begun(e.a);
            return p;
        case Kind::end:
            if (tag & with_a) p = put_varint(p, e.a);
            if (tag & with_b) p = put_varint(p, e.b);
            expected.ended(e.a);
            return p;
        case Kind::counter:
            if (tag & with_a) {
                std::memcpy(p, &e.a, 8);
                p += 8;
            } else {
                p = put_varint(p, zigzag(int64_t(std::bit_cast<double>(e.a))));
            }
            return tag & with_b ? put_varint(p, e.b) : p;
        case Kind::instant:
            if (tag & with_a) p = put_varint(p, e.a);
            return tag & with_b ? put_varint(p, e.b) : p;
        case Kind::hook:
            if (tag & with_a) p = put_varint(p, e.a);
            if (tag & with_b) {
                p = put_varint(p, zigzag(int64_t(e.b - uint64_t(expected.time))));
                expected.time = int64_t(e.b);
            }
            return p;
        default:
            if (tag & with_a) p = put_varint(p, zigzag(int64_t(e.a - uint64_t(expected.time))));
            if (tag & with_b) p = put_varint(p, zigzag(int64_t(e.b - e.a)));
            if (tag & with_a) expected.time = int64_t(e.a);
            return p;
    }
}

void get_numbers(ByteReader& in, Entry& e, uint8_t tag, Expected& expected, uint32_t track) {
    const bool a = tag & with_a, b = tag & with_b;
    switch (e.kind) {
        case Kind::begin:
            e.a = a ? in.varint() : expected.span + 1;
            e.b = b ? in.varint() : 0;
            return expected.begun(e.a);
        case Kind::end:
            e.a = a ? in.varint() : expected.innermost();
            e.b = b ? in.varint() : track;
            return expected.ended(e.a);
        case Kind::counter:
            e.a = a ? in.fixed<uint64_t>() : std::bit_cast<uint64_t>(double(in.signed_varint()));
            e.b = b ? in.varint() : 0;
            return;
        case Kind::instant:
            e.a = a ? in.varint() : 0;
            e.b = b ? in.varint() : 0;
            return;
        case Kind::hook:
            e.a = a ? in.varint() : 0;
            e.b = b ? uint64_t(expected.time) + uint64_t(in.signed_varint()) : 0;
            if (b) expected.time = int64_t(e.b);
            return;
        default:
            e.a = a ? uint64_t(expected.time) + uint64_t(in.signed_varint()) : 0;
            e.b = b ? e.a + uint64_t(in.signed_varint()) : 0;
            if (a) expected.time = int64_t(e.a);
    }
}

// The index behind the record at `i`; 0 if there is no valid one. A chunk may come from the buffer of a killed process
// or from an untrusted file, so an entry's kind and size can be anything.
uint32_t end_of_record(const Chunk& chunk, uint32_t i, uint32_t used) {
    if (i >= used || i >= chunk_entries) return 0;
    const Entry& e = chunk.entries[i];
    if (e.kind == Kind::none || int(e.kind) >= kind_count || e.size > largest_payload) return 0;
    const uint32_t end = i + entries_of(e.size);
    return end <= used && end <= chunk_entries ? end : 0;
}

uint32_t count_records(const Chunk& chunk, uint32_t used) {
    uint32_t records = 0;
    for (uint32_t i = 0; (i = end_of_record(chunk, i, used));) ++records;
    return records;
}

}  // namespace

void encode(const Chunk& chunk, uint32_t used, std::string& out) {
    uint8_t head[4 * longest_varint];
    uint8_t* p = put_varint(head, chunk.serial.load(std::memory_order_relaxed));
    p = put_varint(p, chunk.track);
    p = put_varint(p, count_records(chunk, used));
    Expected expected{.stamp = used ? chunk.entries[0].stamp : 0};
    std::memcpy(p, &expected.stamp, 8);
    out.append(reinterpret_cast<char*>(head), size_t(p + 8 - head));
    uint8_t bytes[8 * longest_varint];
    for (uint32_t i = 0, end; (end = end_of_record(chunk, i, used)); i = end) {
        const Entry& e = chunk.entries[i];
        const uint8_t tag = tag_of(e, expected, chunk.track);
        p = bytes;
        *p++ = tag;
        p = put_varint(p, zigzag(int64_t(e.stamp - expected.stamp)));
        expected.stamp = e.stamp;
        if (tag & with_name) p = put_varint(p, e.name);
        p = put_numbers(p, e, tag, expected);
        if (tag & with_payload) p = put_varint(p, e.size);
        out.append(reinterpret_cast<char*>(bytes), size_t(p - bytes));
        out.append(reinterpret_cast<const char*>(&e + 1), e.size);
    }
}

ChunkHead head_of(std::string_view bytes) {
    ByteReader in(bytes);
    ChunkHead head{in.varint(), 0, 0};
    head.track = uint32_t(in.varint());
    head.records = std::min<uint64_t>(in.varint(), bytes.size() / smallest_record);
    return in.bad() ? ChunkHead{} : head;
}

bool decode(std::string_view bytes, const Visit& visit) {
    ByteReader in(bytes);
    ChunkHead head{in.varint(), 0, 0};
    head.track = uint32_t(in.varint());
    const uint64_t records = head.records = in.varint();
    if (records > chunk_entries) return false;
    Expected expected{.stamp = in.fixed<uint64_t>()};
    for (uint64_t i = 0; i < records; ++i) {
        const uint8_t tag = in.byte();
        Entry e{};
        e.kind = Kind(tag & 15);
        if (in.bad() || e.kind == Kind::none || int(e.kind) >= kind_count) return false;
        e.stamp = expected.stamp += uint64_t(in.signed_varint());
        if (tag & with_name) e.name = uint32_t(in.varint());
        get_numbers(in, e, tag, expected, head.track);
        const uint64_t size = tag & with_payload ? in.varint() : 0;
        if (size > largest_payload) return false;
        e.size = uint16_t(size);
        const std::string_view payload = in.bytes(size);
        if (in.bad()) return false;
        visit(head, e, payload);
    }
    return !in.bad() && !in.left();
}

void walk(const Chunk& chunk, uint32_t used, const Visit& visit) {
    const ChunkHead head{chunk.serial.load(std::memory_order_relaxed), chunk.track, 0};
    for (uint32_t i = 0, end; (end = end_of_record(chunk, i, used)); i = end) {
        const Entry& e = chunk.entries[i];
        visit(head, e, {reinterpret_cast<const char*>(&e + 1), e.size});
    }
}

namespace {

constexpr auto crc_tables = [] {
    std::array<std::array<uint32_t, 256>, 16> t{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t c = i;
        for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        t[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; ++i)
        for (size_t k = 1; k < 16; ++k) t[k][i] = t[0][t[k - 1][i] & 255] ^ (t[k - 1][i] >> 8);
    return t;
}();

}  // namespace

uint32_t crc32(const void* bytes, size_t size, uint32_t before) noexcept {
    const auto* p = static_cast<const uint8_t*>(bytes);
    uint32_t c = ~before;
    for (; size >= 16; p += 16, size -= 16) {  // the lookups do not depend on each other
        uint8_t block[16];
        std::memcpy(block, p, 16);
        for (size_t k = 0; k < 4; ++k) block[k] ^= uint8_t(c >> 8 * k);
        c = 0;
        for (size_t k = 0; k < 16; ++k) c ^= crc_tables[15 - k][block[k]];
    }
    for (; size; ++p, --size) c = crc_tables[0][(c ^ *p) & 255] ^ (c >> 8);
    return ~c;
}

}  // namespace eventide::tracefile
