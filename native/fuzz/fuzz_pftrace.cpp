// Fuzzes the reader of Perfetto's files: it terminates, stays within its memory, and every row refers to existing rows.
#include <cstddef>
#include <cstdint>

#include "formats/lanes.hpp"
#include "formats/perfetto/pftrace_reader.hpp"
#include "fuzz.hpp"

using namespace eventide;
using namespace eventide::formats;
using fuzz::require;

namespace {

void check(const PftraceContents& c) {
    for (const Slice& s : c.slices) {
        for (const int32_t text : {s.name, s.category, s.args, s.outcome})
            require(text >= 0 && size_t(text) < c.texts.size(), "a slice's texts exist");
        require(!c.about.empty() || !s.args || fuzz::is_object(c.texts[s.args]), "arguments are JSON");
        require(!s.instant || s.end == s.start, "an instant ends as it starts");
    }
    for (const auto& [from, to] : c.arrows)
        require(from >= 0 && to >= 0 && size_t(from) < c.slices.size() && size_t(to) < c.slices.size(),
                "an arrow's ends are slices");
}

// The slices as input of a writer, each on one of three tracks.
void check_lanes(const std::vector<Slice>& slices) {
    std::vector<int32_t> track;
    std::vector<int64_t> start, duration;
    for (const Slice& s : slices) {
        track.push_back(int32_t(s.track % 3));
        start.push_back(s.start);
        duration.push_back(s.end == null_int64 ? null_int64 : int64_t(uint64_t(s.end) - uint64_t(s.start)));
    }
    Spans spans;
    spans.count = int64_t(track.size());
    spans.track = track.data();
    spans.start = start.data();
    spans.duration = duration.data();
    const Lanes lanes = assign_lanes(spans, 3);
    require(lanes.order.size() == track.size(), "every span is on a lane");
    const std::vector<int64_t> found = enclosing(spans, lanes, spans.count, track.data(), start.data());
    for (const int64_t row : found) require(row < spans.count, "a span that encloses exists");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    PftraceReader reader;
    std::string compressed;
    for (size_t at = 0; at < size;) {
        const size_t stopped = reader.feed(bytes, at, compressed);
        require(stopped >= at && stopped <= size, "the reader advances");
        if (stopped == at || compressed.empty()) break;
        at = stopped;
    }
    const PftraceContents& contents = reader.finish();
    check(contents);
    check_lanes(contents.slices);
    return 0;
}
