#include "bindings/devices/python_call.hpp"

#include <utility>

namespace eventide::python {
namespace {

constexpr size_t longest_value = 80;  // bytes of a repr in a message

std::string text_of(PyObject* object, PyObject* (*how)(PyObject*)) {
    const Owned text(or_park([=] { return how(object); }));
    const char* s = text ? PyUnicode_AsUTF8(text) : nullptr;
    std::string out = s ? s : "";
    PyErr_Clear();
    return out;
}

}  // namespace

void Method::fail() const {
    const Owned value(or_park([] { return take_exception(); }));
    const std::string detail = text_of(value, PyObject_Str);
    const std::string text =
        message() + "raised " + Py_TYPE(value)->tp_name + (detail.empty() ? detail : ": " + detail);
    if (PyErr_GivenExceptionMatches(value, PyExc_Exception)) throw Error(ErrorKind::device, text);
    Verb::interrupt(value);
    throw Interrupted(ErrorKind::device, text);
}

std::string Method::message() const {
    return std::string(name) + "() of device '" + *type + "' ";
}

void Method::refuse(PyObject* value, const char* remedy) const {
    std::string shown = text_of(value, PyObject_Repr);
    if (shown.size() > longest_value) shown = shown.substr(0, longest_value) + "...";
    if (value != Py_None) shown += std::string(" (") + Py_TYPE(value)->tp_name + ")";
    throw Error(ErrorKind::device, message() + "returned " + shown + "; " + remedy);
}

PyObject* Method::operator()(std::initializer_list<PyObject*> args) const {
    PyObject* r = or_park([&] { return PyObject_Vectorcall(function, args.begin(), args.size(), nullptr); });
    if (!r) fail();
    return r;
}

PyObject* Method::or_report(std::initializer_list<PyObject*> args) const {
    PyObject* r = or_park([&] { return PyObject_Vectorcall(function, args.begin(), args.size(), nullptr); });
    if (r) return r;
    if (PyErr_ExceptionMatches(PyExc_Exception)) {
        or_park([this] { PyErr_WriteUnraisable(function); });
        return nullptr;
    }
    try {
        fail();
    } catch (const Interrupted&) {  // the caller of the verb gets it
    }
    return nullptr;
}

void Method::report(const Error& error) const {
    if (dynamic_cast<const Interrupted*>(&error)) return;
    or_park([&] {
        raise(error);
        PyErr_WriteUnraisable(function);
    });
}

int64_t Method::integer(PyObject* value, const char* remedy) const {
    const Owned number(or_park([=] { return PyNumber_Index(value); }));
    const long long n = number ? PyLong_AsLongLong(number) : -1;
    if (n != -1 || !PyErr_Occurred()) return n;
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_OverflowError)) fail();
    PyErr_Clear();
    refuse(value, remedy);
}

}  // namespace eventide::python
