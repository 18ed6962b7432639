// One stream: order, idleness, markers, errors, room, closing; on devices of each kind.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include "check.hpp"
#include "fakes.hpp"
#include "hooks/hub.hpp"
#include "runtime/event.hpp"

using namespace fakes;

TEST_ON(work_runs_in_order, ALL) {
    auto s = open_stream();
    std::vector<int> seen;
    for (int i = 0; i < 1000; ++i) submit(*s, quietly([&seen, i] { seen.push_back(i); }));
    CHECK(synchronize(*s) == "");
    CHECK(seen.size() == 1000);
    for (int i = 0; i < 1000; ++i) CHECK(seen[size_t(i)] == i);
    s->close();
}

TEST_ON(a_stream_is_busy_until_its_last_work_is_over, ALL) {
    auto s = open_stream();
    CHECK(s->idle());
    Gate gate;
    gate.hold(*s);
    CHECK(!s->idle());
    gate.open();
    synchronize(*s);
    CHECK(s->idle());
    s->close();
}

TEST(a_marker_on_an_idle_stream_is_done_at_once) {
    auto s = open_stream();
    Ref<Marker> m = s->record(true);
    CHECK(m->state() == MarkerState::done);
    CHECK(m->time_ns() > 0);
    s->close();
}

TEST_ON(markers_are_passed_in_order_and_their_times_do_not_go_back, ALL) {
    auto s = open_stream();
    Gate gate;
    gate.hold(*s);
    std::vector<Ref<Marker>> markers;
    for (int i = 0; i < 200; ++i) {
        submit(*s, quietly([] {}));
        markers.push_back(s->record(true));
    }
    CHECK(markers.back()->pending());
    gate.open();
    join(*markers.back());
    for (size_t i = 0; i < markers.size(); ++i) {
        CHECK(markers[i]->state() == MarkerState::done);
        if (i) CHECK(markers[i]->time_ns() >= markers[i - 1]->time_ns());
    }
    s->close();
}

TEST(recording_allocates_nothing_once_warm) {
    auto s = open_stream();
    for (int i = 0; i < 100; ++i) s->record(false);
    const uint64_t warm = s->markers_allocated();
    for (int i = 0; i < 100'000; ++i) s->record(false);
    CHECK(s->markers_allocated() == warm);
    s->close();
}

TEST_ON(an_error_stays_with_the_stream_until_it_is_synchronized, ALL) {
    auto s = open_stream();
    Gate gate;
    gate.hold(*s);
    auto bad = submit(*s, [] { return std::string("boom"); });
    auto behind = submit(*s, quietly([] {}));
    Ref<Marker> m = s->record(false);
    gate.open();
    join(*m);
    CHECK(m->state() == MarkerState::failed);
    CHECK(m->failure()->message == "boom");
    CHECK(bad->load() == Call::failed);
    CHECK(behind->load() == Call::skipped);
    CHECK(synchronize(*s) == "boom");
    CHECK(synchronize(*s) == "");
    auto after = submit(*s, quietly([] {}));
    CHECK(synchronize(*s) == "");
    CHECK(after->load() == Call::ok);
    CHECK(m->state() == MarkerState::failed);  // forever
    s->close();
}

TEST_ON(every_thread_then_waiting_gets_the_error_and_later_ones_do_not, ALL) {
    auto s = open_stream();
    Gate gate;
    gate.hold(*s);
    submit(*s, [] { return std::string("boom"); });
    std::vector<Stream::Sync> waiting;
    for (int i = 0; i < 3; ++i) waiting.push_back(s->begin_sync());
    auto between = submit(*s, quietly([] {}));
    gate.open();
    for (auto& w : waiting) {
        join(*w.marker);
        CHECK(w.marker->failure() && w.marker->failure()->message == "boom");
    }
    CHECK(synchronize(*s) == "");
    CHECK(between->load() == Call::ok);
    s->close();
}

TEST_ON(a_synchronize_that_gave_up_neither_heals_nor_loses_the_error, ALL) {
    auto s = open_stream();
    Gate gate;
    gate.hold(*s);
    submit(*s, [] { return std::string("boom"); });
    Stream::Sync gave_up = s->begin_sync();
    CHECK(s->abandon_sync(*gave_up.marker));
    gate.open();
    join(*gave_up.marker);
    CHECK(synchronize(*s) == "boom");
    s->close();
}

TEST_ON(a_full_stream_refuses_until_there_is_room, DEFERRED) {
    auto s = open_stream(2);
    Gate gate;
    std::atomic<bool> started{false};
    submit(*s, quietly([&] { started = true; }));
    synchronize(*s);
    gate.hold(*s);
    while (s->queued()) std::this_thread::yield();  // the gate itself has started
    submit(*s, quietly([] {}));
    submit(*s, quietly([] {}));
    Call third(quietly([] {}));
    CHECK(s->try_submit(third) == 0);
    gate.open();
    auto outcome = submit(*s, quietly([] {}));  // sleeps for room
    CHECK(synchronize(*s) == "");
    CHECK(outcome->load() == Call::ok);
    s->close();
}

TEST_ON(a_closed_stream_runs_what_is_queued_and_refuses_the_rest, ALL) {
    auto s = open_stream();
    Gate gate;
    gate.hold(*s);
    auto queued = submit(*s, quietly([] {}));
    s->close();
    s->close();
    Call late(quietly([] {}));
    CHECK_THROWS(s->try_submit(late), ErrorKind::stream, "closed");
    CHECK_THROWS(s->record(false), ErrorKind::stream, "closed");
    Ref<Marker> end = s->mark_end();
    gate.open();
    join(*end);
    CHECK(queued->load() == Call::ok);
}

namespace {

// Calls a function when work is complete.
class OnCompletion final : public hub::Listener {
  public:
    explicit OnCompletion(std::function<void(const HookRecord&)> f) : f_(std::move(f)) {
        hub::add(Hook::work_completion, *this);
    }
    ~OnCompletion() { hub::remove(Hook::work_completion, *this); }
    void on_hook(const HookRecord& record) override { f_(record); }

  private:
    std::function<void(const HookRecord&)> f_;
};

}  // namespace

TEST_ON(a_marker_is_asked_about_only_once_the_device_has_made_it, ALL) {
    auto s = open_stream();
    std::atomic<bool> over{false};
    std::thread asks([&] {
        while (!over) s->idle();
    });
    for (int i = 0; i < 2000; ++i) {
        s->record(i % 2);
        if (i % 16 == 0) submit(*s, quietly([] {}));
    }
    over = true;
    asks.join();
    CHECK(synchronize(*s) == "");
    CHECK(s->idle());
    s->close();
}

TEST_ON(hooks_that_query_each_others_stream_return, ALL) {
    auto a = open_stream(), b = open_stream();
    std::atomic<int> inside{0}, asked{0};
    OnCompletion hook([&](const HookRecord& r) {
        ++inside;
        while (inside < 2) std::this_thread::yield();
        (void)(r.stream == a->id ? b : a)->idle();
        ++asked;
    });
    std::thread first([&] {
        submit(*a, quietly([] {}));
        synchronize(*a);
    });
    submit(*b, quietly([] {}));
    synchronize(*b);
    first.join();
    CHECK(asked == 2);
    a->close();
    b->close();
}

TEST_ON(a_hook_may_query_its_own_stream_whose_work_is_not_complete, ALL) {
    auto s = open_stream();
    int asked = 0, idle = 0;
    OnCompletion hook([&](const HookRecord&) {
        ++asked;
        idle += s->idle();
    });
    std::vector<Ref<Marker>> markers;
    for (int i = 0; i < 20; ++i) {
        submit(*s, quietly([] {}));
        markers.push_back(s->record(false));
    }
    CHECK(synchronize(*s) == "");
    CHECK(asked == 20 && idle == 0);
    for (auto& m : markers) CHECK(m->state() == MarkerState::done);
    s->close();
}

// Every verb polls the middle of the queue now and then, and so fires hooks. EVENTIDE_CHECK_LOCKS checks the locks.
TEST_ON(hooks_fire_from_every_verb_with_no_lock_held, ALL) {
    auto s = open_stream(), other = open_stream();
    std::atomic<int> fired{0};
    OnCompletion hook([&](const HookRecord&) { ++fired; });
    Ref<Event> event(new Event({}));
    for (int i = 0; i < 640; ++i) {
        submit(*s, quietly([] {}));
        for (int n = i % 5; n >= 0; --n) event->record(*s);
        if (i % 3 == 0) event->wait(*other);
        if (i % 7 == 0) s->wait(*other->record(false));
        s->idle();
    }
    CHECK(synchronize(*s) == "");
    CHECK(fired == 640);
    s->close();
    other->close();
}

TEST_ON(a_hook_that_waits_for_its_own_stream_is_refused, ALL) {
    auto s = open_stream(0, "own");
    std::string why;
    OnCompletion hook([&](const HookRecord&) {
        try {
            synchronize(*s);
        } catch (const Error& e) {
            why = e.what();
        }
    });
    submit(*s, quietly([] {}));
    join(*s->record(false));
    CHECK(why.find("would wait forever") != std::string::npos && why.find("'own'") != std::string::npos);
    s->close();
}

// A hook delays later hooks, not the device: work behind it runs with the right state of the stream.
TEST_ON(work_behind_a_hook_that_takes_long_runs_on_a_healed_stream, {"polled"}) {
    auto s = open_stream();
    std::atomic<bool> inside{false}, ran{false};
    OnCompletion hook([&](const HookRecord&) {
        if (inside.exchange(true)) return;
        while (!ran) std::this_thread::yield();
    });
    submit(*s, [] { return std::string("boom"); });
    Ref<Marker> failed = s->record(false);
    Stream::Sync heals = s->begin_sync();
    std::thread asks([&] { join(*failed); });
    while (!inside) std::this_thread::yield();
    auto behind = submit(*s, quietly([&] { ran = true; }));
    asks.join();
    CHECK(failed->state() == MarkerState::failed);
    join(*heals.marker);
    CHECK(heals.marker->failure() && heals.marker->failure()->message == "boom");
    CHECK(synchronize(*s) == "");
    CHECK(behind->load() == Call::ok);
    s->close();
}

#ifdef EVENTIDE_CHECK_LOCKS
// The build checks its own rule: a hook that fires with a lock held ends the process.
TEST(a_hook_with_a_lock_held_aborts) {
    const pid_t child = fork();
    if (!child) {
        std::fclose(stderr);
        Mutex m;
        std::lock_guard lock(m);
        hub::fire({.hook = Hook::event_record});
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
#endif

MAIN
