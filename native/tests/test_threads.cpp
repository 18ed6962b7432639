// What happens where the system has no thread to give, and in the child of a fork.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <thread>

#include "check.hpp"
#include "fakes.hpp"
#include "hooks/foreign_devices.hpp"
#include "profiler/torch_operators.hpp"
#include "runtime/life_cycle.hpp"
#include "runtime/notifier.hpp"

using namespace fakes;

namespace {

// While it exists no thread can be started: the default stack size exceeds the memory.
class NoThreads {
  public:
    NoThreads() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        pthread_attr_init(&huge);
        pthread_attr_setstacksize(&huge, size_t{1} << 46);
        pthread_setattr_default_np(&huge);
        pthread_attr_destroy(&huge);
    }
    ~NoThreads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }

  private:
    pthread_attr_t before_;
};

// Runs it in a child, which must end within a minute; the status of the child.
int in_child(const std::function<void()>& f) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (!child) {
        alarm(60);
        try {
            f();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s\n", e.what());
            _exit(1);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

class CountTask final : public Task {
  public:
    explicit CountTask(std::atomic<int>& count) : count_(count) {}
    void run() override { ++count_; }
    bool needs_host_lock() const override { return false; }

  private:
    std::atomic<int>& count_;
};

class Silent final : public hub::Listener {
  public:
    void on_hook(const HookRecord&) override {}
};

void find_no_thread_for_a_callback() {
    auto s = open_stream();
    std::atomic<int> called{0};
    Gate gate;
    gate.hold(*s);
    Ref<Marker> first = s->record(false), second = s->record(false);
    {
        NoThreads none;
        CHECK(first->when_ended(new CountTask(called)));
        gate.open();
        join(*first);
    }
    auto* task = new CountTask(called);
    if (!second->when_ended(task)) {
        task->run();
        delete task;
    }
    join(*second);
    CHECK(notifier::drain(30'000'000'000));
    CHECK(called == 2);
    s->close();
}

}  // namespace

// The first test, in a child: neither the notifier nor the poller has started there.
TEST_ON(a_callback_that_found_no_thread_runs_once_there_is_one, ALL) {
    CHECK(in_child(find_no_thread_for_a_callback) == 0);
}

TEST(a_stream_that_finds_no_thread_is_an_error_and_the_next_one_opens) {
    {
        NoThreads none;
        CHECK_THROWS(open_stream(), ErrorKind::device, "cannot start a worker thread");
    }
    auto s = open_stream();
    CHECK(synchronize(*s) == "");
    s->close();
}

// A thread of the parent may be inside any of these when another one forks.
TEST(the_child_of_a_fork_finds_no_lock_taken) {
    std::atomic<bool> over{false};
    ClockModel* clock = device().clock(0);
    std::thread busy([&] {
        Silent listener;
        for (int64_t i = 0; !over; ++i) {
            hub::add(Hook::memory_use, listener);
            hub::remove(Hook::memory_use, listener);
            (void)foreign::add("other");
            torch::stop_operators();
            (void)device().clock(0);
            if (clock) clock->add({i, i, i + 1});
        }
    });
    int failed = 0;
    for (int i = 0; i < 200 && !failed; ++i) {
        failed += in_child([] {
                      alarm(10);  // a lock that is taken is taken forever
                      process::after_fork_in_child();
                      Silent listener;
                      hub::add(Hook::memory_use, listener);
                      (void)foreign::add("other");
                      torch::stop_operators();
                      (void)device().clock(0);
                  }) != 0;
    }
    over = true;
    busy.join();
    CHECK(failed == 0);
}

MAIN
