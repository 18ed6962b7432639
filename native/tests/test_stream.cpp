// One stream: order, idleness, markers, errors, room, closing.
#include <thread>
#include <vector>

#include "check.hpp"
#include "fakes.hpp"

using namespace fakes;

TEST(work_runs_in_order) {
    auto s = open_stream();
    std::vector<int> seen;
    for (int i = 0; i < 1000; ++i) submit(*s, quietly([&seen, i] { seen.push_back(i); }));
    CHECK(synchronize(*s) == "");
    CHECK(seen.size() == 1000);
    for (int i = 0; i < 1000; ++i) CHECK(seen[size_t(i)] == i);
    s->close();
}

TEST(a_stream_is_busy_until_its_last_work_is_over) {
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

TEST(markers_are_passed_in_order_and_their_times_do_not_go_back) {
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

TEST(an_error_poisons_the_stream_until_it_is_synchronized) {
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
    CHECK(m->state() == MarkerState::failed);  // for ever
    s->close();
}

TEST(every_thread_then_waiting_gets_the_error_and_later_ones_do_not) {
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

TEST(a_synchronize_that_gave_up_neither_heals_nor_loses_the_error) {
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

TEST(a_full_stream_refuses_until_there_is_room) {
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

TEST(a_closed_stream_runs_what_is_queued_and_refuses_the_rest) {
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

MAIN
