// The pending exception of this thread: put aside for a scope, taken as an object, set again. All with the GIL.
#pragma once

#include "bindings/base/python.hpp"

namespace eventide::python {

// Clears the pending exception for a scope and sets it again at the end, in place of one that was set meanwhile. If
// there was none, what was set meanwhile stays.
class KeptException {
  public:
    KeptException() { fetch(); }
    // Not on a thread that is unwound at exit: it has lost the GIL.
    ~KeptException() {
        if (value_ && state_with_gil()) restore();
    }
    KeptException(const KeptException&) = delete;
    KeptException& operator=(const KeptException&) = delete;

  private:
#if PY_VERSION_HEX >= 0x030c0000
    void fetch() { value_ = PyErr_GetRaisedException(); }
    void restore() { PyErr_SetRaisedException(value_); }
    PyObject* value_;
#else
    void fetch() { PyErr_Fetch(&value_, &argument_, &trace_); }
    void restore() { PyErr_Restore(value_, argument_, trace_); }
    PyObject *value_, *argument_, *trace_;  // value_ is the type: the exception itself may not be made yet
#endif
};

// The pending exception with its traceback, a new reference, which clears it; nullptr if there is none.
inline PyObject* take_exception() {
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (!type) return nullptr;
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    Py_DECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

// Sets an exception as it was taken. Takes over the reference.
inline void set_exception(PyObject* exception) {
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(Py_NewRef((PyObject*)Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
#endif
}

}  // namespace eventide::python
