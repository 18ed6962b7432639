#include "recorder/children.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/thread.hpp"
#include "recorder/payload_records.hpp"

namespace eventide::recorder {
namespace {

constexpr auto pidfd_type = idtype_t(3);  // P_PIDFD, which older headers lack

struct Child {
    int pid;
    int fd;  // its pidfd; -1: it has ended, or the system has none
    int64_t start_ns;
    int64_t end_ns;  // 0: it runs
    std::string name, about;
};

struct State {
    std::mutex mutex;
    std::vector<Child> children;
    int wake = -1;  // an eventfd; the thread exists if it is valid
};

State* state = new State;

void record(const Child& child, int64_t end_ns, const std::string& ended) {
    std::string arguments = "{" + child.about + (child.about.empty() ? "" : ", ") + "\"pid\": ";
    arguments += std::to_string(child.pid) + ", " + ended + "}";
    record_span("child processes", child.name, "process", child.start_ns, std::max(end_ns, child.start_ns), arguments);
}

std::string code_text(int code) {
    return "\"code\": " + std::to_string(code);
}

// How the child ended, if it has not been reaped.
std::optional<int> code_of(int fd) {
    siginfo_t info{};
    if (waitid(pidfd_type, id_t(fd), &info, WEXITED | WNOWAIT | WNOHANG) != 0 || !info.si_pid) return {};
    return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
}

void note_end(State& s, int fd) {
    std::lock_guard lock(s.mutex);
    for (size_t i = 0; i < s.children.size(); ++i) {
        Child& child = s.children[i];
        if (child.fd != fd) continue;
        child.end_ns = now_ns();
        const std::optional<int> code = code_of(fd);
        close(fd);
        child.fd = -1;
        if (code) {
            record(child, child.end_ns, code_text(*code));
            s.children.erase(s.children.begin() + ptrdiff_t(i));
        }
        return;
    }
}

void* watch(void* argument) {
    auto& s = *static_cast<State*>(argument);
    name_this_thread("et-children");
    is_profiler_thread = true;
    std::vector<pollfd> all;
    for (;;) {
        all.assign(1, {s.wake, POLLIN, 0});
        {
            std::lock_guard lock(s.mutex);
            for (const Child& child : s.children)
                if (child.fd >= 0) all.push_back({child.fd, POLLIN, 0});
        }
        if (poll(all.data(), all.size(), -1) < 0) continue;
        if (all[0].revents) {
            uint64_t count;
            [[maybe_unused]] const ssize_t n = read(s.wake, &count, sizeof count);
        }
        for (size_t i = 1; i < all.size(); ++i)
            if (all[i].revents) note_end(s, all[i].fd);
    }
}

// The parent's watcher does not exist in a forked child. The fork happens under the mutex, so the list is whole.
void forget_in_child() {
    State* old = state;  // leaked, with its locked mutex
    state = new State;
    if (old->wake >= 0) close(old->wake);
    for (const Child& child : old->children)
        if (child.fd >= 0) close(child.fd);
}

[[maybe_unused]] const int children_at_fork =
    pthread_atfork([] { state->mutex.lock(); }, [] { state->mutex.unlock(); }, forget_in_child);

void start_watcher(State& s) {
    if (s.wake >= 0) return;
    s.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s.wake < 0) return;
    try {
        start_thread(watch, &s);
    } catch (...) {
        close(s.wake);
        s.wake = -1;
    }
}

}  // namespace

void child_started(int pid, int64_t start_ns, std::string name, std::string about) {
    State& s = *state;
    std::lock_guard lock(s.mutex);
    start_watcher(s);
    const int fd = s.wake < 0 ? -1 : int(syscall(SYS_pidfd_open, pid, 0));  // close-on-exec by itself
    s.children.push_back({pid, fd, start_ns, 0, std::move(name), std::move(about)});
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(s.wake, &one, sizeof one);
}

void child_reaped(int pid, int code) {
    State& s = *state;
    std::lock_guard lock(s.mutex);
    for (size_t i = 0; i < s.children.size(); ++i) {
        const Child& child = s.children[i];
        if (child.pid != pid) continue;
        record(child, child.end_ns ? child.end_ns : now_ns(), code_text(code));
        if (child.fd >= 0) close(child.fd);
        s.children.erase(s.children.begin() + ptrdiff_t(i));
        return;
    }
}

void end_children() {
    State& s = *state;
    std::lock_guard lock(s.mutex);
    for (const Child& child : s.children) {
        const std::optional<int> code = child.fd < 0 ? std::nullopt : code_of(child.fd);
        const std::string ended = code ? code_text(*code) : child.end_ns ? "\"code\": null" : "\"running\": true";
        record(child, child.end_ns ? child.end_ns : now_ns(), ended);
        if (child.fd >= 0) close(child.fd);
    }
    s.children.clear();
}

}  // namespace eventide::recorder
