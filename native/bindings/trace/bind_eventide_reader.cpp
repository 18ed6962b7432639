// The reader of .eventide files: columns as arrays, for Arrow to wrap.
#include <nanobind/stl/string.h>

#include <system_error>
#include <utility>

#include "bindings/base/bind.hpp"
#include "bindings/base/python.hpp"
#include "bindings/trace/arrays.hpp"
#include "encoding/varint.hpp"
#include "tracefile/trace_columns.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

nb::bytes raw(const std::string& text) {
    return nb::bytes(text.data(), text.size());
}

nb::object bytes_array(const std::string& text) {
    return array(LargeVector<uint8_t>(text.begin(), text.end()));
}

// Texts with their ends, as one column of strings.
nb::tuple texts(tracefile::TextColumn&& column) {
    return nb::make_tuple(array(std::move(column.offsets)), bytes_array(std::exchange(column.bytes, {})));
}

nb::tuple texts(const std::vector<std::string_view>& all) {
    tracefile::TextColumn column;
    for (const std::string_view text : all) column.add(text);
    return texts(std::move(column));
}

#define COLUMN(name) out[#name] = array(std::move(c.name))

nb::dict to_dict(tracefile::SpanColumns&& c) {
    nb::dict out;
    COLUMN(track), COLUMN(name), COLUMN(category), COLUMN(outcome), COLUMN(stack), COLUMN(error), COLUMN(start);
    COLUMN(end), COLUMN(submit), COLUMN(cpu), COLUMN(work), COLUMN(correlation);
    out["args"] = texts(std::move(c.arguments));
    return out;
}

nb::dict to_dict(tracefile::InstantColumns&& c) {
    nb::dict out;
    COLUMN(track), COLUMN(name), COLUMN(category), COLUMN(stack), COLUMN(time);
    out["args"] = texts(std::move(c.arguments));
    return out;
}

nb::dict to_dict(tracefile::CounterColumns&& c) {
    nb::dict out;
    COLUMN(track), COLUMN(name), COLUMN(thread), COLUMN(time), COLUMN(value);
    return out;
}

nb::dict to_dict(tracefile::EdgeColumns&& c) {
    nb::dict out;
    COLUMN(kind), COLUMN(from_track), COLUMN(to_track), COLUMN(from_time), COLUMN(to_time), COLUMN(event);
    COLUMN(version), COLUMN(correlation);
    return out;
}

nb::dict to_dict(tracefile::HookColumns&& c) {
    nb::dict out;
    COLUMN(hook), COLUMN(end), COLUMN(outcome), COLUMN(known), COLUMN(thread), COLUMN(device), COLUMN(name);
    COLUMN(group), COLUMN(stack), COLUMN(time), COLUMN(stream), COLUMN(event), COLUMN(version), COLUMN(work);
    COLUMN(start), COLUMN(finish), COLUMN(waited), COLUMN(cpu), COLUMN(handle), COLUMN(bytes);
    COLUMN(access_offsets), COLUMN(access_address), COLUMN(access_bytes), COLUMN(access_run), COLUMN(access_stride);
    COLUMN(access_write), COLUMN(access_possible);
    return out;
}

// Per stack its number and where its frames begin; per frame the numbers of file and function, and the line.
nb::dict stacks_of(const tracefile::TraceColumns& t) {
    struct {
        std::vector<int32_t> number, offsets{0}, file, function, line;
    } c;
    for (const auto& [number, stack] : t.stacks) {
        if (stack.empty() || number > INT32_MAX) continue;  // columns have 32 bits for it
        for (ByteReader in(stack); in.left();) {
            const uint64_t file = in.varint(), function = in.varint(), line = in.varint();
            if (in.bad()) break;
            c.file.push_back(int32_t(file));
            c.function.push_back(int32_t(function));
            c.line.push_back(int32_t(line));
        }
        c.number.push_back(int32_t(number));
        c.offsets.push_back(int32_t(c.file.size()));
    }
    nb::dict out;
    COLUMN(number), COLUMN(offsets), COLUMN(file), COLUMN(function), COLUMN(line);
    return out;
}

nb::dict columns_of(const tracefile::RawTrace& raw_trace) {
    tracefile::TraceColumns t;
    {
        nb::gil_scoped_release release;
        t = tracefile::columns_of(raw_trace);
    }
    nb::dict out, records, clock;
    for (int k = 1; k < tracefile::kind_count; ++k) records[tracefile::kind_names[k]] = t.records[k];
    clock["ns_per_tick"] = t.clock.ns_per_tick;
    clock["residual_ns"] = t.clock.residual_ns;
    clock["anchors"] = t.clock.anchors;
    nb::list notes;
    for (const std::string& note : raw_trace.notes) notes.append(raw(note));
    out["spans"] = to_dict(std::move(t.spans));
    out["instants"] = to_dict(std::move(t.instants));
    out["counters"] = to_dict(std::move(t.counters));
    out["edges"] = to_dict(std::move(t.edges));
    out["hooks"] = to_dict(std::move(t.hooks));
    out["texts"] = texts(t.texts);
    out["tracks"] = texts(t.tracks);
    out["stacks"] = stacks_of(t);
    out["records"] = records;
    out["clock"] = clock;
    out["head"] = raw(raw_trace.head);
    out["account"] = raw(raw_trace.account);
    out["notes"] = notes;
    out["closed"] = raw_trace.closed;
    out["torn_bytes"] = raw_trace.bytes.size() - raw_trace.good;
    out["lost_ends"] = t.lost_ends;
    out["damaged"] = t.damaged;
    out["left_out"] = t.left_out;
    return out;
}

// FormatError -> TraceFormatError(message, path, offset); a system error -> OSError.
template <class F>
auto reading(const std::string& path, F f) {
    try {
        return f();
    } catch (const tracefile::FormatError& e) {
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

void bind_eventide_reader(nb::module_& m) {
    nb::class_<tracefile::RawTrace>(m, "RawTrace", "A trace file in memory: its frames are checked, and not decoded.")
        .def_prop_ro(
            "has_buffer", [](const tracefile::RawTrace& raw_trace) { return !raw_trace.buffer.empty(); },
            "Whether the buffer of a recording that was not closed is part of this.")
        .def("columns", &columns_of, "The columns of everything in it, as arrays, and the metadata of the file.");
    m.def(
        "load_trace",
        [](const std::string& path) {
            return reading(path, [&] {
                nb::gil_scoped_release release;
                return tracefile::load(path);
            });
        },
        nb::arg("path"), "Reads a trace file into memory; later changes of the file have no effect.");
    m.def(
        "recover_trace",
        [](const std::string& path) {
            reading(path, [&] {
                nb::gil_scoped_release release;
                tracefile::recover(path);
                return 0;
            });
        },
        nb::arg("path"), "Closes the file of a process that was killed.");
    m.def(
        "copy_trace",
        [](const std::string& path, const std::string& to, const std::string& note) {
            reading(to, [&] {
                nb::gil_scoped_release release;
                tracefile::copy(path, to, note);
                return 0;
            });
        },
        nb::arg("path"), nb::arg("to"), nb::arg("note"),
        "Writes a closed copy of a trace, also of one that is being recorded.");
}

}  // namespace eventide::python
