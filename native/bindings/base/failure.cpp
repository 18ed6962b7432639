// What keeps the exceptions of failed work, and what they keep in turn.
//
// A program that catches such an exception leaves its frames in the traceback, and the frames hold the stream, which
// holds the exception: a cycle through native memory, which Python's collector cannot see. So once an exception was
// shown to the program, the notifier looks a little later whether the program still has it. If only failures and
// Futures own it, it gets back the traceback that it had when the work ended, and the frames of the program go. If the
// program has it, failure_cycles.cpp searches whether that is so only because a frame in its traceback has it.
#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/base/live_failures.hpp"
#include "runtime/notifier.hpp"

namespace eventide::python {

struct LiveFailures {
    static constexpr int64_t first_wait_ns = 5'000'000;
    static constexpr int64_t last_wait_ns = 20'000'000'000;

    struct Held {
        Py_ssize_t owners = 0;                 // failures and Futures, with one reference each
        std::vector<PythonFailure*> failures;  // those of them
        bool taken = false;                    // by take_unused, since it was shown last
        int64_t search_at = 0;                 // for cycles; on the trace's clock
        int64_t wait_ns = first_wait_ns;       // from there to the next search
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

    // With the lock. Whether the program has no reference.
    bool unused(PyObject* exception) const {
        auto it = held.find(exception);
        return it != held.end() && Py_REFCNT(exception) == it->second.owners;
    }
    // A new reference to one that the program no longer has, and what it had; it is no longer in `shown`, unless it has
    // to be searched for cycles.
    PyObject* take_unused(Held& had) {
        std::lock_guard lock(m);
        for (auto it = shown.begin(); it != shown.end(); ++it) {
            if (held[*it].taken || !unused(*it)) continue;
            PyObject* exception = Py_NewRef(*it);
            held[exception].taken = true;
            had = held[exception];
            if (had.failures.empty()) shown.erase(it);
            any_shown.store(!shown.empty(), std::memory_order_relaxed);
            return exception;
        }
        return nullptr;
    }
    void disown(PyObject* exception) {
        auto it = held.find(exception);  // none: it is from before a fork
        if (it == held.end() || --it->second.owners > 0) return;
        held.erase(it);
        shown.erase(exception);
    }
    // Puts another exception into the failures of this one, and returns how many references to this one are free.
    size_t replace(PyObject* exception, PyObject* by) {
        std::vector<PythonFailure*> failures = std::move(held[exception].failures);
        for (PythonFailure* f : failures) {
            f->exception = Py_NewRef(by);
            f->seen_.store(true, std::memory_order_relaxed);
            Held& other = held[by];
            ++other.owners;
            other.failures.push_back(f);
            disown(exception);
        }
        return failures.size();
    }
    static std::string take_where(PythonFailure& f) { return std::exchange(f.where_, {}); }
};

namespace {

LiveFailures* live = new LiveFailures;  // leaked on purpose: workers may outlive static destruction
void (*cycle_search)() = nullptr;
PyObject* replacement = nullptr;  // of exceptions that nothing can reach

std::string describe_exception(PyObject* exception) {
    std::string out = Py_TYPE(exception)->tp_name;
    if (PyObject* text = or_park([=] { return PyObject_Str(exception); })) {
        if (const char* s = PyUnicode_AsUTF8(text); s && *s) out += std::string(": ") + s;
        Py_DECREF(text);
    }
    PyErr_Clear();
    return out;
}

// Logs an error that no call raised; on the notifier, because the thread that detects it may have no GIL.
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

PythonFailure::PythonFailure(PyObject* e) : Failure(describe_exception(e)), exception(own_exception(e)) {
    std::lock_guard lock(live->m);
    live->held[exception].failures.push_back(this);
}

PythonFailure::~PythonFailure() {
    {
        std::lock_guard lock(live->m);
        live->gone.erase(this);
        if (auto it = live->held.find(exception); it != live->held.end()) std::erase(it->second.failures, this);
        live->disown(exception);
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
        auto [it, first] = live->held.try_emplace(exception);
        if (first) it->second.traceback = traceback, it->second.context = context;
        ++it->second.owners;
    }
    Py_XDECREF(traceback);
    Py_XDECREF(context);
    return Py_NewRef(exception);
}

void disown_exception(PyObject* exception) {
    std::lock_guard lock(live->m);
    live->disown(exception);
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
        auto it = live->held.find(exception);
        if (it == live->held.end()) return;
        it->second.taken = false;
        it->second.wait_ns = LiveFailures::first_wait_ns;
        it->second.search_at = now_ns() + LiveFailures::first_wait_ns;
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

// Whether restore() would change it. Runs no code of the program.
static bool is_restored(PyObject* exception, const LiveFailures::Held& had) {
    PyObject* traceback = PyException_GetTraceback(exception);
    PyObject* context = PyException_GetContext(exception);
    Py_XDECREF(traceback);  // the exception has both
    Py_XDECREF(context);
    return (!traceback || traceback == had.traceback) && (!context || context == had.context);
}

void set_cycle_search(void (*search)()) {
    cycle_search = search;
}

std::vector<PyObject*> exceptions_to_search() {
    std::vector<PyObject*> out;
    if (!replacement) replacement = PyObject_CallFunction(PyExc_RuntimeError, "s", "an error that nothing could reach");
    if (!replacement) PyErr_Clear();
    const int64_t now = now_ns();
    std::lock_guard lock(live->m);
    for (PyObject* exception : live->shown) {
        LiveFailures::Held& held = live->held[exception];
        if (held.failures.empty() || held.search_at > now) continue;
        out.push_back(exception);
        held.wait_ns = std::min(2 * held.wait_ns, LiveFailures::last_wait_ns);
        held.search_at = now + held.wait_ns;
    }
    return out;
}

void search_seldom(PyObject* exception) {
    std::lock_guard lock(live->m);
    auto it = live->held.find(exception);
    if (it == live->held.end()) return;
    it->second.wait_ns = LiveFailures::last_wait_ns;
    it->second.search_at = now_ns() + LiveFailures::last_wait_ns;
}

void break_cycles(const std::vector<Unreachable>& found) {
    std::vector<std::pair<PyObject*, LiveFailures::Held>> with_frames;
    std::vector<PyObject*> references;
    {
        std::lock_guard lock(live->m);
        for (const Unreachable& each : found) {
            auto it = live->held.find(each.exception);
            if (it == live->held.end() || each.exception == replacement) continue;
            if (!is_restored(each.exception, it->second))
                with_frames.emplace_back(Py_NewRef(each.exception), it->second);
            else if (!each.busy && replacement)
                references.insert(references.end(), live->replace(each.exception, replacement), each.exception);
        }
    }
    for (auto& [exception, had] : with_frames) {
        restore(exception, had);
        Py_DECREF(exception);
    }
    for (PyObject* exception : references) Py_DECREF(exception);
}

void restore_tracebacks() {
    if (!failures_shown()) return;
    // One by one: frames that go may run code of the program, which may get hold of the next exception.
    LiveFailures::Held had;
    while (PyObject* exception = live->take_unused(had)) {
        restore(exception, had);
        Py_DECREF(exception);
    }
    if (!failures_shown()) return;
    if (cycle_search) cycle_search();
    live->wait_ns = std::min(2 * live->wait_ns, LiveFailures::last_wait_ns);
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
