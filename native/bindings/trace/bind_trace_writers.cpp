// The encoders of trace files: Arrow's buffers in, pieces of the file out.
#include <algorithm>

#include "bindings/base/bind.hpp"
#include "bindings/trace/arrays.hpp"
#include "bindings/trace/columns.hpp"
#include "encoding/deflate.hpp"
#include "formats/chrome/chrome_writer.hpp"
#include "formats/lanes.hpp"
#include "formats/perfetto/pftrace_writer.hpp"

namespace nb = nanobind;

namespace eventide::python {

formats::Texts texts(nb::handle pair) {
    const auto both = nb::cast<nb::tuple>(pair);
    const auto offsets = input_array<int64_t>(both[0], "the offsets of a text column");
    const auto data = input_array<uint8_t>(both[1], "the data of a text column");
    const int64_t count = int64_t(offsets.size()) - 1;
    if (count < 0 || offsets.data()[0] < 0 || offsets.data()[count] > int64_t(data.size()) ||
        !std::is_sorted(offsets.data(), offsets.data() + offsets.size()))
        throw Error(ErrorKind::value, "the offsets of a text column lead beyond its data");
    return {count, offsets.data(), reinterpret_cast<const char*>(data.data())};
}

namespace {

// How many rows there are of what the columns refer to. `nullable`: whether names and categories may be null.
struct Targets {
    int64_t tracks, names, categories, outcomes;
    bool nullable;
};

formats::Texts args_of(const nb::dict& given, int64_t rows) {
    const formats::Texts args = texts(given["args"]);
    if (args.count != rows) throw Error(ErrorKind::value, "args has another length");
    return args;
}

formats::Spans spans_of(const nb::dict& given, const formats::Lanes& lanes, const Targets& to) {
    Columns c(given, "start");
    if (c.rows() != int64_t(lanes.lane.size())) throw Error(ErrorKind::value, "the lanes are those of other spans");
    formats::Spans s;
    s.count = c.rows();
    s.track = c.references<int32_t>("track", to.tracks, false);
    s.name = c.references<int32_t>("name", to.names, to.nullable);
    s.category = c.references<int32_t>("category", to.categories, to.nullable);
    s.start = c.get<int64_t>("start");
    s.duration = c.get<int64_t>("duration");
    s.submit = c.get<int64_t>("submit");
    s.cpu = c.get<int64_t>("cpu");
    s.work = c.get<int64_t>("work");
    s.correlation = c.get<int64_t>("correlation");
    s.outcome = c.references<int32_t>("outcome", to.outcomes, true);
    s.stack = c.get<int32_t>("stack");
    s.args = args_of(given, s.count);
    return s;
}

formats::Instants instants_of(const nb::dict& given, const Targets& to) {
    Columns c(given, "time");
    return {c.rows(),
            c.references<int32_t>("track", to.tracks, false),
            c.references<int32_t>("name", to.names, to.nullable),
            c.references<int32_t>("category", to.categories, to.nullable),
            c.get<int64_t>("time"),
            c.get<int32_t>("stack"),
            args_of(given, c.rows())};
}

formats::Counters counters_of(const nb::dict& given, int64_t series) {
    Columns c(given, "time");
    return {c.rows(), c.references<int32_t>("series", series, false), c.get<int64_t>("time"), c.get<double>("value")};
}

formats::Edges edges_of(const nb::dict& given, int64_t spans) {
    Columns c(given, "from_time");
    return {c.rows(),
            c.get<int32_t>("from_track"),
            c.get<int64_t>("from_time"),
            c.references<int64_t>("from_span", spans, true),
            c.get<int32_t>("to_track"),
            c.get<int64_t>("to_time"),
            c.references<int64_t>("to_span", spans, true)};
}

nb::dict dict_of(const nb::dict& tables, const char* name) {
    return nb::cast<nb::dict>(tables[name]);
}

int64_t write_pftrace(nb::callable write, const formats::Lanes& lanes, nb::dict tables, nb::dict names, int64_t base,
                      int64_t first, uint64_t first_track) {
    formats::PftraceInput in;
    in.names = texts(names["names"]);
    in.categories = texts(names["categories"]);
    in.outcomes = texts(names["outcomes"]);
    in.places = texts(names["places"]);
    const Targets to{int64_t(lanes.track.size()), in.names.count, in.categories.count, in.outcomes.count, true};
    in.spans = spans_of(dict_of(tables, "spans"), lanes, to);
    in.instants = instants_of(dict_of(tables, "instants"), to);
    in.counters = counters_of(dict_of(tables, "counters"), INT32_MAX);
    in.edges = edges_of(dict_of(tables, "edges"), in.spans.count);
    in.base = base;
    in.first = first;
    in.first_track = first_track;
    PythonSink sink(std::move(write));
    formats::CompressingSink compressing(sink);
    nb::gil_scoped_release release;
    return formats::write_pftrace(in, lanes, compressing);
}

int64_t write_chrome(nb::callable write, const formats::Lanes& lanes, nb::dict tables, nb::dict names, nb::dict layout,
                     int64_t base, bool first) {
    formats::ChromeInput in;
    in.names = texts(names["names"]);
    in.categories = texts(names["categories"]);
    in.outcomes = texts(names["outcomes"]);
    in.places = texts(names["places"]);
    in.arrows = texts(names["arrows"]);
    in.own = texts(names["own"]);
    in.series = texts(names["series"]);
    const Targets to{int64_t(lanes.track.size()), in.names.count, in.categories.count, in.outcomes.count, false};
    in.spans = spans_of(dict_of(tables, "spans"), lanes, to);
    in.instants = instants_of(dict_of(tables, "instants"), to);
    in.counters = counters_of(dict_of(tables, "counters"), in.series.count);
    in.edges = edges_of(dict_of(tables, "edges"), in.spans.count);
    in.arrow = Columns(dict_of(tables, "edges"), "from_time").references<int32_t>("arrow", in.arrows.count, false);
    in.own_category =
        Columns(dict_of(tables, "spans"), "start").references<int32_t>("own_category", in.own.count, true);
    Columns places(layout, "pid");
    if (places.rows() != int64_t(lanes.track.size())) throw Error(ErrorKind::value, "each lane needs a pid and a tid");
    in.pid = places.get<int64_t>("pid");
    in.tid = places.get<int64_t>("tid");
    in.stream = places.get<int64_t>("stream");
    in.device = places.get<int64_t>("device");
    Columns series(dict_of(tables, "series"), "pid");
    if (series.rows() != in.series.count) throw Error(ErrorKind::value, "each series needs a pid");
    in.series_pid = series.get<int64_t>("pid");
    in.base = base;
    PythonSink sink(std::move(write));
    nb::gil_scoped_release release;
    return formats::write_chrome(in, lanes, first, sink);
}

}  // namespace

void bind_trace_writers(nb::module_& m) {
    nb::class_<formats::Lanes>(m, "Lanes", "The lanes on which the spans of each track nest.")
        .def(
            "lane", [](formats::Lanes& l) { return array(std::vector<int32_t>(l.lane)); },
            nb::sig("def lane(self) -> numpy.typing.NDArray[numpy.int32]"), "Of each span.")
        .def(
            "track", [](formats::Lanes& l) { return array(std::vector<int32_t>(l.track)); },
            nb::sig("def track(self) -> numpy.typing.NDArray[numpy.int32]"), "Of each lane.")
        .def(
            "order", [](formats::Lanes& l) { return array(std::vector<int64_t>(l.order)); },
            nb::sig("def order(self) -> numpy.typing.NDArray[numpy.int64]"),
            "The rows of the spans, lane by lane, outer before inner.");
    m.def(
        "assign_lanes",
        [](nb::dict columns, int32_t tracks) {
            Columns c(columns, "start");
            formats::Spans s;
            s.count = c.rows();
            s.track = c.get<int32_t>("track");
            s.start = c.get<int64_t>("start");
            s.duration = c.get<int64_t>("duration");
            nb::gil_scoped_release release;
            return formats::assign_lanes(s, tracks);
        },
        nb::arg("spans"), nb::arg("tracks"),
        nb::sig("def assign_lanes(spans: dict[str, typing.Any], tracks: int) -> Lanes"),
        "Puts each span on the first lane of its track on which it nests.");
    m.def(
        "deflate",
        [](nb::bytes data) {
            Bytes out;
            deflate(out, {data.c_str(), data.size()});
            return nb::bytes(out.data(), out.size());
        },
        nb::arg("data"), nb::sig("def deflate(data: bytes) -> bytes"),
        "The bytes as a zlib stream, as .pftrace has its packets.");
    m.def("write_pftrace", write_pftrace, nb::arg("write"), nb::arg("lanes"), nb::arg("tables"), nb::arg("names"),
          nb::arg("base"), nb::arg("first"), nb::arg("first_track"),
          nb::sig("def write_pftrace(write: collections.abc.Callable[[bytes], object], lanes: Lanes, "
                  "tables: dict[str, dict[str, typing.Any]], names: dict[str, typing.Any], base: int, "
                  "first: int, first_track: int) -> int"),
          "Writes track events through `write`; returns how many edges became arrows.");
    m.def("write_chrome", write_chrome, nb::arg("write"), nb::arg("lanes"), nb::arg("tables"), nb::arg("names"),
          nb::arg("layout"), nb::arg("base"), nb::arg("first"),
          nb::sig("def write_chrome(write: collections.abc.Callable[[bytes], object], lanes: Lanes, "
                  "tables: dict[str, dict[str, typing.Any]], names: dict[str, typing.Any], "
                  "layout: dict[str, typing.Any], base: int, first: bool) -> int"),
          "Writes Chrome's events through `write`; returns how many edges became arrows.");
}

}  // namespace eventide::python
