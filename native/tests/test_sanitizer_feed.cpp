// Hook records become the engine's verbs.
#include "check.hpp"
#include "sanitizer/hook_feed.hpp"

using namespace eventide;
using namespace eventide::sanitizer;

namespace {

struct Fed {
    Engine engine;
    Feed feed{engine};

    void feed_record(HookRecord r, uint64_t thread = 1, uint32_t stack = 0) { feed.on_hook(r, thread, stack); }
    void submit(uint64_t stream, uint64_t work, const Access& write, uint64_t thread = 1) {
        HookRecord r{.hook = Hook::work_submission, .stream = stream, .work = work};
        r.accesses_known = true;
        r.writes = &write;
        r.write_count = 1;
        feed_record(r, thread, uint32_t(work));
    }
    size_t found() {
        engine.finish({.thread = 1}, false);
        return engine.findings().size();
    }
};

constexpr Access bytes{64, 64};

}  // namespace

TEST(strided_views_that_miss_each_other_do_not_race) {
    Fed f;
    f.submit(1, 1, {.address = 0, .bytes = 100, .run = 4, .stride = 8});
    f.submit(2, 2, {.address = 4, .bytes = 100, .run = 4, .stride = 8});
    CHECK(f.found() == 0);
}

TEST(a_synchronization_covers_what_was_there_when_it_began) {
    Fed f;
    f.submit(1, 1, bytes);
    f.feed_record({.hook = Hook::stream_synchronization, .stream = 1, .handle = 7});
    f.submit(1, 2, {.address = 256, .bytes = 8}, 2);  // by another thread, meanwhile
    f.feed_record({.hook = Hook::stream_synchronization, .end = true, .stream = 1, .handle = 7});
    f.submit(2, 3, bytes);
    CHECK(f.engine.findings().empty());
    f.submit(2, 4, {.address = 256, .bytes = 8});
    CHECK(f.found() == 1);
}

TEST(one_that_gave_up_covers_nothing) {
    Fed f;
    f.submit(1, 1, bytes);
    f.feed_record({.hook = Hook::stream_synchronization, .stream = 1, .handle = 7});
    HookRecord end{.hook = Hook::stream_synchronization, .end = true, .stream = 1, .handle = 7};
    end.name = "gave up";
    f.feed_record(end);
    f.submit(2, 2, bytes);
    CHECK(f.found() == 1);
}

TEST(cancelled_work_accesses_nothing_and_what_it_replaced_returns) {
    for (const size_t earlier : {0, 1}) {
        for (const bool before : {false, true}) {  // the cancellation, or the other access
            Fed f;
            if (earlier) f.submit(1, 1, bytes);
            f.submit(1, 2, bytes);
            HookRecord cancelled{.hook = Hook::host_wait, .stream = 1, .work = 2};
            cancelled.name = "cancelled";
            if (before) f.feed_record(cancelled);
            f.submit(2, 3, bytes);
            if (!before) f.feed_record(cancelled);
            f.engine.finish({.thread = 1}, false);
            size_t found = 0;
            for (const Finding& finding : f.engine.findings()) found += finding.count > 0;
            CHECK(found == earlier);
        }
    }
}

TEST(a_synchronization_by_hand_has_no_number_and_no_end) {
    Fed f;
    f.submit(1, 1, bytes);
    f.feed_record({.hook = Hook::stream_synchronization, .stream = 1});
    f.submit(2, 2, bytes);
    CHECK(f.found() == 0);
}

TEST(an_unknown_version_is_the_newest) {
    Fed f;
    f.submit(1, 1, bytes);
    f.feed_record({.hook = Hook::event_record, .stream = 1, .event = 5, .version = hub::newest_version});
    f.feed_record({.hook = Hook::event_wait, .stream = 2, .event = 5, .version = hub::newest_version});
    f.submit(2, 2, bytes);
    CHECK(f.found() == 0);
}

TEST(an_event_with_the_id_of_a_deleted_one_has_none_of_its_records) {
    for (const Hook between : {Hook::event_deletion, Hook::event_creation}) {  // or the deletion was not observed
        Fed f;
        f.feed_record({.hook = Hook::event_creation, .event = 5});
        f.submit(1, 1, bytes);
        f.feed_record({.hook = Hook::event_record, .stream = 1, .event = 5, .version = hub::newest_version});
        f.feed_record({.hook = between, .event = 5});
        f.feed_record({.hook = Hook::event_wait, .stream = 2, .event = 5, .version = hub::newest_version});
        f.submit(2, 2, bytes);
        CHECK(f.found() == 2);
        CHECK(f.engine.findings()[0].kind == Kind::wait_on_unrecorded && f.engine.findings()[1].kind == Kind::race);
    }
}

TEST(the_advice_names_no_record_of_an_event_whose_id_another_one_has) {
    Fed f;
    f.submit(1, 1, bytes);
    f.feed_record({.hook = Hook::event_record, .stream = 1, .event = 5, .version = 1});
    f.feed_record({.hook = Hook::event_deletion, .event = 5});
    f.feed_record({.hook = Hook::event_record, .stream = 3, .event = 5, .version = 1});
    f.submit(2, 2, bytes);
    CHECK(f.found() == 1 && !f.engine.findings()[0].fix.recorded);
}

TEST(many_streams_that_are_dropped_take_bounded_room) {
    Fed f;
    for (uint64_t stream = 1; stream <= 5000; ++stream) {
        f.feed_record({.hook = Hook::stream_creation, .stream = stream});
        f.submit(stream, stream, {.address = stream * 64, .bytes = 64});
        f.feed_record({.hook = Hook::stream_deletion, .stream = stream});
    }
    CHECK(f.engine.coverage().streams < 300);
    CHECK(f.found() == 0);
}

TEST(a_default_stream_that_blocks_orders_itself_against_the_others_of_its_device) {
    const auto racy = [](std::string_view first, std::string_view second, int16_t index, bool default_last) {
        Fed f;
        HookRecord member{.hook = Hook::stream_creation, .device = {1, 0}, .stream = 1, .group = first};
        HookRecord other{.hook = Hook::stream_creation, .device = {1, index}, .stream = 2, .group = second};
        f.feed_record(default_last ? member : other);
        if (default_last) f.submit(1, 1, bytes);
        f.feed_record(default_last ? other : member);
        if (!default_last) f.submit(1, 1, bytes);
        f.submit(2, 2, bytes);
        return f.found();
    };
    for (const bool default_last : {false, true}) {
        CHECK(racy("behind", "default", 0, default_last) == 0);
        CHECK(racy("behind", "behind", 0, default_last) == 1);
        CHECK(racy("", "", 0, default_last) == 1);
        CHECK(racy("behind", "default", 1, default_last) == 1);  // of another device
    }
}

TEST(a_stream_that_was_there_before_belongs_to_its_device) {
    Fed f;
    HookRecord r{.hook = Hook::work_submission, .accesses_known = true, .device = {1, 0}, .stream = 1, .work = 1};
    r.writes = &bytes;
    r.write_count = 1;
    f.feed_record(r);
    f.feed_record({.hook = Hook::device_synchronization, .device = {1, 0}});
    f.submit(2, 2, bytes);
    CHECK(f.found() == 0);
}

MAIN
