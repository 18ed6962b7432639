// One bind_<subject> function per file; module.cpp calls them.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

#include "bindings/base/python.hpp"

namespace eventide::python {

// A verb that nanobind serves: what f gives or throws, unless an exception is set or was kept for the caller.
template <class F>
auto as_verb(F&& f) {
    Verb verb;
    decltype(f()) result{};
    std::exception_ptr thrown;
    try {
        result = f();
    } catch (const std::exception&) {
        thrown = std::current_exception();
    }
    verb.end(nullptr);
    if (PyErr_Occurred()) nanobind::raise_python_error();
    if (thrown) std::rethrow_exception(thrown);
    return result;
}

void bind_types(nanobind::module_& m);
void bind_hooks(nanobind::module_& m);
void bind_hook_record(nanobind::module_& m);
void bind_feed(nanobind::module_& m);
void bind_devices(nanobind::module_& m);
void bind_clock(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_process(nanobind::module_& m);
void bind_sanitizer(nanobind::module_& m);
void bind_sanitizer_feed(nanobind::module_& m);
void bind_live_sanitizer(nanobind::module_& m);
void bind_trace_writers(nanobind::module_& m);
void bind_perfetto_xplane_readers(nanobind::module_& m);
void bind_chrome(nanobind::module_& m);
void bind_stacks(nanobind::module_& m);
void bind_profiler(nanobind::module_& m);
void bind_recorder(nanobind::module_& m);
void bind_children(nanobind::module_& m);
void bind_clock_exchange(nanobind::module_& m);
void bind_recorder_timing(nanobind::module_& m);
void bind_torch(nanobind::module_& m);
void bind_eventide_reader(nanobind::module_& m);
void bind_derived_work(nanobind::module_& m);
void bind_analysis(nanobind::module_& m);

}  // namespace eventide::python
