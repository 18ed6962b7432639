// Between C++ errors and Python exceptions.
#include <cstdarg>
#include <cstdio>

#include "../core/notifier.hpp"
#include "python.hpp"

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

PyObject* errors_attribute(const char* name) {
    PyErr_Clear();  // what we are about to raise says it better
    PyObject* module = PyImport_ImportModule("eventide.errors");
    if (!module) return nullptr;
    PyObject* value = PyObject_GetAttrString(module, name);
    Py_DECREF(module);
    return value;
}

std::string describe_exception(PyObject* exception) {
    std::string out = Py_TYPE(exception)->tp_name;
    if (PyObject* text = PyObject_Str(exception)) {
        if (const char* s = PyUnicode_AsUTF8(text); s && *s) out += std::string(": ") + s;
        Py_DECREF(text);
    }
    PyErr_Clear();
    return out;
}

// Tells the log about an error that nobody saw; on the notifier, because the worker that noticed it has no GIL.
class UnseenTask final : public Task {
  public:
    UnseenTask(PyObject* exception, std::string where) : exception_(exception), where_(std::move(where)) {}
    ~UnseenTask() override { Py_DECREF(exception_); }
    void run() override {
        PyObject* report = errors_attribute("report_unseen");
        PyObject* r = report ? PyObject_CallFunction(report, "Os", exception_, where_.c_str()) : nullptr;
        if (!r) PyErr_WriteUnraisable(report);
        Py_XDECREF(r);
        Py_XDECREF(report);
    }

  private:
    PyObject* const exception_;
    const std::string where_;
};

}  // namespace

PyObject* error_class(ErrorKind kind) {
    return errors_attribute(class_name(kind));
}

PyObject* raise(const Error& error) {
    if (PyObject* type = error_class(error.kind)) {
        PyErr_SetString(type, error.what());
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
    if (dynamic_cast<const std::bad_alloc*>(&error)) return PyErr_NoMemory();
    if (PyObject* type = errors_attribute("InternalError")) {
        PyErr_SetString(type, error.what());
        Py_DECREF(type);
    }
    return nullptr;
}

PythonFailure::PythonFailure(PyObject* e) : Failure(describe_exception(e)), exception(Py_NewRef(e)) {}

PythonFailure::~PythonFailure() {
    drop_later(exception);
}

void PythonFailure::report_unseen(const std::string& where) {
    if (seen.load(std::memory_order_relaxed) || process::abandoned.load(std::memory_order_relaxed)) return;
    const int turn = take_gil();
    Task* task = new UnseenTask(Py_NewRef(exception), where);
    give_gil(turn);
    notifier::post(task);
}

PyObject* raise_failure(const Failure& failure) {
    if (auto* f = dynamic_cast<const PythonFailure*>(&failure)) {
        const_cast<PythonFailure*>(f)->seen.store(true, std::memory_order_relaxed);
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
        const_cast<PythonFailure*>(f)->seen.store(true, std::memory_order_relaxed);
        PyException_SetCause(error, Py_NewRef(f->exception));
        return error;
    }
    raise(Error(ErrorKind::device, failure.message));
    PyObject *kind, *cause, *trace;
    PyErr_Fetch(&kind, &cause, &trace);
    PyErr_NormalizeException(&kind, &cause, &trace);
    Py_XDECREF(kind);
    Py_XDECREF(trace);
    PyException_SetCause(error, cause);
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
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    PyObject* function = errors_attribute(reporter);
    PyObject* r = function ? PyObject_CallFunction(function, "sOO", what, subject, value) : nullptr;
    if (!r) PyErr_WriteUnraisable(subject);
    Py_XDECREF(r);
    Py_XDECREF(function);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
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

PyObject* raise_timeout(const char* verb, const std::string& what, int64_t timeout_ns) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.4g", double(timeout_ns < 1000 ? 0 : timeout_ns) * 1e-9);
    return PyErr_Format(PyExc_TimeoutError, "%s: %s after %s s; the work goes on", verb, what.c_str(), seconds);
}

bool parse_timeout(PyObject* timeout, int64_t& deadline) {
    deadline = no_deadline;
    if (!timeout || timeout == Py_None) return true;
    if (!PyFloat_Check(timeout) && !PyLong_Check(timeout)) {
        raise(ErrorKind::type, "timeout must be seconds or None, not %s", Py_TYPE(timeout)->tp_name);
        return false;
    }
    const double seconds = PyFloat_AsDouble(timeout);
    if (seconds == -1.0 && PyErr_Occurred()) return false;
    if (seconds != seconds) {
        raise(ErrorKind::value, "timeout must be a number of seconds, not nan");
        return false;
    }
    if (seconds < 9e9) deadline = now_ns() + (seconds > 0 ? int64_t(seconds * 1e9) : 0);
    return true;
}

}  // namespace eventide::python
