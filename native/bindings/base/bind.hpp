// One bind_<thing> per thing; module.cpp only lists them.
#pragma once

#include <nanobind/nanobind.h>

namespace eventide::python {

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
void bind_trace_readers(nanobind::module_& m);
void bind_chrome(nanobind::module_& m);
void bind_stacks(nanobind::module_& m);
void bind_profiler(nanobind::module_& m);
void bind_recorder(nanobind::module_& m);
void bind_recorder_timing(nanobind::module_& m);
void bind_torch(nanobind::module_& m);
void bind_trace_reader(nanobind::module_& m);
void bind_derived_work(nanobind::module_& m);
void bind_analysis(nanobind::module_& m);

}  // namespace eventide::python
