// Stacks of Python, captured and interned.
#include <nanobind/nanobind.h>

#include "base/stacks.hpp"
#include "bindings/base/bind.hpp"
#include "bindings/base/frames.hpp"

namespace nb = nanobind;

namespace eventide::python {

void bind_stacks(nb::module_& m) {
    install_stack_capture();
    m.def(
        "capture_stack", [] { return stacks::capture(); },
        "The number of the caller's stack: equal stacks have equal numbers, for the life of the process.");
    m.def(
        "resolve_stack",
        [](uint32_t id) {
            nb::list out;
            for (const stacks::Frame& f : stacks::resolve(id))
                out.append(nb::make_tuple(nb::str(f.file.data(), f.file.size()), f.line,
                                          nb::str(f.function.data(), f.function.size())));
            return nb::tuple(out);
        },
        nb::arg("stack"), "(file, line, function) of each frame, innermost first.");
    m.def(
        "hide_code", [](nb::handle code) { hide_code(code.ptr()); }, nb::arg("code"),
        "Frames of this code, and of no other that was hidden before, are left out of stacks.");
    m.def(
        "stack_statistics",
        [] {
            const stacks::Statistics s = stacks::statistics();
            return nb::make_tuple(s.interned, s.lost);
        },
        "(interned, captures lost beyond the limit)");
}

}  // namespace eventide::python
