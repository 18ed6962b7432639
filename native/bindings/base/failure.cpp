// What keeps the exceptions of failed work, and what they keep in turn.
//
// A program that catches such an exception leaves its frames in the traceback, and the frames hold the stream, which
// holds the exception: a cycle through native memory, which Python's collector cannot see. So once an exception was
// shown to the program, the notifier looks a little later whether the program still has it. If only failures and
// Futures own it, it gets back the traceback that it had when the work ended, and the frames of the program go.
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/base/python.hpp"
#include "runtime/notifier.hpp"

namespace eventide::python {

struct LiveFailures {
    struct Held {
        Py_ssize_t owners = 0;  // failures and Futures, with one reference each
        // As they were when the work ended. Not owned, only compared.
        PyObject* traceback = nullptr;
        PyObject* context = nullptr;
    };
    std::mutex m;  // guards all but the last two; never held while Python code can run
    std::unordered_map<PyObject*, Held> held;
    std::unordered_set<PyObject*> shown;      // of those: what the program may have added to
    std::unordered_set<PythonFailure*> gone;  // whose stream was destroyed, not reported
    bool exiting = false;
    std::atomic<bool> any_shown{false};  // relaxed: notifier::request_sweep orders it for the notifier
    int64_t wait_ns = first_wait_ns;     // until the notifier looks again; the GIL guards it

    static constexpr int64_t first_wait_ns = 5'000'000;
    static constexpr int64_t last_wait_ns = 20'000'000'000;  // what the program keeps for longer is left to it

    // With the lock. Whether the program has no reference.
    bool unused(PyObject* exception) const {
        auto it = held.find(exception);
        return it != held.end() && Py_REFCNT(exception) == it->second.owners;
    }
    // A new reference to one that the program no longer has, and what it had; it is no longer in `shown`.
    PyObject* take_unused(Held& had) {
        std::lock_guard lock(m);
        for (auto it = shown.begin(); it != shown.end(); ++it) {
            if (!unused(*it)) continue;
            PyObject* exception = Py_NewRef(*it);
            had = held[exception];
            shown.erase(it);
            any_shown.store(!shown.empty(), std::memory_order_relaxed);
            return exception;
        }
        return nullptr;
    }
    static std::string take_where(PythonFailure& f) { return std::exchange(f.where_, {}); }
};

namespace {

LiveFailures* live = new LiveFailures;  // leaked on purpose: workers may outlive static destruction

std::string describe_exception(PyObject* exception) {
    std::string out = Py_TYPE(exception)->tp_name;
    if (PyObject* text = or_park([=] { return PyObject_Str(exception); })) {
        if (const char* s = PyUnicode_AsUTF8(text); s && *s) out += std::string(": ") + s;
        Py_DECREF(text);
    }
    PyErr_Clear();
    return out;
}

// Logs an error that nothing showed; on the notifier, because the thread that finds out may have no GIL.
class UnseenTask final : public Task {
  public:
    // Takes over the reference.
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

void report_now(PyObject* exception, const std::string& where) {
    const int turn = take_gil();
    Task* task = new UnseenTask(Py_NewRef(exception), where);
    give_gil(turn);
    notifier::post(task);
}

}  // namespace

PythonFailure::PythonFailure(PyObject* e) : Failure(describe_exception(e)), exception(own_exception(e)) {}

PythonFailure::~PythonFailure() {
    disown_exception(exception);
    {
        std::lock_guard lock(live->m);
        live->gone.erase(this);
    }
    if (where_.empty() || seen() || process::abandoned.load(std::memory_order_relaxed))
        drop_later(exception);
    else
        notifier::post(new UnseenTask(exception, where_));
}

PyObject* own_exception(PyObject* exception) {
    PyObject* traceback = PyException_GetTraceback(exception);
    PyObject* context = PyException_GetContext(exception);
    {
        std::lock_guard lock(live->m);
        auto [it, first] = live->held.try_emplace(exception, LiveFailures::Held{0, traceback, context});
        ++it->second.owners;
    }
    Py_XDECREF(traceback);
    Py_XDECREF(context);
    return Py_NewRef(exception);
}

void disown_exception(PyObject* exception) {
    std::lock_guard lock(live->m);
    auto it = live->held.find(exception);  // none: it is from before a fork
    if (it == live->held.end() || --it->second.owners > 0) return;
    live->held.erase(it);
    live->shown.erase(exception);
}

void PythonFailure::report_unseen(const std::string& where) {
    if (seen() || process::abandoned.load(std::memory_order_relaxed)) return;
    {
        std::lock_guard lock(live->m);
        if (!live->exiting) {
            where_ = where;
            live->gone.insert(this);
            return;
        }
    }
    report_now(exception, where);
}

void PythonFailure::show() const {
    seen_.store(true, std::memory_order_relaxed);
    show_exception(exception);
}

void show_exception(PyObject* exception) {
    {
        std::lock_guard lock(live->m);
        if (!live->held.contains(exception)) return;
        live->shown.insert(exception);
        live->any_shown.store(true, std::memory_order_relaxed);
    }
    live->wait_ns = LiveFailures::first_wait_ns;
    notifier::request_sweep(live->wait_ns);
}

bool failures_shown() noexcept {
    return live->any_shown.load(std::memory_order_relaxed);
}

// The rest of the traceback, from the frames of the work on.
static void restore(PyObject* exception, const LiveFailures::Held& had) {
    PyObject* rest = PyException_GetTraceback(exception);
    while (rest && rest != had.traceback) Py_SETREF(rest, Py_XNewRef((PyObject*)((PyTracebackObject*)rest)->tb_next));
    PyException_SetTraceback(exception, rest ? rest : Py_None);
    Py_XDECREF(rest);
    PyObject* context = PyException_GetContext(exception);
    if (context && context != had.context) PyException_SetContext(exception, nullptr);
    Py_XDECREF(context);
}

void restore_tracebacks() {
    if (!failures_shown()) return;
    // One by one: frames that go may run code of the program, which may get hold of the next exception.
    LiveFailures::Held had;
    while (PyObject* exception = live->take_unused(had)) {
        restore(exception, had);
        Py_DECREF(exception);
    }
    if (!failures_shown() || live->wait_ns >= LiveFailures::last_wait_ns) return;
    live->wait_ns *= 2;
    notifier::request_sweep(live->wait_ns);
}

void report_unseen_failures() {
    std::vector<Ref<PythonFailure>> gone;
    {
        std::lock_guard lock(live->m);
        live->exiting = true;
        for (PythonFailure* f : live->gone)
            if (f->try_retain()) gone.push_back(Ref<PythonFailure>::adopt(f));
        live->gone.clear();
    }
    for (const Ref<PythonFailure>& f : gone) {
        std::string where;
        {
            std::lock_guard lock(live->m);
            where = LiveFailures::take_where(*f);
        }
        if (!f->seen()) report_now(f->exception, where);
    }
}

void failures_after_fork_in_child() {
    live = new LiveFailures;  // failures of the parent are counted by nothing and keep what they have
}

}  // namespace eventide::python
