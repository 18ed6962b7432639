// LiveSanitizer: the sanitizer's engine, fed by the hooks while it is on.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/stacks.hpp"
#include "bindings/base/bind.hpp"
#include "bindings/base/python.hpp"
#include "bindings/sanitizer/live_sanitizer.hpp"
#include "bindings/sanitizer/sanitizer_results.hpp"
#include "runtime/stream.hpp"
#include "sanitizer/hook_feed.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

using namespace sanitizer;

// The engine does not use the time at which work completes. It listens to all other hooks.
constexpr bool listens_to(Hook hook) {
    return hook != Hook::work_completion;
}

// The listener feeds all running sessions. A session is one `with et.sanitize()`.
struct Session {
    Session(Options options, bool stacks) : engine(options), feed(engine), stacks(stacks) {}
    Engine engine;
    Feed feed;
    const bool stacks;
    std::map<uint64_t, std::string> streams;  // their names
    size_t reported = 0;                      // findings that on_finding was called for
    PyObject* on_finding = nullptr;           // owned; called with the number of findings when there are new ones
};

// The lock guards the sessions and their engines. No thread takes the GIL or runs Python while holding it.
std::mutex lock;
std::vector<std::shared_ptr<Session>> sessions;

// The system gives the id of a thread that ended to another, so a number has the id in its lower half and how often it
// was used in the upper. The engine uses the place of a thread again once it has ended, and then the new one counts as
// its successor; with many ended threads in between the chance that this hides anything is small.
constexpr size_t ended_to_keep = 256;
std::unordered_map<uint64_t, uint64_t> uses;  // by id; guarded by lock
std::deque<uint64_t> ended;                   // guarded by lock

struct Me {
    uint64_t number = 0;
    // With the lock.
    uint64_t get() {
        if (!number) {
            const uint64_t id = hub::this_thread_id();
            number = id | uses[id]++ << 32;
        }
        return number;
    }
    ~Me() {
        if (!number) return;
        std::lock_guard guard(lock);
        ended.push_back(number);
        if (ended.size() <= ended_to_keep) return;
        for (auto& s : sessions) s->engine.end_thread(ended.front());
        ended.pop_front();
    }
};
thread_local Me me;

// Hooks at which a Python call is under way that can raise.
bool may_raise(Hook hook) {
    switch (hook) {
        case Hook::work_submission:
        case Hook::collective_launch:
        case Hook::host_access:
        case Hook::event_wait:
        case Hook::event_synchronization:
        case Hook::stream_synchronization:
        case Hook::device_synchronization:
            return true;
        default:
            return false;
    }
}

class Live final : public hub::Listener {
  public:
    void on_hook(const HookRecord& record) override {
        const uint32_t stack = with_stacks ? stacks::capture() : 0;
        std::vector<std::pair<std::shared_ptr<Session>, size_t>> news;
        {
            std::lock_guard guard(lock);
            for (auto& s : sessions) {
                if (record.hook == Hook::stream_creation) s->streams[record.stream] = record.name;
                s->feed.on_hook(record, me.get(), s->stacks ? stack : 0);
                const size_t found = s->engine.findings().size();
                if (s->on_finding && found > s->reported && may_raise(record.hook))
                    news.emplace_back(s, s->reported = found);
            }
        }
        if (!news.empty() && state_with_gil() && !PyErr_Occurred()) report(news);
    }

    std::atomic<bool> with_stacks{false};

  private:
    // What the callback raises is raised by the call that the hook belongs to.
    static void report(const std::vector<std::pair<std::shared_ptr<Session>, size_t>>& news) {
        for (auto& [session, found] : news) {
            PyObject* number = session->on_finding ? PyLong_FromSize_t(found) : nullptr;
            PyObject* r = number ? PyObject_CallOneArg(session->on_finding, number) : nullptr;
            Py_XDECREF(number);
            Py_XDECREF(r);
            if (PyErr_Occurred()) return;
        }
    }
};

Live live;

void listen() {
    bool any_stacks = false;
    for (auto& s : sessions) any_stacks |= s->stacks;
    live.with_stacks.store(any_stacks, std::memory_order_relaxed);
    for (int h = 0; h < hook_count; ++h) {
        if (!listens_to(Hook(h))) continue;
        if (sessions.empty())
            hub::remove(Hook(h), live);
        else
            hub::add(Hook(h), live);
    }
}

struct PyLive {
    std::shared_ptr<Session> session;

    void start() {
        const std::vector<Ref<Stream>> streams =
            Stream::all();  // released after the lock: the end of a stream fires a hook
        std::lock_guard guard(lock);
        for (const Ref<Stream>& s : streams) {
            if (!s->closed()) session->feed.on_hook(s->creation(), me.get(), 0);
            session->streams[s->id] = s->options.name;
        }
        sessions.push_back(session);
        listen();
    }
    void stop() {
        std::lock_guard guard(lock);
        std::erase(sessions, session);
        listen();
    }
};

}  // namespace

void live_sanitizer_after_fork_in_child() {
    new (&lock) std::mutex;  // the child has one thread: no thread of it holds the lock
    sessions.clear();
    ended.clear();
    me.number = 0;
    listen();
}

void bind_live_sanitizer(nb::module_& m) {
    nb::class_<PyLive>(m, "LiveSanitizer", "The native half of eventide.sanitize: an engine that is fed by the hooks.")
        .def(
            "__init__",
            [](PyLive* self, bool predict, bool stacks) {
                new (self)
                    PyLive{std::make_shared<Session>(Options{.predict = predict, .unseen_hand_over = true}, stacks)};
            },
            nb::arg("predict"), nb::arg("stacks"))
        .def("start", &PyLive::start)
        .def("stop", &PyLive::stop, "Stops listening to the hooks. Idempotent.")
        .def(
            "on_finding",
            [](PyLive& self, nb::object callback) {
                PyObject* old = self.session->on_finding;
                self.session->on_finding = callback.is_none() ? nullptr : callback.release().ptr();
                Py_XDECREF(old);
            },
            nb::arg("callback").none(), "Called with the number of findings when there are new ones; may raise.")
        .def(
            "end_of_program",
            [](PyLive& self, bool leaks) {
                const uint32_t stack = self.session->stacks ? stacks::capture() : 0;
                std::lock_guard guard(lock);
                const At at{.thread = me.get(), .stack = stack};
                self.session->engine.finish(at, leaks);
            },
            nb::arg("leaks"))
        .def("findings",
             [](PyLive& self) {
                 std::vector<Finding> copy;
                 {
                     std::lock_guard guard(lock);
                     copy = self.session->engine.findings();
                 }
                 nb::list out;
                 for (const Finding& f : copy)
                     if (f.count) out.append(finding_to_dict(f));
                 return out;
             })
        .def("stream_names",
             [](PyLive& self) {
                 std::unique_lock guard(lock);
                 const std::map<uint64_t, std::string> names = self.session->streams;
                 guard.unlock();
                 return names;
             })
        .def("coverage", [](PyLive& self) {
            std::unique_lock guard(lock);
            const Coverage c = self.session->engine.coverage();
            guard.unlock();
            return coverage_to_dict(c);
        });
}

}  // namespace eventide::python
