// The GIL as the core's host lock: each core thread keeps one PyThreadState (82 ns a turn; Ensure/Release is 6 us).
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/context.hpp"
#include "base/host_lock.hpp"
#include "base/thread.hpp"
#include "bindings/base/exception.hpp"
#include "runtime/notifier.hpp"

namespace eventide::python {
namespace {

thread_local PyThreadState* kept_state = nullptr;
std::atomic<int64_t> switch_interval_ns{5'000'000};
std::atomic<unsigned long> main_thread{0};

// So that logs and tracebacks name the thread.
void name_python_thread(const char* name) {
    PyObject* threading = PyImport_ImportModule("threading");
    PyObject* thread = threading ? PyObject_CallMethod(threading, "current_thread", nullptr) : nullptr;
    PyObject* text = thread ? PyUnicode_FromString(name) : nullptr;
    if (text) PyObject_SetAttrString(thread, "name", text);
    Py_XDECREF(text);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    PyErr_Clear();
}

// For a thread without the GIL. After the interpreter is finalized its thread states are freed, and PyGILState_Ensure
// would read freed memory: so this is checked first, and or_park handles a finalization that starts meanwhile.
template <class F>
auto take(F&& f) {
    if (!Py_IsInitialized()) park_thread();
    return or_park(f);
}

class Gil final : public HostLock {
  public:
    void acquire() override {
        if (process::abandoned.load(std::memory_order_seq_cst)) park_thread();
        take([] {
            if (kept_state) return PyEval_RestoreThread(kept_state);
            PyGILState_Ensure();
            kept_state = PyThreadState_Get();
            if (thread_context.name) name_python_thread(thread_context.name);
        });
        drop_what_is_due();
    }
    void release() override { PyEval_SaveThread(); }
    void forget_thread() override {
        if (!kept_state || process::abandoned.load(std::memory_order_seq_cst)) return;
        restore_thread(kept_state);
        drop_what_is_due();
        kept_state = nullptr;
        or_park([] { PyGILState_Release(PyGILState_UNLOCKED); });
    }
    int enter() override {
        if (state_with_gil()) return 0;
        if (!thread_context.core_thread) return 2 + int(take([] { return PyGILState_Ensure(); }));
        acquire();
        return 1;
    }
    void leave(int how) override {
        if (how == 1) release();
        if (how >= 2) or_park([how] { PyGILState_Release(PyGILState_STATE(how - 2)); });
    }
    void* suspend() override { return state_with_gil() ? PyEval_SaveThread() : nullptr; }
    void resume(void* held) override { restore_thread(static_cast<PyThreadState*>(held)); }
    int64_t slice_ns() override { return switch_interval_ns.load(std::memory_order_relaxed); }
};

Gil gil;

struct Due {
    std::mutex m;
    std::vector<PyObject*> objects;
    std::atomic<bool> any{false};
    std::atomic<Dropped*> nodes{nullptr};  // newest first; taken whole, so there is no ABA
    // Relaxed: what was added may be missed by a thread that happens to look. The notifier looks later, ordered by
    // notifier::request_sweep.
    bool empty() const { return !any.load(std::memory_order_relaxed) && !nodes.load(std::memory_order_relaxed); }
};
Due* due = new Due;

int raise_in_main(void* exception) {
    auto* e = static_cast<PyObject*>(exception);
    PyErr_SetObject((PyObject*)Py_TYPE(e), e);
    Py_DECREF(e);
    return -1;
}

}  // namespace

void install_host_lock() {
    HostLock::install(&gil);
    notifier::set_sweeper({[] { return !due->empty() || failures_shown(); },
                           [] {
                               drop_what_is_due();
                               restore_tracebacks();
                           }});
}

void read_switch_interval() {
    PyObject* f = PySys_GetObject("getswitchinterval");
    PyObject* seconds = f ? PyObject_CallNoArgs(f) : nullptr;
    if (seconds) switch_interval_ns.store(int64_t(PyFloat_AsDouble(seconds) * 1e9), std::memory_order_relaxed);
    Py_XDECREF(seconds);
    PyErr_Clear();
}

int take_gil() {
    return gil.enter();
}

void give_gil(int how) {
    gil.leave(how);
}

void restore_thread(PyThreadState* state) {
    take([state] { PyEval_RestoreThread(state); });
}

void send_to_main_thread() {
    PyObject* exception = take_exception();
    if (exception) send_to_main_thread(exception);
    Py_XDECREF(exception);
}

void send_to_main_thread(PyObject* exception) {
    if (Py_AddPendingCall(raise_in_main, Py_NewRef(exception)) == 0) return;
    Py_DECREF(exception);
    PyErr_SetObject((PyObject*)Py_TYPE(exception), exception);
    or_park([] { PyErr_WriteUnraisable(nullptr); });
}

thread_local Verb* Verb::innermost = nullptr;

void Verb::interrupt(PyObject* exception) {
    if (!innermost) return send_to_main_thread(exception);
    if (!innermost->exception_) innermost->exception_ = Py_NewRef(exception);
}

PyObject* Verb::end(PyObject* result) {
    innermost = outer_;
    if (!exception_) return result;
    Py_XDECREF(result);
    PyErr_SetObject((PyObject*)Py_TYPE(exception_), exception_);
    Py_CLEAR(exception_);
    return nullptr;
}

void note_main_thread(unsigned long ident) {
    main_thread.store(ident, std::memory_order_relaxed);
}
bool on_main_thread() {
    return main_thread.load(std::memory_order_relaxed) == PyThread_get_thread_ident();
}

void drop_later(PyObject* object) {
    if (!object) return;
    std::lock_guard lock(due->m);
    try {
        due->objects.push_back(object);
    } catch (const std::bad_alloc&) {
        return;  // the object stays; this is called where no exception may be thrown
    }
    if (!due->any.exchange(true, std::memory_order_relaxed)) notifier::request_sweep();
}

void drop_later(Dropped* node) {
    Dropped* head = due->nodes.load(std::memory_order_relaxed);
    do {
        node->next = head;
    } while (!due->nodes.compare_exchange_weak(head, node, std::memory_order_acq_rel));
    if (!head) notifier::request_sweep();
}

void drop_what_is_due() {
    if (due->empty()) return;
    for (Dropped* node = due->nodes.exchange(nullptr, std::memory_order_acq_rel); node;) {
        Dropped* next = node->next;
        or_park([node] { node->drop(); });
        node = next;
    }
    if (!due->any.load(std::memory_order_relaxed)) return;
    std::vector<PyObject*> objects;
    {
        std::lock_guard lock(due->m);
        objects.swap(due->objects);
        due->any.store(false, std::memory_order_relaxed);
    }
    or_park([&objects] {
        for (PyObject* o : objects) Py_DECREF(o);
    });
}

void after_fork_in_child_python() {
    due = new Due;  // what the parent's threads had to drop is theirs
    failures_after_fork_in_child();
    note_main_thread(PyThread_get_thread_ident());
}

}  // namespace eventide::python
