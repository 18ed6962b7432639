// The kinds of work that Python can submit.
#pragma once

#include "bindings/types/hot_future.hpp"
#include "runtime/work.hpp"

namespace eventide::python {

// The display name: the declared one, else that of the function, else of its class. With the GIL.
std::string name_of_callable(PyObject* function);

// A Python call. Allocated with its arguments behind it; made and disposed of with the GIL.
class PythonWork final : public Work {
  public:
    // `keep` lives as long as the work. nullptr with an exception set if there is no memory.
    static PythonWork* make(PyObject* function, PyObject* keep, PyObject* const* args, Py_ssize_t nargs,
                            PyObject* kwnames, Future* future);

    bool needs_host_lock() const override { return true; }
    bool begin() override { return future_begin(future_); }
    Ref<Failure> run() override;
    void skip(const Failure& first) override { future_set_failure(future_, first, true); }
    void fail(const Failure& failure) override { future_set_failure(future_, failure, false); }
    void publish() override;
    void dispose() override;
    std::string name() const override;
    double duration() const override;

  private:
    PythonWork() = default;
    PyObject* function_;
    PyObject* keep_;
    Future* future_;
    PyObject* kwnames_;
    Py_ssize_t positional_;
    Py_ssize_t total_;
    PyObject* arguments_[1];  // one spare place in front (vectorcall), then total_ of them
};

// Work that never takes the GIL. What it holds of Python is dropped later by a thread that has it.
class NativeWork : public Work, private Dropped {
  public:
    NativeWork(Future* future, PyObject* keep) : keep_(keep), future_(future) {}  // steals both

    bool needs_host_lock() const override { return false; }
    bool begin() override { return future_begin(future_); }
    Ref<Failure> run() override;
    void skip(const Failure& first) override { future_set_failure(future_, first, true); }
    void fail(const Failure& failure) override { future_set_failure(future_, failure, false); }
    void publish() override;
    void dispose() override { drop_later(this); }

  protected:
    virtual void act() = 0;
    PyObject* keep_;  // null once it was handed on

  private:
    void drop() override;
    Future* future_;
};

class CallWork final : public NativeWork {
  public:
    using Function = void (*)(void*);
    CallWork(Function function, void* argument, Future* future, PyObject* keep)
        : NativeWork(future, keep), function_(function), argument_(argument) {}

  private:
    void act() override { function_(argument_); }
    Function function_;
    void* argument_;
};

class CopyWork final : public NativeWork {
  public:
    std::string name() const override { return "copy"; }
    void publish() override;
    CopyWork(void* to, const void* from, size_t bytes, Future* future, PyObject* keep)
        : NativeWork(future, keep), to_(to), from_(from), bytes_(bytes) {}

  private:
    void act() override;
    void* to_;
    const void* from_;
    size_t bytes_;
};

}  // namespace eventide::python
