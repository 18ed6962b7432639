// Calls into a device that is written in Python, from any thread and below frames of the core.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "bindings/base/exception.hpp"

namespace eventide::python {

// A turn with the GIL. An exception that is on its way to the user is put aside meanwhile; none is left by the turn.
class Turn {
  public:
    Turn() = default;
    ~Turn() { PyErr_Clear(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    struct Gil {
        const int how = take_gil();
        ~Gil() { give_gil(how); }
    };
    const Gil gil_;  // before kept_: given back after the exception is set again
    const KeptException kept_;
};

// A reference, dropped inside a Turn: that may run code.
class Owned {
  public:
    explicit Owned(PyObject* object) : object_(object) {}
    ~Owned() {
        or_park([this] { Py_XDECREF(object_); });
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    operator PyObject*() const { return object_; }
    PyObject* give() { return std::exchange(object_, nullptr); }

  private:
    PyObject* object_;
};

// Thrown where the backend raised no Exception, but KeyboardInterrupt, SystemExit or the like. See Verb.
class Interrupted final : public Error {
  public:
    using Error::Error;
};

// One method of a backend, for the life of the process. All with the GIL.
struct Method {
    const char* name;
    PyObject* function;
    const std::string* type;  // of the device

    // A new reference. Throws Error with what it raised.
    PyObject* operator()(std::initializer_list<PyObject*> args) const;
    // The same where there is no caller to raise it at: sys.unraisablehook gets it, and the result is nullptr.
    PyObject* or_report(std::initializer_list<PyObject*> args) const;
    void report(const Error& error) const;
    // The value as a number. Throws Error with the returned value and the remedy: "return a MarkerState".
    int64_t integer(PyObject* value, const char* remedy) const;
    // Throws Error "poll() of device 'x' returned 'yes' (str); return a MarkerState".
    [[noreturn]] void refuse(PyObject* value, const char* remedy) const;
    // Throws the current exception as an Error; it is cleared. One that is no Exception is raised by the verb.
    [[noreturn]] void fail() const;

  private:
    std::string message() const;  // "poll() of device 'x' "
};

}  // namespace eventide::python
