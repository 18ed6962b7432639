// Child processes of a recorded program, and the calls that start, replace and reap them.
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bindings/base/bind.hpp"
#include "bindings/base/exception.hpp"
#include "recorder/children.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

// A function of another module with something before and after it. Native, so that it is in no traceback of the
// program, and warnings name the program's own line.
struct Intercepted {
    nb::object original, before, after;
};

// An error of Eventide is printed, not raised into the program.
nb::object guarded_call(const nb::object& callable, const nb::object& first, const nb::object& second) {
    if (callable.is_none()) return nb::none();
    PyObject* result = PyObject_CallFunctionObjArgs(callable.ptr(), first.ptr(), second.ptr(), nullptr);
    if (!result) {
        PyErr_WriteUnraisable(callable.ptr());
        return nb::none();
    }
    return nb::steal(result);
}

nb::object call(const Intercepted& self, const nb::args& args, const nb::kwargs& kwargs) {
    const nb::object replaced = guarded_call(self.before, args, kwargs);
    const nb::object given = PyTuple_Check(replaced.ptr()) ? replaced : nb::object(args);
    PyObject* result = PyObject_Call(self.original.ptr(), given.ptr(), kwargs.ptr());
    if (!result) {
        {
            const KeptException kept;
            guarded_call(self.after, nb::none(), given);
        }
        nb::raise_python_error();
    }
    nb::object out = nb::steal(result);
    guarded_call(self.after, out, given);
    return out;
}

}  // namespace

void bind_children(nb::module_& m) {
    nb::class_<Intercepted>(m, "Intercepted", nb::dynamic_attr(), "A function with calls before and after it.")
        .def(
            "__init__",
            [](Intercepted* self, nb::object original, nb::object before, nb::object after) {
                new (self) Intercepted{std::move(original), std::move(before), std::move(after)};
            },
            nb::arg("original"), nb::arg("before").none(), nb::arg("after").none(),
            "before(args, kwargs) returns other positional arguments or None, and may change kwargs; after(result, "
            "args) "
            "is called in any case, with None for an error.")
        .def_ro("original", &Intercepted::original, "The function.")
        .def("__call__", &call, nb::arg("args"), nb::arg("kwargs"),
             nb::sig("def __call__(self, *args: object, **kwargs: object) -> object"));
    m.def("child_started", &recorder::child_started, nb::arg("pid"), nb::arg("start_ns"), nb::arg("name"),
          nb::arg("about"), "Records the life of a child process, from its start to its end.");
    m.def("child_reaped", &recorder::child_reaped, nb::arg("pid"), nb::arg("code"),
          "The program has waited for it; a negative code is the signal that killed it.");
    m.def("end_children", &recorder::end_children, "Records the children that still run: the recording ends.");
}

}  // namespace eventide::python
