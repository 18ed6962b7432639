// Starting and stopping the recorder, and records that other packages put into the trace.
#include <nanobind/stl/string.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "bindings/base/bind.hpp"
#include "bindings/base/utf8.hpp"
#include "bindings/recorder/sampler.hpp"
#include "bindings/recorder/thread_names.hpp"
#include "bindings/types/hot_span.hpp"
#include "recorder/payload_records.hpp"
#include "recorder/recorder.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

// The name of this thread in `threading`.
std::string name_of_current_thread() {
    if (!state_with_gil()) return "";
    const KeptException kept;
    std::string out = python_thread_name(PyThread_get_thread_ident());
    if (out.empty() && on_main_thread()) out = "MainThread";
    return out;
}

std::string text_or_nothing(nb::handle text) {
    return text.is_none() ? std::string() : utf8(text.ptr());
}

}  // namespace

void bind_recorder(nb::module_& m) {
    recorder::thread_name.store(name_of_current_thread, std::memory_order_relaxed);
    PyTypeObject* span = make_span_type();
    if (!span || PyModule_AddFunctions(m.ptr(), span_functions) < 0) nb::raise_python_error();
    m.attr("span") = nb::steal((PyObject*)span);
    m.def(
        "set_span_helpers",
        [](nb::object decorate, nb::object describe) { set_span_helpers(decorate.ptr(), describe.ptr()); },
        nb::arg("decorate"), nb::arg("describe"));
    m.def(
        "set_span_annotator", [](nb::object make) { set_span_annotator(make.ptr()); }, nb::arg("make").none(),
        "make(name), a context manager, is entered and left with every span from now on; None: no more.");
    m.def(
        "recorder_start",
        [](const std::string& path, uint64_t buffer, bool ring, bool durable, bool stacks, const std::string& about,
           int dump_signal, int64_t hang_ns) {
            try {
                nb::gil_scoped_release release;
                recorder::start({path, buffer, ring, durable, stacks, about, dump_signal, hang_ns});
                recorder::listen_to_hooks();
            } catch (const std::system_error& e) {
                errno = e.code().value();
                PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
                throw nb::python_error();
            }
        },
        nb::arg("path"), nb::arg("buffer"), nb::arg("ring"), nb::arg("durable"), nb::arg("stacks"), nb::arg("about"),
        nb::arg("dump_signal"), nb::arg("hang_ns"));
    m.def(
        "recorder_stop",
        [] {
            recorder::Result result;
            {
                nb::gil_scoped_release release;
                recorder::stop_listening();
                result = recorder::stop();
            }
            return nb::make_tuple(result.buffer, result.write_error);
        },
        "Ends the recording; (buffer, error) of what could not be written.");
    m.def("sampler_start", &start_sampler, nb::arg("period_ns"),
          "Records the stack of every thread each period, as instants, until sampler_stop().");
    m.def("sampler_stop", &stop_sampler);
    m.def("recorder_path", &recorder::path, "The file that is being recorded to; empty: none.");
    m.def(
        "recorder_flush",
        [] {
            nb::gil_scoped_release release;
            recorder::flush();
        },
        "Writes the chunks that are full now.");
    m.def(
        "recorder_note", [](const std::string& json) { recorder::note(json); }, nb::arg("json"),
        "Keeps a JSON object with the trace that is being recorded.");
    m.def(
        "record_span",
        [](nb::handle track, nb::handle name, nb::handle category, int64_t start, int64_t end, nb::handle args,
           uint32_t stack, int64_t submit, uint64_t cpu, uint64_t work, uint64_t correlation, nb::handle outcome) {
            if (end < start)
                throw Error(ErrorKind::value, "a span cannot end before it starts: start_ns=" + std::to_string(start) +
                                                  ", end_ns=" + std::to_string(end));
            const std::string outcome_text = text_or_nothing(outcome);
            recorder::record_span(text_or_nothing(track), utf8(name.ptr()), text_or_nothing(category), start, end,
                                  text_or_nothing(args), stack, {submit, cpu, work, correlation, outcome_text});
        },
        nb::arg("track").none(), nb::arg("name"), nb::arg("category").none(), nb::arg("start_ns"), nb::arg("end_ns"),
        nb::arg("args").none() = nb::none(), nb::arg("stack") = 0, nb::arg("submit_ns") = 0, nb::arg("cpu_ns") = 0,
        nb::arg("work") = 0, nb::arg("correlation") = 0, nb::arg("outcome").none() = nb::none(),
        "A finished span with its times (CLOCK_MONOTONIC, ns). track: None for this thread's own, a name, or JSON with "
        "columns of tracks; args: a JSON object as text.");
    m.def(
        "record_instant",
        [](nb::handle track, nb::handle name, nb::handle category, nb::handle args, uint32_t stack, int64_t time) {
            recorder::record_instant(text_or_nothing(track), utf8(name.ptr()), text_or_nothing(category),
                                     text_or_nothing(args), stack, time);
        },
        nb::arg("track").none(), nb::arg("name"), nb::arg("category").none() = nb::none(),
        nb::arg("args").none() = nb::none(), nb::arg("stack") = 0, nb::arg("time_ns") = 0, "A point in time; 0: now.");
    m.def(
        "record_counter",
        [](nb::handle track, nb::handle name, double value, int64_t time) {
            recorder::record_counter(text_or_nothing(track), utf8(name.ptr()), value, time);
        },
        nb::arg("track").none(), nb::arg("name"), nb::arg("value"), nb::arg("time_ns") = 0,
        "The value of a counter from one time on; 0: now.");
    m.def(
        "record_edge",
        [](nb::handle kind, nb::handle from_track, int64_t from_ns, nb::handle to_track, int64_t to_ns, uint64_t event,
           uint64_t version, uint64_t correlation) {
            recorder::record_edge(utf8(kind.ptr()), text_or_nothing(from_track), from_ns, text_or_nothing(to_track),
                                  to_ns, {event, version, correlation});
        },
        nb::arg("kind"), nb::arg("from_track").none(), nb::arg("from_ns"), nb::arg("to_track").none(), nb::arg("to_ns"),
        nb::arg("event") = 0, nb::arg("version") = 0, nb::arg("correlation") = 0,
        "A dependency of one span on another: launch, wait, synchronize, flow.");
}

}  // namespace eventide::python
