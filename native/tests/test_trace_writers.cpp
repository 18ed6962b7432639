// The writers of .pftrace and Chrome JSON, with many pieces: every span is in the file with its arguments.
#include <algorithm>
#include <string>
#include <vector>

#include "check.hpp"
#include "encoding/proto.hpp"
#include "formats/chrome/chrome_writer.hpp"
#include "formats/perfetto/fields.hpp"
#include "formats/perfetto/pftrace_writer.hpp"

using namespace eventide;
using namespace eventide::formats;

namespace {

constexpr int64_t count = 20'000;  // a few hundred kilobytes

struct File final : Sink {
    void write(std::string_view bytes) override {
        all += bytes;
        ++pieces;
    }
    std::string all;
    int pieces = 0;
};

struct Strings {
    explicit Strings(const std::vector<std::string>& given) : offsets{0} {
        for (const std::string& text : given) {
            data += text;
            offsets.push_back(int64_t(data.size()));
        }
    }
    Texts texts() const { return {int64_t(offsets.size()) - 1, offsets.data(), data.data()}; }
    std::vector<int64_t> offsets;
    std::string data;
};

std::string args_of(int64_t row) {
    if (row % 1000 == 7) return "{\"text\":\"a\\\\b\",\"list\":[1,{\"n\":2}]}";
    if (row % 1000 == 8) return "no object";
    return "{\"n\":" + std::to_string(row * row) + ",\"m\":" + std::to_string(-row) + "}";
}

// Consecutive spans on one track, each with arguments.
struct Made {
    Made() {
        std::vector<std::string> texts;
        for (int64_t row = 0; row < count; ++row) {
            start.push_back(row * 1500);
            texts.push_back(args_of(row));
        }
        args = Strings(texts);
    }
    Spans spans() const {
        return {count,        zero.data(), zero.data(), zero.data(), start.data(), length.data(), null.data(),
                start.data(), null.data(), null.data(), less.data(), less.data(),  args.texts()};
    }
    std::vector<int32_t> zero = std::vector<int32_t>(count, 0), less = std::vector<int32_t>(count, -1);
    std::vector<int64_t> start, length = std::vector<int64_t>(count, 700),
                                null = std::vector<int64_t>(count, null_int64);
    Strings args{{}}, word{{"name"}};
};

size_t occurrences(const std::string& text, std::string_view part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
}

}  // namespace

TEST(a_pftrace_has_two_packets_for_each_span) {
    const Made made;
    PftraceInput in;
    in.spans = made.spans();
    in.names = in.categories = made.word.texts();
    File file;
    write_pftrace(in, assign_lanes(in.spans, 1), file);
    CHECK(file.pieces > 3);
    proto::Fields packets(file.all);
    int64_t events = 0;
    while (packets.next()) {
        proto::Fields packet(packets.text);
        while (packet.next()) events += packet.number() == fields::packet::track_event;
        CHECK(packet.at() == packets.text.data() + packets.text.size());
    }
    CHECK(packets.at() == file.all.data() + file.all.size());
    CHECK(events == 2 * count);
}

TEST(chrome_json_has_a_line_for_each_span_with_its_arguments) {
    const Made made;
    const std::vector<int64_t> seven{7}, nowhere{null_int64};
    ChromeInput in;
    in.spans = made.spans();
    in.names = in.categories = in.own = made.word.texts();
    in.own_category = made.less.data();
    in.pid = in.tid = seven.data();
    in.stream = in.device = nowhere.data();
    File file;
    write_chrome(in, assign_lanes(in.spans, 1), true, file);
    CHECK(file.pieces > 3);
    CHECK(std::count(file.all.begin(), file.all.end(), '\n') == count);
    CHECK(occurrences(file.all, "\"text\":\"a\\\\b\"") == count / 1000);
    CHECK(occurrences(file.all, "\"args\":\"no object\"") == count / 1000);
    for (int64_t row = 10; row < count; row += 1000) {
        std::string args = args_of(row);
        args.pop_back();
        CHECK(occurrences(file.all, "\"args\":" + args + ",\"eventide\":{\"cpu_ns\":" + std::to_string(row * 1500)) ==
              1);
    }
}

MAIN
