// Events over streams: versions, waits between streams, timing, pools; on devices of each kind.
#include <thread>
#include <vector>

#include "check.hpp"
#include "fakes.hpp"
#include "runtime/event.hpp"
#include "runtime/pool.hpp"

using namespace fakes;

namespace {

Ref<Event> timed() {
    return Ref<Event>(new Event({.timing = true}));
}

}  // namespace

TEST_ON(a_wait_binds_to_the_version_recorded_when_it_is_called, ALL) {
    auto a = open_stream(), b = open_stream();
    Event e({});
    e.retain();
    Gate first, second;
    first.hold(*a);
    e.record(*a);
    e.wait(*b);
    second.hold(*a);
    e.record(*a);
    auto behind = submit(*b, quietly([] {}));
    CHECK(behind->load() == Call::pending);
    first.open();
    CHECK(synchronize(*b) == "");  // the second record does not hold it
    CHECK(behind->load() == Call::ok);
    CHECK(!e.query());
    second.open();
    synchronize(*a);
    CHECK(e.query());
    a->close();
    b->close();
}

TEST_ON(a_stream_that_waits_on_a_failed_marker_has_its_error, ALL) {
    auto a = open_stream(), b = open_stream();
    auto e = timed();
    submit(*a, [] { return std::string("boom"); });
    e->record(*a);
    e->wait(*b);
    auto behind = submit(*b, quietly([] {}));
    CHECK(synchronize(*b) == "boom");
    CHECK(behind->load() == Call::skipped);
    CHECK(synchronize(*a) == "boom");
    a->close();
    b->close();
}

TEST_ON(elapsed_time_checks_in_order_and_never_hangs, ALL) {
    auto s = open_stream();
    auto a = timed(), b = timed();
    Ref<Event> plain(new Event({}));
    CHECK_THROWS(a->elapsed_ms(*plain), ErrorKind::value, "enable_timing=True");
    CHECK_THROWS(a->elapsed_ms(*b), ErrorKind::value, "recorded");
    a->record(*s);
    Gate gate;
    gate.hold(*s);
    b->record(*s);
    CHECK_THROWS(a->elapsed_ms(*b), ErrorKind::event, "synchronize");
    gate.open();
    synchronize(*s);
    CHECK(a->elapsed_ms(*b) >= 0);
    CHECK(a->elapsed_ms(*b) == -b->elapsed_ms(*a));
    s->close();
}

TEST(a_pool_gives_the_last_one_back_first_with_its_id) {
    Ref<EventPool> pool(new EventPool({0, 0}));
    auto a = pool->acquire(false), b = pool->acquire(false);
    const uint64_t ida = a.event->id, idb = b.event->id;
    CHECK(pool->give_back(*a.event, a.number));
    CHECK(pool->give_back(*b.event, b.number));
    CHECK(!pool->give_back(*b.event, b.number));
    CHECK(pool->acquire(true).event->id == idb);
    CHECK(pool->acquire(true).event->id == ida);
    CHECK_THROWS(pool->find(12345678), ErrorKind::event, "12345678");
    CHECK(pool->stats().created == 2 && pool->stats().reused == 2);
}

TEST_ON(an_event_returned_while_pending_comes_out_fresh, ALL) {
    auto s = open_stream();
    Ref<EventPool> pool(new EventPool(device_id()));
    Gate gate;
    gate.hold(*s);
    auto lease = pool->acquire(true);
    lease.event->record(*s);
    CHECK(!lease.event->query());
    pool->give_back(*lease.event, lease.number);
    auto again = pool->acquire(true);
    CHECK(again.event->id == lease.event->id);
    CHECK(again.event->query());
    CHECK(again.event->current().number == 0);
    gate.open();
    synchronize(*s);
    s->close();
}

TEST_ON(blocking_work_that_closes_a_cycle_is_reported, DEFERRED) {
    auto a = open_stream(0, "a"), b = open_stream(0, "b");
    auto e = timed(), f = timed();
    Gate gate;
    std::string message, own;
    gate.hold(*a);
    submit(*a, quietly([&] {
        try {
            synchronize(*a);
        } catch (const Error& error) {
            own = error.what();
        }
        Ref<Marker> target = f->current().marker;
        try {
            Blocking blocking("Event.synchronize()", *b, target->position());
            join(*target);
        } catch (const Error& error) {
            message = error.what();
        }
    }));
    e->record(*a);  // behind the work that will block
    e->wait(*b);
    f->record(*b);  // needs a, which needs f
    gate.open();
    CHECK(synchronize(*a) == "");
    CHECK(own.find("'a'") != std::string::npos);
    CHECK(message.find("'a'") != std::string::npos && message.find("'b'") != std::string::npos);
    CHECK(message.find("event " + std::to_string(e->id)) != std::string::npos);
    CHECK(synchronize(*b) == "");
    a->close();
    b->close();
}

TEST_ON(waiting_for_another_stream_inside_work_is_fine_without_a_cycle, DEFERRED) {
    auto a = open_stream(), b = open_stream();
    auto e = timed();
    Gate gate;
    gate.hold(*b);
    e->record(*b);
    std::atomic<bool> went_on{false};
    submit(*a, quietly([&] {
        Ref<Marker> m = e->current().marker;
        Blocking blocking("wait", *b, m->position());
        join(*m);
        went_on = true;
    }));
    gate.open();
    CHECK(synchronize(*a) == "");
    CHECK(went_on);
    a->close();
    b->close();
}

MAIN
