// JAX's profiles: valid ones are read, and for any bytes the reader stays within its file.
#include <random>
#include <string>

#include "check.hpp"
#include "encoding/proto.hpp"
#include "formats/xplane/xplane_reader.hpp"

using namespace eventide;
using namespace eventide::formats;

namespace {

std::string named(uint32_t field, uint64_t id, std::string_view name) {
    std::string value, entry, out;
    proto::number(value, 1, id);
    proto::bytes(value, 2, name);
    proto::number(entry, 1, id);
    proto::bytes(entry, 2, value);
    proto::bytes(out, field, entry);
    return out;
}

std::string stat(uint32_t field, uint64_t id, uint64_t value) {
    std::string message, out;
    proto::number(message, 1, id);
    proto::number(message, 4, value);
    proto::bytes(out, field, message);
    return out;
}

std::string event(uint64_t offset, uint64_t duration, const std::string& stats) {
    std::string message, out;
    proto::number(message, 1, 1);
    proto::number(message, 2, offset);
    proto::number(message, 3, duration);
    proto::bytes(out, 4, message + stats);
    return out;
}

std::string profile() {
    std::string line, plane, environment, out;
    proto::bytes(line, 2, "python");
    proto::number(line, 3, 5);
    line += event(1'999, 1, stat(4, 1, 42)) + event(2'000, 3'000, stat(4, 2, 7) + stat(4, 3, 15));
    line += event(6'000, 0, stat(4, 4, 7) + stat(4, 5, 15));
    proto::bytes(plane, 2, "/host:CPU");
    proto::bytes(plane, 3, line);
    plane += named(4, 1, "f") + named(5, 1, "step_num") + named(5, 2, "_p") + named(5, 3, "_pt") + named(5, 4, "_c") +
             named(5, 5, "_ct");
    proto::bytes(environment, 2, "Task Environment");
    environment += named(5, 1, "profile_start_time") + stat(6, 1, 1'000'000);
    proto::bytes(out, 1, plane);
    proto::bytes(out, 1, environment);
    return out;
}

}  // namespace

TEST(events_have_times_from_the_start_of_the_profile_and_producers_are_linked_to_consumers) {
    const XplaneContents c = read_xplane(profile());
    CHECK(c.planes.size() == 2 && c.planes[1].stats == R"({"profile_start_time": 1000000})");
    CHECK(c.lines.size() == 1 && c.lines[0].name == "python");
    CHECK(c.events.size() == 3 && c.texts[c.events[0].name] == "f");
    CHECK(c.events[0].start == 1'000'006 && c.events[0].end == 1'000'007);
    CHECK(c.events[0].step == 42 && c.texts[c.events[0].args] == R"({"step_num": 42})");
    CHECK(c.events[1].start == 1'000'007 && c.events[1].end == 1'000'010);
    CHECK(c.arrows.size() == 1 && c.arrows[0].first == 1 && c.arrows[0].second == 2);
}

TEST(a_truncated_file_is_refused_with_the_offset) {
    const std::string whole = profile();
    size_t refused = 0;
    for (size_t size = 1; size < whole.size(); ++size) {
        const std::string cut = whole.substr(0, size);
        try {
            read_xplane(cut);
        } catch (const XplaneDamaged& damaged) {
            ++refused;
            CHECK(damaged.offset <= size);
        }
    }
    CHECK(refused == whole.size() - 2);  // one of the cuts is between the two planes
}

TEST(for_any_bytes_the_reader_stays_within_them) {
    std::mt19937 random(7);
    const std::string whole = profile();
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes = whole;
        for (int n = 1 + int(random() % 6); n; --n) bytes[random() % bytes.size()] = char(random());
        if (i % 8 == 0) bytes.resize(random() % bytes.size());
        try {
            const XplaneContents c = read_xplane(bytes);
            for (const XplaneEvent& e : c.events) CHECK(e.start <= e.end && size_t(e.line) < c.lines.size());
        } catch (const XplaneDamaged& damaged) {
            ++refused;
            CHECK(damaged.offset <= bytes.size());
        }
    }
    CHECK(refused > 1'000 && refused < 20'000);
}

// An event of a few bytes refers to a text of many.
TEST(texts_repeated_by_events_are_bounded_by_the_size_of_the_file) {
    constexpr size_t many = 2'000, length = 100'000;
    std::string refers, line, plane, out;
    proto::number(refers, 1, 1);
    proto::number(refers, 7, 2);
    std::string with_stat;
    proto::bytes(with_stat, 4, refers);
    for (size_t i = 0; i < many; ++i) line += event(i * 1'000, 0, with_stat);
    proto::bytes(plane, 3, line);
    plane += named(4, 1, "f") + named(5, 1, "long") + named(5, 2, std::string(length, 'x'));
    proto::bytes(out, 1, plane);
    const XplaneContents c = read_xplane(out);
    size_t kept = 0, bytes = 0;
    for (const XplaneEvent& e : c.events) {
        kept += e.args != 0;
        bytes += c.texts[e.args].size();
    }
    CHECK(c.events.size() == many && kept > 0 && kept + size_t(c.left_out) == many);
    CHECK(bytes < (16 << 20) + 65 * out.size());
}

TEST(statistics_of_all_events_of_a_kind_are_stored_once) {
    std::string line, value, entry, plane, out;
    for (uint64_t i = 0; i < 100; ++i) line += event(i * 1'000, 0, i % 10 ? "" : stat(4, 1, i));
    proto::bytes(plane, 3, line);
    proto::bytes(value, 2, "f");
    value += stat(5, 2, 7);
    proto::number(entry, 1, 1);
    proto::bytes(entry, 2, value);
    proto::bytes(plane, 4, entry);
    plane += named(5, 1, "own") + named(5, 2, "shared");
    proto::bytes(out, 1, plane);
    const XplaneContents c = read_xplane(out);
    CHECK(c.events.size() == 100 &&
          c.texts.size() == 1 + 1 + 1 + 10);  // the empty text, f, the shared one, ten own ones
    CHECK(c.texts[c.events[1].args] == R"({"shared": 7})" && c.events[1].args == c.events[99].args);
    CHECK(c.texts[c.events[10].args] == R"({"own": 10, "shared": 7})");
}

MAIN
