// Encoding and decoding of chunks: every record is restored exactly, and damage is detected.
#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/index_queue.hpp"
#include "check.hpp"
#include "encoding/json.hpp"
#include "encoding/varint.hpp"
#include "tracefile/codec.hpp"

using namespace eventide;
using namespace eventide::tracefile;

namespace {

struct Record {
    Entry entry;
    std::string payload;
    bool operator==(const Record& o) const {
        const Entry &a = entry, &b = o.entry;
        return a.stamp == b.stamp && a.name == b.name && a.kind == b.kind && a.size == b.size && a.a == b.a &&
               a.b == b.b && payload == o.payload;
    }
};

std::unique_ptr<Chunk> chunk_of(const std::vector<Record>& records, uint32_t& used) {
    auto chunk = std::make_unique<Chunk>();
    chunk->serial.store(7);
    chunk->track = 3;
    used = 0;
    for (const Record& t : records) {
        chunk->entries[used] = t.entry;
        std::memcpy(&chunk->entries[used + 1], t.payload.data(), t.payload.size());
        used += entries_of(t.entry.size);
    }
    chunk->used.store(used);
    return chunk;
}

std::vector<Record> decoded(const std::string& bytes, bool& good) {
    std::vector<Record> out;
    good = decode(bytes, [&](const ChunkHead& head, const Entry& e, std::string_view payload) {
        CHECK(head.serial == 7 && head.track == 3);
        out.push_back({e, std::string(payload)});
    });
    return out;
}

Record record(Kind kind, uint64_t stamp, uint32_t name, uint64_t a, uint64_t b, std::string payload = "") {
    return {{stamp, name, kind, 0, uint16_t(payload.size()), a, b}, std::move(payload)};
}

std::vector<Record> random_records(std::mt19937_64& random) {
    std::vector<Record> records;
    uint64_t stamp = random();
    uint32_t span = uint32_t(random() % 100), entries = 0;
    const auto wild = [&]() -> uint64_t {
        const uint64_t edges[] = {0, 1, 127, 128, ~0ull, uint64_t(INT64_MAX), uint64_t(INT64_MIN), random()};
        return edges[random() % 8];
    };
    while (true) {
        stamp += random() % 5 ? random() % 100'000 : wild();  // a counter may also decrease
        const auto kind = Kind(1 + random() % (kind_count - 1));
        std::string payload(random() % 4 ? 0 : random() % 200, char(random()));
        uint64_t a = wild(), b = wild();
        if (kind == Kind::begin) a = random() % 8 ? ++span : span = uint32_t(wild());
        if (kind == Kind::end) a = random() % 2 ? span : wild(), b = random() % 2 ? 3 : wild();
        if (kind == Kind::counter && random() % 2) a = std::bit_cast<uint64_t>(double(int(random() % 1000)) / 4 - 100);
        records.push_back(record(kind, stamp, uint32_t(wild()), a, b, payload));
        entries += entries_of(uint32_t(payload.size()));
        if (entries + 10 > chunk_entries || random() % 300 == 0) return records;
    }
}

}  // namespace

TEST(records_are_restored_exactly) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        const std::vector<Record> records = random_records(random);
        uint32_t used;
        const auto chunk = chunk_of(records, used);
        std::string bytes;
        encode(*chunk, used, bytes);
        bool good;
        CHECK(decoded(bytes, good) == records);
        CHECK(good);
        std::vector<Record> walked;
        walk(*chunk, used,
             [&](const ChunkHead&, const Entry& e, std::string_view p) { walked.push_back({e, std::string(p)}); });
        CHECK(walked == records);
    }
}

TEST(a_span_of_a_microsecond_takes_eight_bytes) {
    std::vector<Record> records;
    for (uint32_t i = 1; i <= 500; ++i) {
        records.push_back(record(Kind::begin, 1'000'000 + i * 4000, 5, i, 0));
        records.push_back(record(Kind::end, 1'000'000 + i * 4000 + 2000, 0, i, 3));
    }
    uint32_t used;
    const auto chunk = chunk_of(records, used);
    std::string bytes;
    encode(*chunk, used, bytes);
    CHECK(bytes.size() < 500 * 8);
    CHECK(head_of(bytes).serial == 7 && head_of(bytes).track == 3);
}

TEST(truncated_or_changed_bytes_never_crash) {
    std::mt19937_64 random(2);
    const std::vector<Record> records = random_records(random);
    uint32_t used;
    std::string bytes;
    const auto chunk = chunk_of(records, used);
    encode(*chunk, used, bytes);
    const auto ignore = [](const ChunkHead&, const Entry&, std::string_view) {};
    for (size_t n = 0; n < bytes.size(); n += 7) CHECK(!decode(std::string_view(bytes).substr(0, n), ignore));
    for (int i = 0; i < 2000; ++i) {
        std::string changed = bytes;
        changed[random() % changed.size()] = char(random());
        (void)decode(changed, ignore);
    }
}

TEST(walking_stops_before_an_incomplete_record) {
    uint32_t used;
    const auto chunk =
        chunk_of({record(Kind::begin, 1, 1, 1, 0), record(Kind::begin, 2, 1, 2, 0, std::string(100, 'x'))}, used);
    int visited = 0;
    walk(*chunk, used - 1, [&](const ChunkHead&, const Entry&, std::string_view) { ++visited; });
    CHECK(visited == 1);
}

TEST(encoding_stops_at_an_invalid_entry) {
    const auto last = [](Chunk& chunk) -> Entry& { return chunk.entries[chunk_entries - 1]; };
    std::vector<Record> records;
    for (uint32_t i = 0; i + 1 < chunk_entries; ++i) records.push_back(record(Kind::instant, i, 1, i, 0));
    uint32_t used = 0;
    const auto chunk = chunk_of(records, used);
    for (const Entry& bad : {Entry{9, 1, Kind::instant, 0, 0xffff, 0, 0}, Entry{9, 1, Kind::instant, 0, 1, 0, 0},
                             Entry{9, 1, Kind::none, 0, 0, 0, 0}, Entry{9, 1, Kind(kind_count), 0, 0, 0, 0}}) {
        last(*chunk) = bad;
        for (const uint32_t published : {chunk_entries, chunk_entries + 1, UINT32_MAX}) {
            std::string bytes;
            encode(*chunk, published, bytes);
            bool good = false;
            CHECK(decoded(bytes, good) == records);
            CHECK(good);
        }
    }
}

TEST(a_chunk_of_more_records_than_fit_is_damaged) {
    uint8_t head[3 * longest_varint];
    uint8_t* p = put_varint(put_varint(put_varint(head, 7), 3), chunk_entries + 1);
    std::string bytes(reinterpret_cast<char*>(head), size_t(p - head));
    bytes.append(8, '\0');                        // the first stamp
    bytes.append(2 * (chunk_entries + 1), '\3');  // instants
    bool good = true;
    CHECK(decoded(bytes, good).empty() && !good);
}

TEST(the_checksum_equals_that_of_zlib) {
    CHECK(crc32("123456789", 9) == 0xCBF43926u);
    CHECK(crc32("", 0) == 0);
    CHECK(crc32("6789", 4, crc32("12345", 5)) == 0xCBF43926u);
}

TEST(numbers_take_the_bytes_they_need) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 10'000; ++i) {
        const uint64_t v = random() >> (random() % 64);
        uint8_t bytes[longest_varint];
        const size_t n = size_t(put_varint(bytes, v) - bytes);
        CHECK(n == size_t(64 - std::countl_zero(v | 1) + 6) / 7);
        ByteReader in(bytes, n);
        CHECK(in.varint() == v && !in.bad() && !in.left());
        CHECK(unzigzag(zigzag(int64_t(v))) == int64_t(v));
    }
    const uint8_t endless[12] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    ByteReader in(endless, sizeof endless);
    CHECK(in.varint() == 0 && in.bad());
}

TEST(text_in_json_is_always_valid) {
    CHECK(json::quote("a\"b\\c\n\t\r\x01\x7f") == "\"a\\\"b\\\\c\\n\\t\\r\\u0001\x7f\"");
    CHECK(json::quote("\xff\xed\xa0\x80\xc3\xa9") == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\"");
    CHECK(json::Object().text("k", "v").add("n", uint64_t(3)).done() == "{\"k\": \"v\", \"n\": 3}");
}

TEST(a_queue_returns_values_in_order) {
    IndexQueue queue(4);
    uint32_t v;
    CHECK(!queue.pop(v));
    for (uint32_t i = 0; i < 8; ++i) CHECK(queue.push(i));
    CHECK(!queue.push(9) && queue.size() == 8);
    for (uint32_t i = 0; i < 8; ++i) CHECK(queue.pop(v) && v == i);
    CHECK(!queue.pop(v) && queue.size() == 0);
}

MAIN
