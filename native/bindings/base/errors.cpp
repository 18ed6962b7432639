// Between C++ errors and Python exceptions.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "bindings/base/exception.hpp"

namespace eventide::python {
namespace {

const char* class_name(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::usage:
            return "UsageError";
        case ErrorKind::type:
            return "UsageTypeError";
        case ErrorKind::value:
            return "UsageValueError";
        case ErrorKind::device:
            return "DeviceError";
        case ErrorKind::stream:
            return "StreamError";
        case ErrorKind::event:
            return "EventError";
        case ErrorKind::deadlock:
            return "DeadlockError";
    }
    return "InternalError";
}

}  // namespace

PyObject* errors_attribute(const char* name) {
    PyErr_Clear();  // the error raised next is more specific
    PyObject* module = PyImport_ImportModule("eventide.errors");
    if (!module) return nullptr;
    PyObject* value = PyObject_GetAttrString(module, name);
    Py_DECREF(module);
    return value;
}

PyObject* error_class(ErrorKind kind) {
    return errors_attribute(class_name(kind));
}

// A message may hold bytes of a device or of a file, or a text that was cut: what is not UTF-8 is replaced.
static void set_error(PyObject* type, const char* message) {
    if (PyObject* text = PyUnicode_DecodeUTF8(message, Py_ssize_t(std::strlen(message)), "replace")) {
        PyErr_SetObject(type, text);
        Py_DECREF(text);
    }
}

PyObject* raise(const Error& error) {
    if (PyObject* type = error_class(error.kind)) {
        set_error(type, error.what());
        Py_DECREF(type);
    }
    return nullptr;
}

PyObject* raise(ErrorKind kind, const char* format, ...) {
    PyObject* type = error_class(kind);
    if (!type) return nullptr;
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(type, format, arguments);
    va_end(arguments);
    Py_DECREF(type);
    return nullptr;
}

PyObject* raise(const std::exception& error) {
    if (dynamic_cast<const std::bad_alloc*>(&error)) {
        PyErr_SetString(PyExc_MemoryError, error.what());
        return nullptr;
    }
    if (PyObject* type = errors_attribute("InternalError")) {
        set_error(type, error.what());
        Py_DECREF(type);
    }
    return nullptr;
}

PyObject* raise_failure(const Failure& failure) {
    if (auto* f = dynamic_cast<const PythonFailure*>(&failure)) {
        f->show();
        PyErr_SetObject((PyObject*)Py_TYPE(f->exception), f->exception);
        return nullptr;
    }
    return raise(Error(ErrorKind::device, failure.message));
}

PyObject* make_stream_error(const Failure& failure, const std::string& what) {
    PyObject* type = error_class(ErrorKind::stream);
    if (!type) return nullptr;
    const std::string text = what + " because earlier work there raised " + failure.message +
                             "; stream.synchronize() raises that error and makes the stream usable again";
    PyObject* error = PyObject_CallFunction(type, "s", text.c_str());
    Py_DECREF(type);
    if (!error) return nullptr;
    if (auto* f = dynamic_cast<const PythonFailure*>(&failure)) {
        f->show();
        PyException_SetCause(error, Py_NewRef(f->exception));
        return error;
    }
    raise(Error(ErrorKind::device, failure.message));
    PyException_SetCause(error, take_exception());
    return error;
}

PyObject* raise_stream_error(const Failure& failure, const std::string& what) {
    if (PyObject* error = make_stream_error(failure, what)) {
        PyErr_SetObject((PyObject*)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return nullptr;
}

namespace {

// eventide.errors.<reporter>(what, subject, the current exception)
void report(const char* reporter, const char* what, PyObject* subject) {
    PyObject* exception = take_exception();
    PyObject* function = errors_attribute(reporter);
    PyObject* r = function ? PyObject_CallFunction(function, "sOO", what, subject, exception) : nullptr;
    if (!r) PyErr_WriteUnraisable(subject);
    Py_XDECREF(r);
    Py_XDECREF(function);
    Py_XDECREF(exception);
}

}  // namespace

bool report_callback_error(const char* what, PyObject* callback) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
    report("report_callback_error", what, callback);
    return true;
}

void report_unknown_accesses(PyObject* work) {
    report("report_unknown_accesses", "work_submission", work);
}

bool parse_arguments(const char* function, const char* const* names, PyObject** slots, int count, PyObject* const* args,
                     Py_ssize_t nargs, PyObject* kwnames) {
    if (nargs > count) {
        raise(ErrorKind::type, "%s() takes at most %d arguments, %zd were given", function, count, nargs);
        return false;
    }
    for (Py_ssize_t i = 0; i < nargs; ++i) slots[i] = args[i];
    const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < named; ++k) {
        PyObject* key = PyTuple_GET_ITEM(kwnames, k);
        int i = 0;
        while (i < count && PyUnicode_CompareWithASCIIString(key, names[i]) != 0) ++i;
        if (i == count || slots[i]) {
            raise(ErrorKind::type, i == count ? "%s() has no argument named '%U'" : "%s() got argument '%U' twice",
                  function, key);
            return false;
        }
        slots[i] = args[nargs + k];
    }
    return true;
}

PyObject* raise_timeout(const char* verb, const std::string& what, const Timeout& timeout) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.15g", timeout.seconds);
    return PyErr_Format(PyExc_TimeoutError, "%s: %s after %s s; the work continues", verb, what.c_str(), seconds);
}

bool parse_timeout(PyObject* given, Timeout& timeout) {
    timeout = {};
    if (!given || given == Py_None) return true;
    if (!PyFloat_Check(given) && !PyLong_Check(given)) {
        raise(ErrorKind::type, "timeout must be seconds or None, not %s", Py_TYPE(given)->tp_name);
        return false;
    }
    const double seconds = PyFloat_AsDouble(given);
    if (seconds == -1.0 && PyErr_Occurred()) return false;
    if (seconds != seconds) {
        raise(ErrorKind::value, "timeout must be a number of seconds, not nan");
        return false;
    }
    timeout.seconds = seconds > 0 ? seconds : 0;
    if (seconds < 9e9) timeout.deadline = now_ns() + int64_t(timeout.seconds * 1e9);
    return true;
}

}  // namespace eventide::python
