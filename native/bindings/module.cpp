#include <nanobind/nanobind.h>

#include "bindings/base/bind.hpp"
#include "bindings/base/python.hpp"

#ifdef Py_GIL_DISABLED
#error "eventide needs the GIL, and this Python is free-threaded; build it with a Python that has the GIL"
#endif

namespace nb = nanobind;
using namespace eventide;

NB_MODULE(_native, m) {
    m.doc() = "The native core of Eventide. Private: use the eventide package.";
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        throw nb::import_error("eventide runs in the main interpreter only, not in subinterpreters");
    nb::set_leak_warnings(false);  // classes and default streams are kept until the process ends, on purpose
    nb::register_exception_translator(
        [](const std::exception_ptr& p, void*) {
            try {
                std::rethrow_exception(p);
            } catch (const Error& e) {
                python::raise(e);
            }
        },
        nullptr);
    python::bind_types(m);
    python::bind_hook_record(m);
    python::bind_hooks(m);
    python::bind_feed(m);
    python::bind_devices(m);
    python::bind_clock(m);
    python::bind_memory(m);
    python::bind_process(m);
    python::bind_sanitizer(m);
    python::bind_sanitizer_feed(m);
    python::bind_live_sanitizer(m);
    python::bind_trace_writers(m);
    python::bind_perfetto_xplane_readers(m);
    python::bind_chrome(m);
    python::bind_stacks(m);
    python::bind_profiler(m);
    python::bind_recorder(m);
    python::bind_children(m);
    python::bind_clock_exchange(m);
    python::bind_recorder_timing(m);
    python::bind_torch(m);
    python::bind_eventide_reader(m);
    python::bind_derived_work(m);
    python::bind_analysis(m);
}
