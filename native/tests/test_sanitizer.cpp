// The sanitizer's engine: what is ordered, what is reported, and that memory does not grow with the length of a
// program. Verdicts of whole programs are tested from Python, against an oracle that tries every timing.
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "check.hpp"
#include "sanitizer/engine.hpp"
#include "sanitizer/leave_one_out.hpp"
#include "sanitizer/shadow.hpp"
#include "sanitizer/vector_clock.hpp"

using namespace eventide::sanitizer;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int many = 300'000;
#else
constexpr int many = 10'000'000;
#endif

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t slack = 512u << 20;  // it keeps what was freed, to see uses of it
#else
constexpr size_t slack = 32u << 20;
#endif

constexpr Range x{0x1000, 64};
const std::vector<Range> none, all_x{x};

void write(Engine& e, uint64_t stream, std::vector<Range> ranges, At at = {}) {
    e.submit(at, stream, none, ranges, true);
}

void read(Engine& e, uint64_t stream, std::vector<Range> ranges, At at = {}) {
    e.submit(at, stream, ranges, none, true);
}

std::vector<Kind> kinds(Engine& e) {
    std::vector<Kind> out;
    for (const Finding& f : e.findings()) out.push_back(f.kind);
    return out;
}

size_t resident() {
    std::ifstream in("/proc/self/statm");
    size_t total = 0, pages = 0;
    in >> total >> pages;
    return pages * size_t(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST(clocks_are_shared_until_one_learns_something) {
    Clock a;
    CHECK(a.raise(3, 5) && !a.raise(3, 4) && a[3] == 5 && a[2] == 0 && a[99] == 0);
    Clock b = a;
    CHECK(b.shares(a));
    CHECK(!b.join(a, 0) && b.shares(a));
    CHECK(b.raise(1, 1) && !b.shares(a) && a[1] == 0);
    CHECK(a.join(b, 0) && a[1] == 1 && a[3] == 5);
    Clock c;
    CHECK(c.raise(1, 9));
    CHECK(!a.join(c, 1) && a[1] == 1);  // its own place does not count as a change
    CHECK(c.join(c, 0) == false);
}

TEST(strided_views_meet_exactly_where_their_strides_match) {
    const auto view = [](uint32_t phase, uint32_t run, uint32_t stride) {
        Entry e;
        e.stride = stride;
        e.run = run;
        e.phase = phase;
        return e;
    };
    const Entry dense;
    CHECK(overlap(dense, dense, 0, 8) == Overlap::certain);
    CHECK(overlap(view(0, 4, 16), view(4, 4, 16), 0, 64) == Overlap::no);
    CHECK(overlap(view(0, 5, 16), view(4, 4, 16), 0, 64) == Overlap::certain);
    CHECK(overlap(view(12, 8, 16), view(0, 4, 16), 0, 64) == Overlap::certain);  // it runs over the end of a period
    CHECK(overlap(view(12, 4, 16), view(0, 4, 16), 0, 64) == Overlap::no);
    CHECK(overlap(view(0, 4, 16), view(0, 4, 24), 0, 48) == Overlap::certain);  // both repeat together after 48
    CHECK(overlap(view(0, 4, 16), view(0, 4, 24), 4, 40) == Overlap::no);       // shorter than that: run by run
    CHECK(overlap(view(0, 4, 16), view(0, 4, 24), 0, 40) == Overlap::certain);
    CHECK(overlap(view(0, 1, 1000003), view(3, 1, 1000033), 0, 1ull << 40) == Overlap::certain);
    CHECK(overlap(view(0, 4, 16), view(4, 4, 24), 0, 96) == Overlap::no);
    CHECK(overlap(view(0, 4, 16), view(4, 5, 24), 0, 96) == Overlap::certain);
    CHECK(overlap(view(0, 4, 16), dense, 4, 16) == Overlap::no);
    CHECK(overlap(view(0, 4, 16), dense, 4, 17) == Overlap::certain);
    Entry perhaps;
    perhaps.possible = true;
    CHECK(overlap(perhaps, dense, 0, 8) == Overlap::possible);
}

TEST(the_bytes_of_two_strided_views_are_compared_exactly) {
    const auto has = [](const Entry& e, uint64_t at) {
        return (at % e.stride + e.stride - e.phase) % e.stride < e.run;
    };
    uint64_t seed = 1;
    const auto random = [&](uint64_t below) { return (seed = seed * 6364136223846793005u + 1) / (1ull << 40) % below; };
    const auto view = [&] {
        Entry e;
        e.stride = uint32_t(2 + random(20));
        e.run = uint32_t(1 + random(e.stride - 1));
        e.phase = uint32_t(random(e.stride));
        return e;
    };
    int met = 0;
    for (int n = 0; n < 20000; ++n) {
        const Entry a = view(), b = view();
        const uint64_t start = random(50), end = start + 1 + random(60);
        bool both = false;
        for (uint64_t at = start; at < end; ++at) both |= has(a, at) && has(b, at);
        CHECK(overlap(a, b, start, end) == (both ? Overlap::certain : Overlap::no));
        met += both;
    }
    CHECK(met > 2000 && met < 19000);
}

TEST(two_halves_of_every_row_do_not_race_and_two_overlapping_ones_do) {
    Engine e;
    write(e, 1, {{0x1000, 1024, 32, 64}});
    write(e, 2, {{0x1020, 992, 32, 64}});
    CHECK(e.findings().empty());
    read(e, 3, {{0x1010, 1000, 32, 64}});  // 16 bytes of each half
    CHECK(e.findings().size() == 2 && e.findings()[0].certain && e.findings()[1].certain);
    read(e, 4, {{0x1000, 1024, 8, 24}});
    CHECK(e.findings().size() == 4 && e.findings()[2].certain && e.findings()[3].certain);
}

TEST(a_race_in_a_loop_is_one_finding_with_a_count) {
    Engine e;
    for (int i = 0; i < 1000; ++i) {
        write(e, 1, {x}, {.stack = 7, .work = uint64_t(2 * i), .name = "produce"});
        e.record({}, 1, newest, 1);
        read(e, 2, {x}, {.stack = 8, .work = uint64_t(2 * i + 1), .name = "consume"});
        e.record({}, 2, newest, 2);
        e.wait({.stack = 9}, 2, newest, 1);
    }
    e.finish({}, true);
    CHECK(e.findings().size() == 1);
    const Finding& f = e.findings()[0];
    CHECK(f.kind == Kind::race && f.certain && f.count == 1000);
    CHECK(f.first.name == "produce" && f.first.write && f.first.stream == 1 && f.first.stack == 7);
    CHECK(f.second.name == "consume" && !f.second.write && f.second.stream == 2 && f.second.work == 1);
    CHECK(f.first.address == x.address && f.first.bytes == 64);
    CHECK(f.fix.what == Fix::Do::wait && f.fix.recorded && f.fix.event == 1 && f.fix.version == 1);
}

TEST(a_race_over_several_ranges_happened_once) {
    Engine e;
    write(e, 1, {{0x1000, 16}, {0x1010, 16}, {0x1020, 16}}, {.work = 1});
    read(e, 2, {{0x1008, 32}}, {.work = 2});
    CHECK(e.findings().size() == 1 && e.findings()[0].count == 1);
    CHECK(e.findings()[0].second.address == 0x1008 && e.findings()[0].second.bytes == 32);
    CHECK(e.findings()[0].first.address == 0x1008 && e.findings()[0].first.bytes == 32);
}

TEST(a_wait_is_redundant_only_if_every_run_of_that_line_is) {
    Engine e;
    for (int i = 0; i < 10; ++i) {
        e.record({}, 1, newest, 1);
        e.wait({.stack = 5}, 1, newest, 2);  // the first time there is nothing to wait for
        e.wait({.stack = 6}, 1, newest, 2);  // never needed
        read(e, 2, {x});
        e.record({}, 2, newest, 2);
        e.wait({.stack = 7}, 2, newest, 1);
        write(e, 1, {x});
    }
    e.finish({}, false);
    CHECK(e.findings().size() == 1);
    CHECK(e.findings()[0].kind == Kind::redundant_wait && e.findings()[0].second.stack == 6);
    CHECK(e.findings()[0].count == 10);
}

TEST(hand_over_orders_threads_and_prediction_does_without) {
    for (const bool predict : {false, true}) {
        Engine e({.predict = predict});
        e.host_access({.thread = 1, .work = 1}, none, all_x);
        e.host_signal({.thread = 1}, 77);
        e.host_wait({.thread = 2}, 77);
        e.host_access({.thread = 2, .work = 2}, none, all_x);
        CHECK(e.findings().size() == (predict ? 1 : 0));
        if (predict) CHECK(!e.findings()[0].certain && e.findings()[0].fix.what == Fix::Do::hand_over);
        e.host_access({.thread = 3, .work = 3}, all_x, none);
        CHECK(e.findings().size() == (predict ? 3 : 1) && e.findings().back().certain);
    }
}

TEST(a_synchronization_waits_for_what_was_there_when_it_began) {
    Engine e;
    write(e, 1, {x}, {.thread = 1});
    e.mark_stream({.thread = 2}, 5, 1);
    write(e, 1, {{0x2000, 64}}, {.thread = 1});
    e.synchronize_marked({.thread = 2}, 5);
    e.host_access({.thread = 2}, all_x, none);
    CHECK(e.findings().empty());
    const std::vector<Range> later{{0x2000, 64}};
    e.host_access({.thread = 2}, later, none);
    CHECK(kinds(e) == std::vector{Kind::race} && e.findings()[0].fix.what == Fix::Do::synchronize);
}

TEST(a_future_orders_its_work_and_all_before_it) {
    Engine e;
    for (uint64_t i = 0; i < 6000; ++i) write(e, 1, {{0x10000 + i * 64, 64}}, {.work = i + 1});
    e.synchronize_work({.thread = 0}, 1, 5000);
    const std::vector<Range> last{{0x10000 + 4999 * 64, 64}}, next{{0x10000 + 5000 * 64, 64}}, first{{0x10000, 64}};
    e.host_access({}, first, none);
    e.host_access({}, last, none);
    CHECK(e.findings().empty());
    e.host_access({}, next, none);
    CHECK(e.findings().size() == 1);
}

TEST(the_last_reference_frees_without_a_question) {
    Engine e;
    for (const bool idle : {true, false}) {
        e.allocate({.name = "buffer"}, x.address, x.bytes);
        write(e, 1, {x});
        e.free({}, x.address, no_stream, idle);
        CHECK(e.findings().size() == (idle ? 0 : 1));
    }
    CHECK(e.findings()[0].kind == Kind::missing_record_stream && e.findings()[0].buffer_name == "buffer");
    CHECK(e.findings()[0].fix.what == Fix::Do::record_stream && e.findings()[0].fix.stream == 1);
    e.free({}, 0xdead);  // never allocated
    CHECK(e.findings().size() == 1);
}

TEST(a_deleted_stream_gives_its_place_to_the_next) {
    Engine e;
    for (uint64_t s = 1; s <= 10'000; ++s) {
        e.create_stream(s);
        write(e, s, {x});
        e.delete_stream({}, s);
    }
    CHECK(e.findings().empty() && e.coverage().streams == 0);
}

TEST(unused_names_are_removed) {
    Engine e;
    const size_t before = resident();
    for (int i = 0; i < many / 10; ++i) {
        const std::string name = "a work with a name of its own, number " + std::to_string(i);
        write(e, 1, {x}, {.name = name});
    }
    CHECK(resident() < before + 2 * slack);
    write(e, 2, {x}, {.name = "other"});
    CHECK(e.findings()[0].first.name == "a work with a name of its own, number " + std::to_string(many / 10 - 1));
}

TEST(a_free_that_is_held_up_belongs_to_the_old_owner) {
    Engine e({.numbered = true});  // in the order in which it runs; the numbers are the order of submission
    e.allocate({.work = 1}, x.address, x.bytes, 1);
    write(e, 1, {x}, {.work = 2});
    e.mark_thread(3, 0);
    e.allocate({.work = 4}, x.address, x.bytes, 1);
    write(e, 1, {x}, {.work = 5});
    e.signal({.work = 6}, 100, 1);
    e.wait_signal({.work = 7}, 100, 2);
    e.free({.work = 3, .past = 3}, x.address, 2);  // behind the wait, so all that stream 1 did is complete
    e.finish({}, true);
    CHECK(kinds(e) == std::vector<Kind>{Kind::leak});
    CHECK(e.findings()[0].second.work == 4);  // the new owner was not freed
    CHECK(e.over_at(7).size() == 1 && e.over_at(7)[0].count == 3);
}

TEST(a_deleted_stream_keeps_its_actions_until_the_end) {
    Engine e({.numbered = true});
    write(e, 1, {x}, {.work = 1});
    write(e, 2, {x}, {.thread = 1, .work = 2});
    e.delete_stream({}, 1);
    e.end_thread(1);
    write(e, 3, {Range{0x9000, 8}}, {.work = 3});  // which may not take the place of the first
    e.finish({}, false);
    CHECK(kinds(e) == std::vector<Kind>{Kind::race});
    CHECK(e.findings()[0].first.stream == 1 && e.findings()[0].second.stream == 2);
}

TEST(work_that_is_never_seen_costs_a_range_no_more_than_a_few_entries) {
    Engine e;
    e.submit({.work = 1}, 2, none, none, false);
    const size_t before = resident();
    for (uint64_t i = 2; i < uint64_t(many) / 10; ++i) write(e, 1, {x}, {.work = i});
    CHECK(e.findings().empty() && resident() < before + slack);
    e.work_access({.work = 1}, 2, all_x, none);
    CHECK(kinds(e) == std::vector<Kind>{Kind::race});
}

TEST(memory_is_bounded_by_what_lives_not_by_the_length_of_the_program) {
    Engine e({.max_freed = 4096});
    const std::vector<Range> inputs{{0x9000, 4096}};
    const size_t before = resident();
    for (int i = 0; i < many; ++i) {  // four streams in a ring, a new address for every work, nothing synchronized
        const uint64_t stream = 1 + uint64_t(i) % 4, address = 0x100000 + uint64_t(i) * 256;
        const std::vector<Range> mine{{address, 256}};
        e.allocate({.work = uint64_t(i)}, address, 256, stream);
        e.submit({.stack = 3, .work = uint64_t(i), .name = "step"}, stream, inputs, mine, true);
        e.free({}, address, stream);
        if (i % 16 == 0) {
            e.record({}, 100 + stream, newest, stream);
            e.wait({.stack = 4}, 100 + stream, newest, 1 + stream % 4);
        }
    }
    CHECK(e.findings().empty());
    CHECK(e.coverage().works == uint64_t(many) && e.coverage().known == uint64_t(many));
    CHECK(e.coverage().ranges <= 4096 + 2);
    CHECK(e.coverage().forgotten == uint64_t(many) - 4096);
    CHECK(resident() < before + slack);
}

MAIN

TEST(each_item_is_visited_with_the_others_that_remain) {
    const std::vector<int> items{1, 2, 4, 8, 16};
    std::vector<bool> dropped(items.size());
    std::vector<int> seen;
    const auto add = [&](int& sum, size_t i) { sum += dropped[i] ? 0 : items[i]; };
    leave_one_out(0, items.size(), 100, add, [&](size_t i, int others) {
        seen.push_back(others);
        dropped[i] = i == 3;
    });
    CHECK((seen == std::vector<int>{115, 123, 119, 121, 122}));
}

TEST(many_pending_waits_take_a_logarithm_of_joins_each) {
    size_t joins = 0;
    const auto add = [&](int&, size_t) { ++joins; };
    leave_one_out(0, 4096, 0, add, [](size_t, int) {});
    CHECK(joins == 4096 * 12);  // one by one it is 4,096 * 4,095
}

TEST(of_many_pending_waits_the_last_alone_is_needed) {
    Engine e;
    for (uint32_t n = 1; n <= 20'000; ++n) {
        write(e, 1, {{0x10000 + 64 * n, 64}}, {.stack = 1});
        e.record({.stack = 2}, n, 1, 1);
        e.wait({.stack = 2 + n}, n, 1, 2);
    }
    write(e, 2, all_x);
    e.finish({}, false);
    CHECK(e.findings().size() == 19'999);
}
