#include "bindings/types/hot_work.hpp"

#include <cstring>
#include <unordered_set>
#include <utility>

#include "bindings/base/exception.hpp"
#include "bindings/base/frames.hpp"

namespace eventide::python {

PythonWork* PythonWork::make(PyObject* function, PyObject* keep, PyObject* const* args, Py_ssize_t nargs,
                             PyObject* kwnames, Future* future) {
    const Py_ssize_t total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    void* memory = PyMem_Malloc(sizeof(PythonWork) + size_t(total) * sizeof(PyObject*));
    if (!memory) {
        PyErr_NoMemory();
        return nullptr;
    }
    auto* w = new (memory) PythonWork;
    w->function_ = Py_NewRef(function);
    w->keep_ = Py_NewRef(keep);
    w->future_ = (Future*)Py_NewRef((PyObject*)future);
    w->kwnames_ = Py_XNewRef(kwnames);
    w->positional_ = nargs;
    w->total_ = total;
    w->arguments_[0] = nullptr;
    for (Py_ssize_t i = 0; i < total; ++i) w->arguments_[i + 1] = Py_NewRef(args[i]);
    return w;
}

// Both may run code of the program, in which the GIL passes to a thread that runs and disposes of the work.
std::string PythonWork::name() const {
    PyObject* keep = Py_NewRef(keep_);
    std::string out = name_of_callable(keep);
    Py_DECREF(keep);
    return out;
}

double PythonWork::duration() const {
    PyObject* keep = Py_NewRef(keep_);
    PyObject* seconds = PyObject_GetAttrString(keep, "duration");
    Py_DECREF(keep);
    const bool number = seconds && (PyFloat_Check(seconds) || PyLong_Check(seconds));
    const double value = number ? PyFloat_AsDouble(seconds) : -1;
    Py_XDECREF(seconds);
    PyErr_Clear();
    return value;
}

// The exceptions that were handled when this one was raised: those of the work, not the one that its caller handles.
static void forget_handled(PyObject* exception) {
    PyObject* handled = PyErr_GetHandledException();
    if (!handled) return;
    std::unordered_set<PyObject*> seen;  // a program can make a cycle of contexts
    while (exception && seen.insert(exception).second) {
        PyObject* context = PyException_GetContext(exception);
        Py_XDECREF(context);  // the exception has it
        if (context == handled) PyException_SetContext(exception, nullptr);
        exception = context == handled ? nullptr : context;
    }
    Py_DECREF(handled);
}

// Work that runs inside a call of the program refers to its caller, whose variables may have the stream and the events
// that are to carry the error: a cycle through native memory, which Python's collector cannot see.
static void forget_caller(PyObject* exception) {
    PyFrameObject* caller = PyThreadState_GetFrame(PyThreadState_Get());
    if (!caller) return;
    cut_caller(exception, caller);
    Py_DECREF(caller);
    forget_handled(exception);
}

Ref<Failure> PythonWork::run() {
    PyObject* r = or_park([this] {
        return PyObject_Vectorcall(function_, arguments_ + 1, size_t(positional_) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                   kwnames_);
    });
    if (r) {
        future_set_result(future_, r);
        return {};
    }
    PyObject* exception = take_exception();
    forget_caller(exception);
    Ref<Failure> failure(new PythonFailure(exception));
    Py_DECREF(exception);
    future_set_failure(future_, *failure, false);
    return failure;
}

void PythonWork::publish() {
    if (future_publish(future_)) future_ = nullptr;
}

void PythonWork::dispose() {
    or_park([this] {
        Py_DECREF(function_);
        Py_DECREF(keep_);
        for (Py_ssize_t i = 0; i < total_; ++i) Py_DECREF(arguments_[i + 1]);
        Py_XDECREF(kwnames_);
        Py_XDECREF((PyObject*)future_);
    });
    this->~PythonWork();
    PyMem_Free(this);
}

Ref<Failure> NativeWork::run() {
    std::string message;
    try {
        act();
        return {};
    } catch (const std::exception& e) {
        message = e.what();
    } catch (abi::__forced_unwind&) {
        park_thread();  // the function called into Python while the interpreter shut down: see or_park
    } catch (...) {
        message = "an exception that is not a std::exception";
    }
    Ref<Failure> failure(new Failure("native work threw " + message));
    future_set_failure(future_, *failure, false);
    return failure;
}

void NativeWork::publish() {
    if (future_publish(future_)) future_ = nullptr;
}

void NativeWork::drop() {
    Future* future = future_;
    PyObject* keep = keep_;
    delete this;
    or_park([=] {
        Py_XDECREF((PyObject*)future);
        Py_XDECREF(keep);
    });
}

void CopyWork::act() {
    std::memmove(to_, from_, bytes_);
}

// Its views are handed on first: a thread that finds it done, and drops what is due, finds no array exported any more.
void CopyWork::publish() {
    drop_later(std::exchange(keep_, nullptr));
    NativeWork::publish();
}

}  // namespace eventide::python
