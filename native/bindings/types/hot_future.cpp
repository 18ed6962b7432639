#include "bindings/types/hot_future.hpp"

#include <structmember.h>

#include "base/context.hpp"
#include "base/futex.hpp"
#include "base/wake.hpp"
#include "bindings/hooks/synchronization.hpp"
#include "runtime/notifier.hpp"
#include "runtime/poller.hpp"
#include "runtime/wait_graph.hpp"

namespace eventide::python {
namespace {

enum : uint32_t { pending = 0, running = 1, cancelled = 2, finished = 3, state_bits = 3 };
constexpr uint32_t has_condition = 4;  // concurrent.futures uses it: changes are notified under the condition
constexpr uint32_t has_callbacks = 8;
constexpr uint32_t has_sleepers = 16;

uint32_t state_of(const Future* f) {
    return f->word.load(std::memory_order_acquire) & state_bits;
}
bool is_over(const Future* f) {
    return state_of(f) >= cancelled;
}

// What concurrent.futures expects of a Future (a state by name, a Condition, waiters), made on first use.

// For a Future with waiters or callbacks: a polled device is polled from now on until the work is complete.
void poll_until_complete(Future* f) {
    if (f->marker && !is_over(f)) poller::watch(Ref<Marker>(f->marker));
}

// For _deliver: whether concurrent.futures has used this Future.
PyObject* future_watched(PyObject* self, void*) {
    return PyBool_FromLong(((Future*)self)->condition != nullptr);
}

// For _deliver: publishes the state to concurrent.futures, and returns the callbacks.
PyObject* future_settle(PyObject* self, PyObject*) {
    auto* f = (Future*)self;
    f->settled = state_of(f);
    PyObject* callbacks = f->callbacks;
    f->callbacks = nullptr;
    return callbacks ? callbacks : PyList_New(0);
}

PyObject* future_state_name(PyObject* self, void*) {
    auto* f = (Future*)self;
    static const char* const names[] = {"PENDING", "RUNNING", "CANCELLED_AND_NOTIFIED", "FINISHED"};
    return PyUnicode_InternFromString(names[f->condition ? f->settled : state_of(f)]);
}

PyObject* future_condition(PyObject* self, void*) {
    auto* f = (Future*)self;
    if (!f->condition) {
        PyObject* threading = PyImport_ImportModule("threading");
        PyObject* made = threading ? PyObject_CallMethod(threading, "Condition", nullptr) : nullptr;
        Py_XDECREF(threading);
        if (!made) return nullptr;
        if (f->condition) {  // another thread was here while we made one
            Py_DECREF(made);
        } else {
            f->condition = made;
            f->settled = f->word.fetch_or(has_condition, std::memory_order_acq_rel) & state_bits;
            poll_until_complete(f);
        }
    }
    return Py_NewRef(f->condition);
}

PyObject* future_waiters(PyObject* self, void*) {
    auto* f = (Future*)self;
    if (!f->waiters && !(f->waiters = PyList_New(0))) return nullptr;
    return Py_NewRef(f->waiters);
}

PyObject* future_callbacks(PyObject* self, void*) {
    auto* f = (Future*)self;
    if (!f->callbacks && !(f->callbacks = PyList_New(0))) return nullptr;
    return Py_NewRef(f->callbacks);
}

PyTypeObject* future_base = nullptr;
PyTypeObject* future_class = nullptr;
PyObject* future_loader = nullptr;

// A polled device detects the end of work only when it is polled.
void poll_device(Future* f) {
    // Held here: the device may release the GIL, and the Future may drop its own reference then.
    if (Ref<Marker> marker(f->marker); marker && !is_over(f)) (void)marker->pending();
}

// Fires host_wait for a finished Future. False if a listener raised.
bool observe_completion(Future* f) {
    return state_of(f) != finished || host_observed_completion(f->stream, 0, 0, f->work_id);
}

class DeliverTask final : public Task {
  public:
    explicit DeliverTask(Future* f) : future_(f) {}
    ~DeliverTask() override { Py_DECREF(future_); }
    void run() override {
        if (!observe_completion(future_)) send_to_main_thread();
        PyObject* name = PyUnicode_InternFromString("_deliver");
        PyObject* r = PyObject_CallMethodNoArgs((PyObject*)future_, name);
        Py_DECREF(name);
        if (!r && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_WriteUnraisable((PyObject*)future_);
        if (!r && PyErr_Occurred()) send_to_main_thread();
        Py_XDECREF(r);
    }

  private:
    Future* const future_;
};

// Moves to a final state. True if there are waiters or callbacks to notify.
bool end(Future* f, uint32_t state) {
    uint32_t w = f->word.load(std::memory_order_relaxed);
    while (!f->word.compare_exchange_weak(w, (w & ~state_bits) | state, std::memory_order_acq_rel)) {
    }
    if (w & has_sleepers) wake_soon(f->word);
    return w & (has_condition | has_callbacks);
}

bool sleep(Future* f, Marker* marker, int64_t ns) {
    if (marker) {
        marker->sleep(ns);
        return is_over(f);
    }
    uint32_t w = f->word.load(std::memory_order_acquire);
    while ((w & state_bits) < cancelled && !(w & has_sleepers))
        if (f->word.compare_exchange_weak(w, w | has_sleepers, std::memory_order_acq_rel)) w |= has_sleepers;
    if ((w & state_bits) >= cancelled) return true;
    futex::wait(f->word, w, ns);
    return is_over(f);
}

// False with an exception set: timeout, Ctrl-C, deadlock, fork.
bool block(Future* f, const char* verb, PyObject* given) {
    if (is_over(f)) {
        drop_what_is_due();  // such as the arrays that a copy kept exported
        return true;
    }
    Timeout timeout;
    if (!parse_timeout(given, timeout)) return false;
    if (!f->stream || !process::is_current(f->stream->generation)) {
        raise(Error(ErrorKind::stream, process::before_fork("the work of this Future")));
        return false;
    }
    Waited waited = Waited::interrupted;
    guarded([&]() -> PyObject* {
        Blocking blocking(verb, *f->stream, f->position);
        Ref<Marker> marker(f->marker);  // the Future drops its own when it is published
        waited = wait_without_gil(timeout.deadline, [&](int64_t ns) { return sleep(f, marker.get(), ns); });
        return nullptr;
    });
    if (waited == Waited::timeout) raise_timeout(verb, "work on " + f->stream->describe() + " is not done", timeout);
    return waited == Waited::done;
}

PyObject* raise_cancelled() {
    PyObject* module = PyImport_ImportModule("concurrent.futures");
    PyObject* type = module ? PyObject_GetAttrString(module, "CancelledError") : nullptr;
    if (type) PyErr_SetNone(type);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return nullptr;
}

// The exception of a finished Future, a new reference: nullptr if there is none, or if making it failed (an exception
// is set). What is made here is the same object as long as the program has it; the Future does not keep it, because its
// traceback may come to hold the Future.
PyObject* exception_of(Future* f) {
    if (!f->failure && !f->exception) return nullptr;
    auto* raised = f->skipped ? nullptr : dynamic_cast<const PythonFailure*>(f->failure);
    if (raised && !f->exception) {  // from now on as a reference of its own, which the collector sees
        raised->show();
        f->exception = own_exception(raised->exception);
        f->failure = nullptr;
        raised->release();
    }
    if (f->exception) {
        show_exception(f->exception);
        return Py_NewRef(f->exception);
    }
    PyObject* made = f->made ? PyObject_CallNoArgs(f->made) : Py_NewRef(Py_None);
    if (made != Py_None) return made;
    Py_DECREF(made);
    if (f->skipped) {
        made = make_stream_error(*f->failure, "work on " + f->stream->describe() + " was skipped");
    } else {
        raise_failure(*f->failure);
        made = take_exception();
    }
    PyObject* reference = made ? PyWeakref_NewRef(made, nullptr) : nullptr;
    if (!reference) {
        Py_XDECREF(made);
        return nullptr;
    }
    Py_XSETREF(f->made, reference);
    return made;
}

PyObject* g_exception(PyObject* self, void*) {
    auto* f = (Future*)self;
    PyObject* e = is_over(f) ? exception_of(f) : nullptr;
    if (e || PyErr_Occurred()) return e;
    Py_RETURN_NONE;
}

const char* const timeout_name[] = {"timeout"};

PyObject* m_result(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    auto* f = (Future*)self;
    PyObject* timeout = nullptr;
    if ((nargs || kwnames) && !parse_arguments("Future.result", timeout_name, &timeout, 1, args, nargs, kwnames))
        return nullptr;
    if (!block(f, "Future.result()", timeout)) return nullptr;
    if (state_of(f) == cancelled) return raise_cancelled();
    if (!observe_completion(f)) return nullptr;
    if (!f->failure && !f->exception) return Py_NewRef(f->result ? f->result : Py_None);  // native work has no value
    if (PyObject* e = exception_of(f)) {
        PyErr_SetObject((PyObject*)Py_TYPE(e), e);
        Py_DECREF(e);
    }
    return nullptr;
}

PyObject* m_exception(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    auto* f = (Future*)self;
    PyObject* timeout = nullptr;
    if (!parse_arguments("Future.exception", timeout_name, &timeout, 1, args, nargs, kwnames)) return nullptr;
    if (!block(f, "Future.exception()", timeout)) return nullptr;
    if (state_of(f) == cancelled) return raise_cancelled();
    return observe_completion(f) ? g_exception(self, nullptr) : nullptr;
}

PyObject* m_cancel(PyObject* self, PyObject*) {
    auto* f = (Future*)self;
    uint32_t w = f->word.load(std::memory_order_acquire);
    do {
        if ((w & state_bits) == cancelled) Py_RETURN_TRUE;
        if ((w & state_bits) != pending) Py_RETURN_FALSE;
    } while (!f->word.compare_exchange_weak(w, w | cancelled, std::memory_order_acq_rel));
    if (w & has_sleepers) futex::wake_all(f->word);
    if (w & (has_condition | has_callbacks)) notifier::post(new DeliverTask((Future*)Py_NewRef(self)));
    if (!host_observed_completion(f->stream, 0, 0, f->work_id, "cancelled")) return nullptr;
    Py_RETURN_TRUE;
}

PyObject* m_cancelled(PyObject* self, PyObject*) {
    return PyBool_FromLong(state_of((Future*)self) == cancelled);
}
PyObject* m_running(PyObject* self, PyObject*) {
    return PyBool_FromLong(state_of((Future*)self) == running);
}
PyObject* m_done(PyObject* self, PyObject*) {
    auto* f = (Future*)self;
    return guarded([f]() -> PyObject* {
        poll_device(f);
        if (!observe_completion(f)) return nullptr;
        return PyBool_FromLong(is_over(f));
    });
}

// A callback by which asyncio has the result copied later, in a step of its loop: what adds it has not seen the result.
bool copies_later(PyObject* callback) {
    PyObject* module = PyObject_GetAttrString(callback, "__module__");
    const bool later =
        module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "asyncio.futures") == 0;
    Py_XDECREF(module);
    PyErr_Clear();
    return later;
}

// Newer Pythons copy in this call, where a loop runs in this thread. While host_wait is observed the loop calls it later
// as in older ones: before a coroutine awaits the copy nothing is ordered, whatever was complete in this run.
PyObject* call_in_the_loop(PyObject* self, PyObject* callback) {
    PyObject* asyncio = hub::listening(Hook::host_wait) ? PyImport_ImportModule("asyncio") : nullptr;
    PyObject* loop = asyncio ? PyObject_CallMethod(asyncio, "_get_running_loop", nullptr) : nullptr;
    PyObject* r = nullptr;
    if (loop && loop != Py_None)
        r = PyObject_CallMethod(loop, "call_soon", "OO", callback, self);
    else if (!PyErr_Occurred())
        r = PyObject_CallOneArg(callback, self);
    Py_XDECREF(loop);
    Py_XDECREF(asyncio);
    return r;
}

PyObject* call_at_once(PyObject* self, PyObject* callback) {
    const bool later = copies_later(callback);
    if (!later && !observe_completion((Future*)self)) return nullptr;
    ++thread_context.callback_depth;
    PyObject* r = later ? call_in_the_loop(self, callback) : PyObject_CallOneArg(callback, self);
    --thread_context.callback_depth;
    if (!r && !report_callback_error("Future", callback)) return nullptr;
    Py_XDECREF(r);
    Py_RETURN_NONE;
}

PyObject* m_add_done_callback(PyObject* self, PyObject* callback) {
    auto* f = (Future*)self;
    guarded([f]() -> PyObject* {
        poll_device(f);
        return nullptr;
    });
    if (PyErr_Occurred()) return nullptr;
    if (!PyCallable_Check(callback))
        return raise(ErrorKind::type, "add_done_callback needs a callable, not %s", Py_TYPE(callback)->tp_name);
    if (is_over(f)) return call_at_once(self, callback);
    if (!f->callbacks && !(f->callbacks = PyList_New(0))) return nullptr;
    if (PyList_Append(f->callbacks, callback) < 0) return nullptr;
    const uint32_t before = f->word.fetch_or(has_callbacks, std::memory_order_acq_rel);
    poll_until_complete(f);
    if ((before & state_bits) < cancelled || (before & (has_condition | has_callbacks))) Py_RETURN_NONE;
    // It ended just now, without the GIL, before it had a callback: none was delivered.
    if (PyList_SetSlice(f->callbacks, 0, PyList_GET_SIZE(f->callbacks), nullptr) < 0) return nullptr;
    return call_at_once(self, callback);
}

PyObject* m_set(PyObject*, PyObject*) {
    return raise(ErrorKind::usage,
                 "a Future of a stream is set by its stream, not from outside; "
                 "use concurrent.futures.Future for one of your own");
}

PyObject* g_result(PyObject* self, void*) {
    auto* f = (Future*)self;
    return Py_NewRef(is_over(f) && f->result ? f->result : Py_None);
}

PyObject* g_work_id(PyObject* self, void*) {
    return PyLong_FromUnsignedLongLong(((Future*)self)->work_id);
}

PyObject* future_new(PyTypeObject*, PyObject*, PyObject*) {
    return raise(ErrorKind::usage, "a Future comes from Stream.submit(), it is not made by hand");
}

int future_traverse(PyObject* self, visitproc visit, void* arg) {
    auto* f = (Future*)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->result);
    // Exact while the Future alone has the failure; what is not seen yet must survive to be logged.
    if (is_over(f) && f->failure && f->failure->references() == 1)
        if (auto* raised = dynamic_cast<const PythonFailure*>(f->failure); raised && raised->seen())
            Py_VISIT(raised->exception);
    Py_VISIT(f->exception);
    Py_VISIT(f->condition);
    Py_VISIT(f->waiters);
    Py_VISIT(f->callbacks);
    return 0;
}

int future_clear(PyObject* self) {
    auto* f = (Future*)self;
    Py_CLEAR(f->result);
    Py_CLEAR(f->made);
    if (f->exception) disown_exception(f->exception);
    Py_CLEAR(f->exception);
    Py_CLEAR(f->condition);
    Py_CLEAR(f->waiters);
    Py_CLEAR(f->callbacks);
    return 0;
}

void future_dealloc(PyObject* self) {
    auto* f = (Future*)self;
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    future_clear(self);
    if (f->failure) f->failure->release();
    if (f->marker) f->marker->release();
    if (f->stream) f->stream->release();
    type->tp_free(self);
    Py_DECREF(type);
}

#define FAST(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL | METH_KEYWORDS

PyMethodDef methods[] = {
    {"result", FAST(m_result),
     "result($self, timeout=None)\n--\n\nThe value of the work; blocks, and raises what the work raised."},
    {"exception", FAST(m_exception),
     "exception($self, timeout=None)\n--\n\nThe exception of the work, or None; blocks."},
    {"cancel", m_cancel, METH_NOARGS,
     "cancel($self)\n--\n\nSkips the work if it has not started. True if it will not run."},
    {"cancelled", m_cancelled, METH_NOARGS, "cancelled($self)\n--\n\nTrue if the work was cancelled."},
    {"running", m_running, METH_NOARGS, "running($self)\n--\n\nTrue while the work runs."},
    {"done", m_done, METH_NOARGS, "done($self)\n--\n\nTrue once the work is complete or was cancelled."},
    {"add_done_callback", m_add_done_callback, METH_O,
     "add_done_callback($self, fn)\n--\n\nCalls fn(future) when the work completes: on the notifier thread, or at "
     "once if it is complete."},
    {"set_result", (PyCFunction)(void (*)(void))m_set, METH_VARARGS, "set_result($self, result)\n--\n\nRefused."},
    {"set_exception", (PyCFunction)(void (*)(void))m_set, METH_VARARGS,
     "set_exception($self, exception)\n--\n\nRefused."},
    {"_settle", future_settle, METH_NOARGS, "_settle($self)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef getset[] = {
    {"_state", future_state_name, nullptr, nullptr, nullptr},
    {"_condition", future_condition, nullptr, nullptr, nullptr},
    {"_waiters", future_waiters, nullptr, nullptr, nullptr},
    {"_done_callbacks", future_callbacks, nullptr, nullptr, nullptr},
    {"_result", g_result, nullptr, nullptr, nullptr},
    {"_exception", g_exception, nullptr, nullptr, nullptr},
    {"_watched", future_watched, nullptr, nullptr, nullptr},
    {"work_id", g_work_id, nullptr, "The id of the work in the hooks.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, (void*)future_new},
    {Py_tp_dealloc, (void*)future_dealloc},
    {Py_tp_traverse, (void*)future_traverse},
    {Py_tp_clear, (void*)future_clear},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, (void*)"The native half of eventide.Future."},
    {0, nullptr},
};

PyType_Spec spec = {"eventide._native.FutureBase", sizeof(Future), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyTypeObject* make_future_type() {
    return future_base = (PyTypeObject*)PyType_FromSpec(&spec);
}

const Failure* failure_of_future(PyObject* object) {
    if (!PyObject_TypeCheck(object, future_base)) return nullptr;
    auto* f = (Future*)object;
    return is_over(f) ? f->failure : nullptr;
}

void set_future_loader(PyObject* load) {
    Py_XSETREF(future_loader, Py_NewRef(load));
}

// tp_alloc zeroes everything, which is a valid pending Future.
Future* make_future() {
    if (!future_class) {
        PyObject* loaded = future_loader ? PyObject_CallNoArgs(future_loader) : nullptr;
        if (!loaded) return nullptr;
        future_class = (PyTypeObject*)loaded;
    }
    return (Future*)future_class->tp_alloc(future_class, 0);
}

void future_bind(Future* f, Stream& stream, uint64_t position, uint64_t work_id) {
    f->position = position;
    f->work_id = work_id;
    if (f->stream) return;
    stream.retain();
    f->stream = &stream;
}

void future_watch(Future* f, Ref<Marker> marker) {
    if (!is_over(f)) f->marker = marker.detach();
}

bool future_begin(Future* f) {
    uint32_t w = f->word.load(std::memory_order_relaxed);
    do {
        if ((w & state_bits) != pending) return false;
    } while (!f->word.compare_exchange_weak(w, w | running, std::memory_order_acq_rel));
    return true;
}

void future_set_result(Future* f, PyObject* result) {
    f->result = result;
}

void future_set_failure(Future* f, const Failure& failure, bool skipped) {
    failure.retain();
    f->failure = &failure;
    f->skipped = skipped;
}

bool future_publish(Future* f) {
    // It has the error of failed work, whose frames may have this Future: a cycle that the collector does not see.
    // On cpu it has none, and other threads may read that: no store without need.
    if (f->marker) std::exchange(f->marker, nullptr)->release();
    if (state_of(f) == cancelled) return false;  // delivered when it was cancelled
    if (!end(f, finished)) return false;
    notifier::post(new DeliverTask(f));
    return true;
}

}  // namespace eventide::python
