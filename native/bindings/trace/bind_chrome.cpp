// Chrome traces: pieces of a file in, numpy columns out, without a copy.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "analysis/enclosing.hpp"
#include "bindings/base/bind.hpp"
#include "formats/chrome/chrome_document.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

using chrome::Document;
using chrome::Ended;

// The array keeps `owner`, and with it the memory, alive.
template <typename T>
nb::object array(const T* data, size_t size, nb::handle owner) {
    static T nothing{};
    const size_t shape[1] = {size};
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(size ? const_cast<T*>(data) : &nothing, 1, shape, owner));
}

template <typename T>
nb::object array(const Column<T>& column, nb::handle owner) {
    return array(column.data(), column.size(), owner);
}

nb::object bytes(const Column<char>& column, nb::handle owner) {
    return array(reinterpret_cast<const uint8_t*>(column.data()), column.size(), owner);
}

nb::list texts(const ChunkedTextColumn& column, nb::handle owner) {
    nb::list out;
    for (size_t i = 0; i < column.chunks(); ++i)
        out.append(nb::make_tuple(array(column.chunk(i).offsets, owner), bytes(column.chunk(i).bytes, owner)));
    return out;
}

nb::dict spans(const chrome::Table& t, nb::handle owner) {
    nb::dict out;
    out["track"] = array(t.spans.track, owner);
    out["name"] = array(t.spans.name, owner);
    out["category"] = array(t.spans.category, owner);
    out["start"] = array(t.spans.start, owner);
    out["duration"] = array(t.spans.duration, owner);
    out["cpu"] = array(t.spans.cpu.column, owner);
    out["correlation"] = array(t.spans.correlation.column, owner);
    out["stream"] = array(t.spans.stream.column, owner);
    out["device"] = array(t.spans.device.column, owner);
    out["call_stack"] = array(t.spans.call_stack.column, owner);
    out["args"] = texts(t.spans.args, owner);
    return out;
}

nb::dict points(const chrome::Table& t, nb::handle owner) {
    nb::dict instants, counters;
    instants["track"] = array(t.instants.track, owner);
    instants["name"] = array(t.instants.name, owner);
    instants["category"] = array(t.instants.category, owner);
    instants["time"] = array(t.instants.time, owner);
    instants["args"] = texts(t.instants.args, owner);
    counters["track"] = array(t.counters.track, owner);
    counters["name"] = array(t.counters.name, owner);
    counters["time"] = array(t.counters.time, owner);
    counters["value"] = array(t.counters.value, owner);
    nb::dict out;
    out["instants"] = instants;
    out["counters"] = counters;
    return out;
}

nb::dict links(const chrome::Table& t, nb::handle owner) {
    nb::dict flows, waits, memory;
    flows["phase"] = bytes(t.flows.phase, owner);
    flows["track"] = array(t.flows.track, owner);
    flows["name"] = array(t.flows.name, owner);
    flows["category"] = array(t.flows.category, owner);
    flows["time"] = array(t.flows.time, owner);
    flows["id"] = array(t.flows.id, owner);
    flows["id_kind"] = array(t.flows.id_kind, owner);
    flows["enclosing"] = array(t.flows.enclosing, owner);
    waits["span"] = array(t.waits.span, owner);
    waits["stream"] = array(t.waits.stream, owner);
    waits["record"] = array(t.waits.record, owner);
    waits["event"] = array(t.waits.event, owner);
    memory["instant"] = array(t.memory.instant, owner);
    memory["address"] = array(t.memory.address, owner);
    memory["bytes"] = array(t.memory.bytes, owner);
    memory["allocated"] = array(t.memory.allocated, owner);
    memory["reserved"] = array(t.memory.reserved, owner);
    memory["device_type"] = array(t.memory.device_type, owner);
    memory["device"] = array(t.memory.device, owner);
    nb::dict out;
    out["flows"] = flows;
    out["waits"] = waits;
    out["memory"] = memory;
    return out;
}

nb::dict tracks(const chrome::Table& t, nb::handle owner) {
    nb::dict tracks, names, out;
    tracks["pid_kind"] = array(t.pid_kind, owner);
    tracks["pid"] = array(t.pid, owner);
    tracks["tid_kind"] = array(t.tid_kind, owner);
    tracks["tid"] = array(t.tid, owner);
    names["track"] = array(t.names.track, owner);
    names["name"] = array(t.names.name, owner);
    names["args"] = texts(t.names.args, owner);
    out["tracks"] = tracks;
    out["names"] = names;
    return out;
}

nb::dict columns(nb::handle self) {
    const chrome::Table& t = nb::cast<Document&>(self).table;
    nb::dict out;
    out["spans"] = spans(t, self);
    out.update(points(t, self));
    out.update(links(t, self));
    out.update(tracks(t, self));
    out["string_ends"] = array(t.strings.ends(), self);
    out["string_bytes"] = bytes(t.strings.bytes(), self);
    return out;
}

nb::dict account(const Document& d) {
    nb::dict ignored, out;
    for (const auto& [why, count] : d.table.ignored) ignored[why.c_str()] = count;
    nb::list metadata;
    for (const auto& [key, text] : d.metadata)
        metadata.append(nb::make_tuple(nb::str(key.data(), key.size()), nb::str(text.data(), text.size())));
    out["ignored"] = ignored;
    out["metadata"] = metadata;
    out["message"] = d.message;
    out["position"] = d.position;
    out["bytes"] = d.bytes;
    out["kept"] = d.kept;
    out["trailing"] = d.trailing;
    out["elements"] = d.elements;
    out["oversized"] = d.oversized;
    out["repaired"] = d.table.repaired;
    out["event_arrays"] = d.event_arrays;
    out["is_array"] = d.is_array;
    return out;
}

const char* finish(Document& document) {
    static constexpr const char* words[] = {"whole", "open", "cut", "bad", "no events", "empty"};
    nb::gil_scoped_release release;
    return words[int(document.finish())];
}

template <typename T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object enclosing(Input<int32_t> track, Input<int64_t> start, Input<int64_t> duration, Input<int32_t> at_track,
                     Input<int64_t> at_time, Input<uint8_t> inside) {
    if (track.size() != start.size() || start.size() != duration.size() || at_track.size() != at_time.size() ||
        at_time.size() != inside.size())
        throw nb::value_error("columns of one table have different lengths");
    auto* out = new int64_t[at_time.size() + 1];
    nb::capsule owner(out, [](void* p) noexcept { delete[] static_cast<int64_t*>(p); });
    {
        nb::gil_scoped_release release;
        find_spans({track.data(), start.data(), duration.data(), start.size()},
                   {at_track.data(), at_time.data(), inside.data(), at_time.size()}, out);
    }
    return array(out, at_time.size(), owner);
}

}  // namespace

void bind_chrome(nb::module_& m) {
    nb::class_<Document>(m, "ChromeDocument", "A Chrome trace as a stream of bytes; see chrome_document.hpp.")
        .def(nb::init<const std::vector<std::string>&, size_t>(), nb::arg("known_categories"), nb::arg("max_value"))
        .def(
            "feed",
            [](Document& d, nb::bytes piece) {
                nb::gil_scoped_release release;
                d.feed({piece.c_str(), piece.size()});
            },
            nb::arg("piece"), "The next bytes of the file.")
        .def("finish", &finish, "How the file ended: whole, open, cut, bad, no events, empty. Nothing may follow.")
        .def(
            "columns", [](nb::handle self) { return columns(self); },
            nb::sig("def columns(self) -> dict[str, typing.Any]"), "Every column; valid after finish().")
        .def("account", &account, nb::sig("def account(self) -> dict[str, typing.Any]"),
             "What was read, ignored and repaired, and the members beside the events.");
    m.def(
        "enclosing_spans", &enclosing, nb::arg("track").noconvert(), nb::arg("start").noconvert(),
        nb::arg("duration").noconvert(), nb::arg("at_track").noconvert(), nb::arg("at_time").noconvert(),
        nb::arg("inside").noconvert(),
        nb::sig("def enclosing_spans(track: typing.Any, start: typing.Any, duration: typing.Any, at_track: typing.Any, "
                "at_time: typing.Any, inside: typing.Any) -> typing.Any"),
        "The row of the innermost span that holds each point, or -1.");
}

}  // namespace eventide::python
