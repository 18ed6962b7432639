// Reading trace files: columns as bytes, for Arrow to wrap.
#include <nanobind/stl/string.h>

#include <system_error>

#include "../core/trace_columns.hpp"
#include "../core/varint.hpp"
#include "bind.hpp"
#include "python.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

template <class T>
nb::bytes raw(const std::vector<T>& column) {
    return nb::bytes(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T));
}

nb::bytes raw(const std::string& text) {
    return nb::bytes(text.data(), text.size());
}

// Texts with their ends, as one column of strings.
nb::tuple texts(const std::vector<std::string_view>& all) {
    recorder::TextColumn column;
    for (const std::string_view text : all) column.add(text);
    return nb::make_tuple(raw(column.offsets), raw(column.bytes));
}

#define COLUMN(name) out[#name] = raw(c.name)

nb::dict to_dict(const recorder::SpanColumns& c) {
    nb::dict out;
    COLUMN(track), COLUMN(name), COLUMN(category), COLUMN(outcome), COLUMN(stack), COLUMN(error), COLUMN(start);
    COLUMN(end), COLUMN(submit), COLUMN(cpu), COLUMN(work), COLUMN(correlation);
    out["args"] = nb::make_tuple(raw(c.arguments.offsets), raw(c.arguments.bytes));
    return out;
}

nb::dict to_dict(const recorder::InstantColumns& c) {
    nb::dict out;
    COLUMN(track), COLUMN(name), COLUMN(category), COLUMN(stack), COLUMN(time);
    out["args"] = nb::make_tuple(raw(c.arguments.offsets), raw(c.arguments.bytes));
    return out;
}

nb::dict to_dict(const recorder::CounterColumns& c) {
    nb::dict out;
    COLUMN(track), COLUMN(name), COLUMN(thread), COLUMN(time), COLUMN(value);
    return out;
}

nb::dict to_dict(const recorder::EdgeColumns& c) {
    nb::dict out;
    COLUMN(kind), COLUMN(from_track), COLUMN(to_track), COLUMN(from_time), COLUMN(to_time), COLUMN(event);
    COLUMN(version), COLUMN(correlation);
    return out;
}

nb::dict to_dict(const recorder::HookColumns& c) {
    nb::dict out;
    COLUMN(hook), COLUMN(end), COLUMN(outcome), COLUMN(known), COLUMN(thread), COLUMN(device), COLUMN(name);
    COLUMN(group), COLUMN(stack), COLUMN(time), COLUMN(stream), COLUMN(event), COLUMN(version), COLUMN(work);
    COLUMN(start), COLUMN(finish), COLUMN(waited), COLUMN(cpu), COLUMN(handle), COLUMN(bytes);
    COLUMN(access_offsets), COLUMN(access_address), COLUMN(access_bytes), COLUMN(access_run), COLUMN(access_stride);
    COLUMN(access_write), COLUMN(access_possible);
    return out;
}

// Per stack: its number, and for each frame the numbers of file and function and the line.
nb::list stacks_of(const recorder::TraceColumns& t) {
    nb::list out;
    for (size_t i = 0; i < t.stacks.size(); ++i) {
        if (t.stacks[i].empty()) continue;
        nb::list frames;
        for (ByteReader in(t.stacks[i]); in.left();) {
            const uint64_t file = in.varint(), function = in.varint(), line = in.varint();
            if (!in.bad()) frames.append(nb::make_tuple(file, function, line));
        }
        out.append(nb::make_tuple(i + 1, frames));
    }
    return out;
}

nb::dict read(const std::string& path) {
    recorder::RawTrace raw_trace;
    recorder::TraceColumns t;
    {
        nb::gil_scoped_release release;
        raw_trace = recorder::load(path);
        t = recorder::columns_of(raw_trace);
    }
    nb::dict out, things, clock;
    for (int k = 1; k < recorder::kind_count; ++k) things[recorder::kind_names[k]] = t.things[k];
    clock["ns_per_tick"] = t.clock.ns_per_tick;
    clock["residual_ns"] = t.clock.residual_ns;
    clock["anchors"] = t.clock.anchors;
    nb::list notes;
    for (const std::string& note : raw_trace.notes) notes.append(raw(note));
    out["spans"] = to_dict(t.spans);
    out["instants"] = to_dict(t.instants);
    out["counters"] = to_dict(t.counters);
    out["edges"] = to_dict(t.edges);
    out["hooks"] = to_dict(t.hooks);
    out["texts"] = texts(t.texts);
    out["tracks"] = texts(t.tracks);
    out["stacks"] = stacks_of(t);
    out["things"] = things;
    out["clock"] = clock;
    out["head"] = raw(raw_trace.head);
    out["account"] = raw(raw_trace.account);
    out["notes"] = notes;
    out["closed"] = raw_trace.closed;
    out["buffer"] = raw_trace.buffer;
    out["torn_bytes"] = raw_trace.bytes.size() - raw_trace.good;
    out["lost_ends"] = t.lost_ends;
    out["damaged"] = t.damaged;
    return out;
}

// FormatError -> TraceFormatError(message, path, offset); a system error -> OSError.
template <class F>
auto reading(const std::string& path, F f) {
    try {
        return f();
    } catch (const recorder::FormatError& e) {
        nb::object cls = nb::module_::import_("eventide.errors").attr("TraceFormatError");
        PyErr_SetObject(cls.ptr(), nb::make_tuple(e.what(), path, e.offset).ptr());
        throw nb::python_error();
    } catch (const std::system_error& e) {
        errno = e.code().value();
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
        throw nb::python_error();
    }
}

}  // namespace

void bind_trace_reader(nb::module_& m) {
    m.def(
        "read_trace", [](const std::string& path) { return reading(path, [&] { return read(path); }); },
        nb::arg("path"), "The columns of a trace file, as bytes.");
    m.def(
        "recover_trace",
        [](const std::string& path) {
            reading(path, [&] {
                nb::gil_scoped_release release;
                recorder::recover(path);
                return 0;
            });
        },
        nb::arg("path"), "Closes the file of a process that was killed.");
    m.def(
        "copy_trace",
        [](const std::string& path, const std::string& to, const std::string& note) {
            reading(to, [&] {
                nb::gil_scoped_release release;
                recorder::copy(path, to, note);
                return 0;
            });
        },
        nb::arg("path"), nb::arg("to"), nb::arg("note"),
        "Writes a closed copy of a trace, also of one that is being recorded.");
}

}  // namespace eventide::python
