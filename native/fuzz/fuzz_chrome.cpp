// Fuzzes the reader of Chrome traces: for any input it terminates, stays within its memory, and gives the same result
// for pieces of any size as for one piece. The first byte of the input is the size of the pieces.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/enclosing.hpp"
#include "encoding/json_text.hpp"
#include "formats/chrome/chrome_document.hpp"
#include "fuzz.hpp"

using namespace eventide;
using fuzz::require;

namespace {

chrome::Ended parse(chrome::Document& document, std::string_view text, size_t piece) {
    while (!text.empty()) {
        document.feed(text.substr(0, piece));
        text.remove_prefix(std::min(piece, text.size()));
    }
    return document.finish();
}

// The arguments are valid UTF-8 and JSON without flags.
void check_args(const ChunkedTextColumn& column) {
    for (size_t c = 0; c < column.chunks(); ++c) {
        const ChunkedTextColumn::Chunk& chunk = column.chunk(c);
        for (size_t i = 0; i + 1 < chunk.offsets.size(); ++i) {
            std::vector<char> text(chunk.bytes.data() + chunk.offsets[i], chunk.bytes.data() + chunk.offsets[i + 1]);
            if (text.empty()) continue;
            const size_t length = text.size();
            text.resize(length + json::PADDING);
            json::Scanner scan{text.data(), text.data() + length};
            json::Value value;
            require(scan.value(value), "arguments are JSON");
            require(value.kind == json::Kind::object && value.end == text.data() + length, "arguments are one object");
            require(!(value.flags & json::DIRTY), "arguments are clean");
        }
    }
}

void check(const chrome::Table& t) {
    const size_t rows = t.spans.rows(), tracks = t.pid.size();
    require(t.spans.args.rows() == rows && t.instants.args.rows() == t.instants.time.size(),
            "columns are equally long");
    for (size_t i = 0; i < rows; ++i) {
        require(size_t(t.spans.track[i]) < tracks, "a span has a track");
        require(t.spans.duration[i] == null_int64 || t.spans.duration[i] >= 0, "durations are not negative");
    }
    check_args(t.spans.args);
    check_args(t.instants.args);
    std::vector<int64_t> found(t.flows.time.size() + 1);
    find_spans({t.spans.track.data(), t.spans.start.data(), t.spans.duration.data(), rows},
               {t.flows.track.data(), t.flows.time.data(), t.flows.enclosing.data(), t.flows.time.size()},
               found.data());
    for (size_t i = 0; i < t.flows.time.size(); ++i)
        require(found[i] < int64_t(rows) && (found[i] < 0 || t.spans.track[size_t(found[i])] == t.flows.track[i]),
                "a flow's span is on its track");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::vector<std::string> known{"kernel", "cuda_runtime", "cpu_op"};
    chrome::Document whole(known, 1 << 20), cut(known, 1 << 20);
    const chrome::Ended ended = parse(whole, text, text.size());
    require(parse(cut, text, size_t(data[0] % 32) + 1) == ended, "pieces end as the whole does");
    require(whole.position == cut.position && whole.elements == cut.elements, "pieces are read as far as the whole is");
    require(whole.table.spans.rows() == cut.table.spans.rows(), "pieces have the spans of the whole");
    require(whole.table.ignored == cut.table.ignored, "pieces and the whole ignore the same events");
    check(whole.table);
    return 0;
}
