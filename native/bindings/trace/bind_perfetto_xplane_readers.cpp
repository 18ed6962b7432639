// The decoders of Perfetto's files and of JAX's profiles: bytes in, columns out.
#include <nanobind/stl/string.h>

#include "bindings/base/bind.hpp"
#include "bindings/trace/arrays.hpp"
#include "formats/perfetto/pftrace_reader.hpp"
#include "formats/xplane/xplane_reader.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

using Reader = formats::PftraceReader;

// (offsets, bytes) of strings, as Arrow's large_string has them. Texts of other tools may be no UTF-8: Python checks.
nb::tuple texts_of(const TextTable& texts) {
    std::vector<int64_t> offsets{0};
    offsets.insert(offsets.end(), texts.ends().data(), texts.ends().data() + texts.size());
    std::vector<uint8_t> bytes(texts.bytes().data(), texts.bytes().data() + texts.bytes().size());
    return nb::make_tuple(array(std::move(offsets)), array(std::move(bytes)));
}

template <class T, class Rows, class F>
nb::object column(const Rows& rows, F get) {
    std::vector<T> values;
    values.reserve(rows.size());
    for (const auto& row : rows) values.push_back(get(row));
    return array(std::move(values));
}

nb::dict slices_of(const std::vector<formats::Slice>& slices) {
    using formats::Slice;
    nb::dict out;
    out["track"] = column<uint64_t>(slices, [](const Slice& s) { return s.track; });
    out["start"] = column<int64_t>(slices, [](const Slice& s) { return s.start; });
    out["end"] = column<int64_t>(slices, [](const Slice& s) { return s.end; });
    out["name"] = column<int32_t>(slices, [](const Slice& s) { return s.name; });
    out["category"] = column<int32_t>(slices, [](const Slice& s) { return s.category; });
    out["args"] = column<int32_t>(slices, [](const Slice& s) { return s.args; });
    out["outcome"] = column<int32_t>(slices, [](const Slice& s) { return s.outcome; });
    out["queued"] = column<int64_t>(slices, [](const Slice& s) { return s.queued; });
    out["cpu"] = column<int64_t>(slices, [](const Slice& s) { return s.cpu; });
    out["work"] = column<int64_t>(slices, [](const Slice& s) { return s.work; });
    out["correlation"] = column<int64_t>(slices, [](const Slice& s) { return s.correlation; });
    out["stack"] = column<int64_t>(slices, [](const Slice& s) { return s.stack; });
    out["instant"] = column<uint8_t>(slices, [](const Slice& s) { return uint8_t(s.instant); });
    return out;
}

nb::list tracks_of(const std::map<uint64_t, formats::PftraceTrack>& tracks) {
    const auto number = [](int64_t n) -> nb::object { return n == null_int64 ? nb::none() : nb::object(nb::int_(n)); };
    nb::list out;
    for (const auto& [uuid, track] : tracks) {
        nb::dict row;
        row["uuid"] = uuid;
        row["parent"] = track.parent;
        row["name"] = nb::bytes(track.name.data(), track.name.size());
        row["pid"] = number(track.pid);
        row["tid"] = number(track.tid);
        row["kind"] = track.process ? "process" : track.thread ? "thread" : track.counter ? "counter" : "other";
        row["unit"] = track.unit;
        row["incremental"] = track.incremental;
        out.append(row);
    }
    return out;
}

nb::dict finish(Reader& reader) {
    formats::PftraceContents& c = reader.finish();
    nb::dict out, values, account, tables;
    using Value = formats::PftraceContents::Value;
    using Arrow = std::pair<int64_t, int64_t>;
    values["track"] = column<uint64_t>(c.values, [](const Value& v) { return v.track; });
    values["time"] = column<int64_t>(c.values, [](const Value& v) { return v.time; });
    values["value"] = column<double>(c.values, [](const Value& v) { return v.value; });
    for (const auto& [name, table] : c.tables) tables[name.c_str()] = nb::bytes(table.data(), table.size());
    account["events"] = c.packets;
    account["other_packets"] = c.other;
    account["lost"] = c.lost;
    account["loose_ends"] = c.loose_ends;
    account["legacy"] = c.legacy;
    account["left_out"] = c.left_out;
    out["slices"] = slices_of(c.slices);
    out["values"] = values;
    out["from"] = column<int64_t>(c.arrows, [](const Arrow& a) { return a.first; });
    out["to"] = column<int64_t>(c.arrows, [](const Arrow& a) { return a.second; });
    out["texts"] = texts_of(c.texts);
    out["tracks"] = tracks_of(c.tracks);
    out["tables"] = tables;
    out["about"] = nb::bytes(c.about.data(), c.about.size());
    out["account"] = account;
    return out;
}

nb::list texts_of(const std::vector<std::string>& texts) {
    nb::list out;
    for (const std::string& text : texts) out.append(nb::bytes(text.data(), text.size()));
    return out;
}

nb::dict xplane_of(const formats::XplaneContents& c) {
    using formats::XplaneEvent;
    using Arrow = std::pair<int64_t, int64_t>;
    nb::dict out, events, account;
    nb::list planes, lines;
    for (const formats::XplanePlane& plane : c.planes)
        planes.append(nb::make_tuple(nb::bytes(plane.name.data(), plane.name.size()), plane.stats));
    for (const formats::XplaneLine& line : c.lines)
        lines.append(nb::make_tuple(line.plane, line.id, nb::bytes(line.name.data(), line.name.size())));
    events["line"] = column<int32_t>(c.events, [](const XplaneEvent& e) { return e.line; });
    events["name"] = column<int32_t>(c.events, [](const XplaneEvent& e) { return e.name; });
    events["args"] = column<int32_t>(c.events, [](const XplaneEvent& e) { return e.args; });
    events["start"] = column<int64_t>(c.events, [](const XplaneEvent& e) { return e.start; });
    events["end"] = column<int64_t>(c.events, [](const XplaneEvent& e) { return e.end; });
    events["correlation"] = column<int64_t>(c.events, [](const XplaneEvent& e) { return e.correlation; });
    events["step"] = column<int64_t>(c.events, [](const XplaneEvent& e) { return e.step; });
    events["hlo"] = column<uint8_t>(c.events, [](const XplaneEvent& e) { return uint8_t(e.hlo); });
    account["aggregated"] = c.aggregated;
    account["bad_times"] = c.bad_times;
    account["unnamed"] = c.unnamed;
    account["left_out"] = c.left_out;
    out["planes"] = planes;
    out["lines"] = lines;
    out["events"] = events;
    out["from"] = column<int64_t>(c.arrows, [](const Arrow& a) { return a.first; });
    out["to"] = column<int64_t>(c.arrows, [](const Arrow& a) { return a.second; });
    out["errors"] = texts_of(c.errors);
    out["warnings"] = texts_of(c.warnings);
    out["texts"] = texts_of(c.texts);
    out["account"] = account;
    return out;
}

nb::dict read_xplane(nb::bytes data) {
    formats::XplaneContents contents;
    try {
        nb::gil_scoped_release release;
        contents = formats::read_xplane({data.c_str(), data.size()});
    } catch (const formats::XplaneDamaged& damaged) {
        nb::dict out;
        out["damaged"] = nb::make_tuple(damaged.offset, damaged.what());
        return out;
    }
    return xplane_of(contents);
}

}  // namespace

void bind_perfetto_xplane_readers(nb::module_& m) {
    nb::class_<Reader>(m, "PftraceReader", "Reads Perfetto's track events.")
        .def(nb::init<>())
        .def(
            "feed",
            [](Reader& reader, nb::bytes data, size_t at) {
                std::string compressed;
                size_t stopped;
                {
                    nb::gil_scoped_release release;
                    stopped = reader.feed({data.c_str(), data.size()}, at, compressed);
                }
                return nb::make_tuple(stopped, nb::bytes(compressed.data(), compressed.size()));
            },
            nb::arg("data"), nb::arg("at"), nb::sig("def feed(self, data: bytes, at: int) -> tuple[int, bytes]"),
            "Reads packets from `at` on; returns where it stopped, and the compressed packets that come next.")
        .def("finish", finish, nb::sig("def finish(self) -> dict[str, typing.Any]"),
             "Pairs begins with ends and returns everything.");
    m.def("read_xplane", read_xplane, nb::arg("data"), nb::sig("def read_xplane(data: bytes) -> dict[str, typing.Any]"),
          "Everything in a profile of JAX (XSpace); only `damaged`, an offset and why, where it is not one.");
}

}  // namespace eventide::python
