// Submitting: Python calls, native calls, copies.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/context.hpp"
#include "bindings/base/exception.hpp"
#include "bindings/base/utf8.hpp"
#include "bindings/hooks/host_access.hpp"
#include "bindings/types/hot_stream.hpp"
#include "bindings/types/hot_work.hpp"
#include "runtime/wait_graph.hpp"

namespace eventide::python {
namespace {

PyTypeObject* work_class = nullptr;
PyObject* copy_watcher = nullptr;
PyObject *s_fn, *s_name, *s_qualname, *s_accesses, *s_copy;

// Blocks while the stream is full. False with an exception set.
bool wait_for_room(Stream& stream) {
    Waited waited = Waited::interrupted;
    const std::string verb =
        "Stream.submit() to a full stream (max_pending=" + std::to_string(stream.options.max_pending) + ")";
    guarded([&]() -> PyObject* {
        Blocking blocking(verb.c_str(), stream, stream.completed() + 1,
                          "raise max_pending or submit from outside of its work");
        do {
            blocking.retarget(stream, stream.completed() + 1);
            waited = wait_without_gil(now_ns() + slice_ns, [&](int64_t ns) {
                stream.sleep_until_space(ns);
                return stream.queued() < stream.options.max_pending || stream.closed();
            });
        } while (waited == Waited::timeout);
        return nullptr;
    });
    return waited == Waited::done;
}

// Queues the work, or disposes of it. Returns its position; 0 with an exception set.
uint64_t queue(Stream& stream, Work* work, Future* future, SubmitListener* submitted = nullptr) {
    for (;;) {
        uint64_t position = 0;
        translated([&]() -> PyObject* {
            stream.check_usable();
            Ref<Marker> behind;
            position = stream.try_submit(*work, &behind, submitted);
            if (behind) future_watch(future, std::move(behind));
            return nullptr;
        });
        if (position) return position;
        if (PyErr_Occurred() || !wait_for_room(stream)) {
            work->dispose();
            return 0;
        }
    }
}

struct Submission {
    std::string name;
    std::vector<Access> reads;
    std::vector<Access> writes;
    bool known = false;
    std::string_view category = {};  // of its span; empty: work
};

// Resolves what declared work reads and writes. An error is logged, not raised: listening must not break the program.
void add_accesses(Submission& s, PyObject* work, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    std::vector<PyObject*> full{work};
    full.insert(full.end(), args, args + nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
    PyObject* both = PyObject_VectorcallMethod(s_accesses, full.data(), size_t(nargs + 1), kwnames);
    if (!both) {
        report_unknown_accesses(work);
        return;
    }
    if (both != Py_None) {
        s.reads = read_accesses(PyTuple_GET_ITEM(both, 0));
        s.writes = read_accesses(PyTuple_GET_ITEM(both, 1));
        s.known = true;
    }
    Py_DECREF(both);
}

// The time of the submission, if there is a listener; taken before, since the worker may run it before the hook fires.
int64_t submission_time() {
    return hub::listening(Hook::work_submission) ? now_ns() : 0;
}

// False if a listener raised KeyboardInterrupt or SystemExit.
bool fire_submission(Stream& stream, uint64_t work, int64_t time, const Submission& s) {
    HookRecord r{.hook = Hook::work_submission, .device = stream.device_id, .time_ns = time};
    r.stream = stream.id;
    r.work = work;
    r.name = s.name;
    r.group = s.category;
    r.accesses_known = s.known;
    r.reads = s.reads.data();
    r.writes = s.writes.data();
    r.read_count = uint32_t(s.reads.size());
    r.write_count = uint32_t(s.writes.size());
    hub::fire(r);
    return !PyErr_Occurred();
}

// Fires work_submission for a Python call: after the act, on immediate devices between fn and the marker that ends it.
class SubmissionHook final : public SubmitListener {
  public:
    SubmissionHook(Stream& stream, uint64_t work, PyObject* given, PyObject* const* args, Py_ssize_t nargs,
                   PyObject* kwnames)
        : stream_(stream), work_(work), outer_(thread_context.submitting), outer_work_(thread_context.submitting_work) {
        if (!time_) return;
        s_.emplace().name = name_of_callable(given);
        if (Py_TYPE(given) == work_class) {
            const MemoryAsOf submission(time_);
            add_accesses(*s_, given, args, nargs, kwnames);  // runs Python code: not between the act and the hook
        }
        thread_context.submitting = this;
        thread_context.submitting_work = work;
    }
    ~SubmissionHook() {
        thread_context.submitting = outer_;
        thread_context.submitting_work = outer_work_;
    }
    SubmissionHook(const SubmissionHook&) = delete;
    SubmissionHook& operator=(const SubmissionHook&) = delete;

    void on_submitted() override {
        if (std::exchange(fired_, true) || !time_) return;
        or_park([this] { fire(); });
    }
    // False with what a listener raised.
    bool finish() {
        if (!fired_) on_submitted();
        if (exception_) set_exception(std::exchange(exception_, nullptr));
        return !PyErr_Occurred();
    }

  private:
    void fire() {
        // The submission continues; then the caller gets the exception.
        if (!fire_submission(stream_, work_, time_, *s_)) exception_ = take_exception();
    }

    Stream& stream_;
    const uint64_t work_;
    const int64_t time_ = submission_time();
    SubmitListener* const outer_;
    const uint64_t outer_work_;
    std::optional<Submission> s_;    // with time_
    PyObject* exception_ = nullptr;  // what a listener raised
    bool fired_ = false;
};

// Ctrl-C inside work that runs inside submit is the caller's too: raises it.
bool was_interrupted(const Future* future) {
    if (future->skipped) return false;  // the error is that of earlier work, which its caller had
    auto* failure = dynamic_cast<const PythonFailure*>(future->failure);
    if (!failure || !PyErr_GivenExceptionMatches(failure->exception, PyExc_KeyboardInterrupt)) return false;
    raise_failure(*failure);
    return true;
}

// Queues native work for a new Future and fires the hook.
template <class Make>
PyObject* submit_native(Stream& stream, PyObject* keep, const Submission& s, Make make) {
    if (stream.position() % 32 == 0) drop_what_is_due();  // the notifier does it too, a little later
    Future* future = make_future();
    if (!future) return nullptr;
    NativeWork* work = make((Future*)Py_NewRef((PyObject*)future), Py_NewRef(keep));
    if (!work) {
        Py_DECREF((PyObject*)future);
        Py_DECREF((PyObject*)future);
        Py_DECREF(keep);
        return nullptr;
    }
    Verb verb;
    const uint64_t id = work->id = Work::next_id();
    future_bind(future, stream, 0, id);
    const int64_t time = submission_time();
    const uint64_t position = queue(stream, work, future);
    if (position) future_bind(future, stream, position, id);
    if (!position || (hub::listening(Hook::work_submission) && !fire_submission(stream, id, time, s))) Py_CLEAR(future);
    return verb.end((PyObject*)future);
}

}  // namespace

std::string name_of_callable(PyObject* function) {
    PyObject* name = nullptr;
    if (Py_TYPE(function) == work_class) name = PyObject_GetAttr(function, s_name);
    if (!name) {
        PyErr_Clear();
        name = PyObject_GetAttr(function, s_qualname);
    }
    PyErr_Clear();
    std::string out = name && PyUnicode_Check(name) ? utf8(name) : Py_TYPE(function)->tp_name;
    Py_XDECREF(name);
    return out;
}

void set_work_class(PyObject* type) {
    Py_XSETREF(work_class, (PyTypeObject*)Py_NewRef(type));
    s_fn = PyUnicode_InternFromString("fn");
    s_name = PyUnicode_InternFromString("name");
    s_qualname = PyUnicode_InternFromString("__qualname__");
    s_accesses = PyUnicode_InternFromString("_accesses");
    s_copy = PyUnicode_InternFromString("_copy_by_device");
}

PyObject* stream_submit(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    Stream* stream = usable_core(self);
    if (!stream) return nullptr;
    if (nargs < 1) return raise(ErrorKind::type, "submit() needs a callable as its first argument");
    PyObject* given = args[0];
    PyObject* function = Py_TYPE(given) == work_class ? PyObject_GetAttr(given, s_fn) : Py_NewRef(given);
    if (!function) return nullptr;
    if (!PyCallable_Check(function)) {
        Py_DECREF(function);
        return raise(ErrorKind::type, "submit() needs a callable as its first argument, not %s",
                     Py_TYPE(given)->tp_name);
    }
    Future* future = make_future();
    PythonWork* work = future ? PythonWork::make(function, given, args + 1, nargs - 1, kwnames, future) : nullptr;
    Py_DECREF(function);
    if (!work) {
        Py_XDECREF((PyObject*)future);
        return nullptr;
    }
    const uint64_t id = work->id = Work::next_id();
    future_bind(future, *stream, 0, id);
    Verb verb;
    SubmissionHook hook(*stream, id, given, args + 1, nargs - 1, kwnames);
    const uint64_t position = queue(*stream, work, future, stream->immediate() ? &hook : nullptr);
    if (position) future->position = position;
    if (!position || !hook.finish() || (stream->immediate() && was_interrupted(future))) Py_CLEAR(future);
    return verb.end((PyObject*)future);
}

// The address in a ctypes function pointer; nullptr if it is something else. No exception is set.
void* function_address(PyObject* function) {
    static PyTypeObject* pointer_type = nullptr;
    if (!pointer_type) {
        PyObject* module = PyImport_ImportModule("eventide.runtime._native_call");
        pointer_type = module ? (PyTypeObject*)PyObject_GetAttrString(module, "FunctionPointer") : nullptr;
        Py_XDECREF(module);
    }
    Py_buffer view;
    if (!pointer_type || !PyObject_TypeCheck(function, pointer_type) ||
        PyObject_GetBuffer(function, &view, PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return nullptr;
    }
    void* address = view.len == sizeof(void*) ? *static_cast<void**>(view.buf) : nullptr;
    PyBuffer_Release(&view);
    return address;
}

// _submit_call(function: int, argument: int, keep: object, name: str, declared: Work | None)
PyObject* stream_submit_call(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
    Stream* stream = usable_core(self);
    if (!stream) return nullptr;
    if (nargs != 5) return raise(ErrorKind::type, "_submit_call() takes 5 arguments, %zd were given", nargs);
    void* function = PyLong_AsVoidPtr(args[0]);
    if (PyErr_Occurred()) return nullptr;
    void* argument = PyLong_AsVoidPtr(args[1]);
    if (PyErr_Occurred()) return nullptr;
    Submission s;
    if (hub::listening(Hook::work_submission)) {
        s.name = utf8(args[3]);
        if (args[4] != Py_None) add_accesses(s, args[4], nullptr, 0, nullptr);
    }
    return submit_native(*stream, args[2], s, [&](Future* f, PyObject* keep) -> NativeWork* {
        return new_or_raise<CallWork>(reinterpret_cast<CallWork::Function>(function), argument, f, keep);
    });
}

// submit_native of a function pointer with no argument or an address, and nothing declared; all else goes to Python.
PyObject* stream_submit_native(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    void* function = !kwnames && nargs && nargs <= 2 ? function_address(args[0]) : nullptr;
    PyObject* given = nargs == 2 ? args[1] : Py_None;
    if (!function || (given != Py_None && !PyLong_Check(given)) || hub::listening(Hook::work_submission)) {
        PyObject* module = PyImport_ImportModule("eventide.runtime._native_call");
        PyObject* submit = module ? PyObject_GetAttrString(module, "submit_native") : nullptr;
        Py_XDECREF(module);
        if (!submit) return nullptr;
        std::vector<PyObject*> full{self};
        full.insert(full.end(), args, args + nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
        PyObject* r = PyObject_Vectorcall(submit, full.data(), size_t(nargs + 1), kwnames);
        Py_DECREF(submit);
        return r;
    }
    Stream* stream = usable_core(self);
    void* argument = stream && given != Py_None ? PyLong_AsVoidPtr(given) : nullptr;
    if (PyErr_Occurred()) return nullptr;
    return submit_native(*stream, args[0], {}, [&](Future* f, PyObject* keep) -> NativeWork* {
        return new_or_raise<CallWork>(reinterpret_cast<CallWork::Function>(function), argument, f, keep);
    });
}

// Reports the two objects of a copy to the watcher of host memory. Its errors are logged.
void watch_ends(PyObject* const* ends) {
    for (int i = 0; i < 2 && copy_watcher; ++i) {
        PyObject* r = PyObject_CallOneArg(copy_watcher, ends[i]);
        if (!r) PyErr_WriteUnraisable(copy_watcher);
        Py_XDECREF(r);
    }
}

void set_copy_watcher(PyObject* watcher) {
    Py_XSETREF(copy_watcher, watcher == Py_None ? nullptr : Py_NewRef(watcher));
}

PyObject* stream_copy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    static const char* const names[] = {"dst", "src"};
    Stream* stream = usable_core(self);
    PyObject* ends[2] = {};
    if (!stream || !parse_arguments("copy", names, ends, 2, args, nargs, kwnames)) return nullptr;
    if (!ends[0] || !ends[1]) return raise(ErrorKind::type, "copy() needs dst and src");
    if (stream->immediate()) return PyObject_CallMethodObjArgs(self, s_copy, ends[0], ends[1], nullptr);
    PyObject* views = PyTuple_New(2);  // keeps both exported until the copy is complete
    if (!views) return nullptr;
    for (int i = 0; i < 2; ++i) {
        PyObject* view = PyMemoryView_FromObject(ends[i]);
        if (!view && PyErr_ExceptionMatches(PyExc_TypeError))
            raise(ErrorKind::type, "copy() needs a Buffer or an array of the host as %s, not %s", names[i],
                  Py_TYPE(ends[i])->tp_name);
        if (view && !PyBuffer_IsContiguous(PyMemoryView_GET_BUFFER(view), 'C')) {
            Py_CLEAR(view);
            raise(ErrorKind::value, "copy() needs C-contiguous memory, but %s is strided; copy a contiguous part of it",
                  names[i]);
        }
        if (!view) {
            Py_DECREF(views);
            return nullptr;
        }
        PyTuple_SET_ITEM(views, i, view);
    }
    Py_buffer* to = PyMemoryView_GET_BUFFER(PyTuple_GET_ITEM(views, 0));
    Py_buffer* from = PyMemoryView_GET_BUFFER(PyTuple_GET_ITEM(views, 1));
    PyObject* out = nullptr;
    if (to->readonly) {
        raise(ErrorKind::value, "copy() cannot write to dst: this %s is read-only", Py_TYPE(ends[0])->tp_name);
    } else if (to->len != from->len) {
        raise(ErrorKind::value, "copy() needs equal sizes: dst has %zd bytes, src has %zd", to->len, from->len);
    } else {
        if (copy_watcher && hub::listening(Hook::work_submission)) watch_ends(ends);
        const uint64_t bytes = uint64_t(to->len);
        Submission s;
        if (hub::listening(Hook::work_submission))
            s = {"copy", {{uint64_t(from->buf), bytes}}, {{uint64_t(to->buf), bytes}}, true, "copy"};
        out = submit_native(*stream, views, s, [&](Future* f, PyObject* keep) -> NativeWork* {
            return new_or_raise<CopyWork>(to->buf, from->buf, size_t(bytes), f, keep);
        });
    }
    Py_DECREF(views);
    return out;
}

}  // namespace eventide::python
