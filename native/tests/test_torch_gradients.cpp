// Gradients and their operators, without torch: what a record function holds is laid out by hand.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "profiler/torch_gradients.hpp"
#include "recorder/recorder.hpp"
#include "tracefile/raw_trace.hpp"
#include "tracefile/trace_columns.hpp"

using namespace eventide;
using namespace eventide::recorder;
using torch::Gradients;
using torch::Words;

namespace {

constexpr size_t sequence_at = 26, thread_at = sequence_at + 13;
thread_local uint64_t this_thread = 1;

Words function(int64_t sequence, uint64_t forward_thread = 0) {
    Words words{};
    words.fill(-7);
    words[sequence_at] = sequence;
    words[thread_at] = int64_t(forward_thread);
    return words;
}

bool find_offsets(Gradients& gradients) {
    return gradients.find_offsets({function(40), function(41), function(42, 5)}, {40, 41, 42}, 5);
}

Gradients::Place place_of(const Put& put, int64_t time) {
    CHECK(bool(put));
    return {time, put.lane().track, on.load()};
}

void forward(Gradients& gradients, int64_t sequence, int64_t time) {
    Put put;
    const Words words = function(sequence);
    gradients.forward(&words, [] { return this_thread; }, place_of(put, time));
}

void backward(Gradients& gradients, int64_t sequence, uint64_t thread, int64_t time) {
    Put put;
    const Words words = function(sequence, thread);
    gradients.backward(&words, put, place_of(put, time));
}

// From when to when, of all edges that `act` makes.
template <class F>
std::vector<std::pair<int64_t, int64_t>> edges(F&& act) {
    char path[] = "/tmp/eventide-test-XXXXXX";
    CHECK(mkdtemp(path) != nullptr);
    const std::string file = std::string(path) + "/a";
    start({.path = file});
    act();
    CHECK(stop().buffer.empty());
    const RawTrace raw = load(file);
    const TraceColumns trace = columns_of(raw);
    std::vector<std::pair<int64_t, int64_t>> found;
    for (size_t i = 0; i < trace.edges.from_time.size(); ++i)
        found.emplace_back(trace.edges.from_time[i], trace.edges.to_time[i]);
    unlink(file.c_str());
    rmdir(path);
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

TEST(a_number_at_two_offsets_or_at_none_gives_no_calibration) {
    Words first = function(40), second = function(41);
    static Gradients gradients;  // never destroyed
    const Words gradient = function(42, 5);
    CHECK(!gradients.find_offsets({first, second, gradient}, {40, 42, 42}, 5));
    CHECK(!gradients.find_offsets({first, first, gradient}, {40, 40, 42}, 5));
    first[3] = 40, second[3] = 41;
    CHECK(!gradients.find_offsets({first, second, gradient}, {40, 41, 42}, 5));
    first[3] = 0;
    CHECK(gradients.find_offsets({first, second, gradient}, {40, 41, 42}, 5));
    Words of_gradient = function(41, 1);
    static Gradients another;
    CHECK(!another.find_offsets({first, of_gradient, gradient}, {40, 41, 42}, 5));
}

TEST(a_gradient_must_name_the_thread_of_its_operator_where_the_others_have_zero) {
    static Gradients gradients;  // never destroyed
    const Words first = function(40), second = function(41);
    CHECK(!gradients.find_offsets({first, second, function(42, 0)}, {40, 41, 42}, 0));  // any zero word
    CHECK(!gradients.find_offsets({first, second, function(42, 0)}, {40, 41, 42}, 5));
    CHECK(!gradients.find_offsets({first, second, function(42, 6)}, {40, 41, 42}, 5));
    CHECK(!gradients.find_offsets({first, second, function(43, 5)}, {40, 41, 42}, 5));
    CHECK(gradients.find_offsets({first, second, function(42, 5)}, {40, 41, 42}, 5));
}

TEST(without_calibration_nothing_is_linked) {
    static Gradients gradients;  // never destroyed
    CHECK(edges([&] {
              forward(gradients, 5, 100);
              backward(gradients, 5, 1, 200);
          }).empty());
}

TEST(a_gradient_belongs_to_the_operator_of_its_number_that_began_last) {
    static Gradients gradients;  // never destroyed
    CHECK(find_offsets(gradients));
    std::mt19937 random(7);
    std::map<std::pair<uint64_t, int64_t>, int64_t> began;
    std::vector<std::pair<int64_t, int64_t>> expected;
    const auto found = edges([&] {
        for (int64_t time = 1; time < 20'000; ++time) {
            const uint64_t thread = 1 + random() % 3;
            const int64_t sequence = int64_t(random() % 50) - 1;  // -1: it has none
            if (random() % 2) {
                this_thread = thread;
                forward(gradients, sequence, time);
                if (sequence >= 0) began[{thread, sequence}] = time;
            } else {
                backward(gradients, sequence, thread, time);
                if (const auto at = began.find({thread, sequence}); at != began.end()) {
                    expected.emplace_back(at->second, time);
                    began.erase(at);
                }
            }
        }
    });
    this_thread = 1;
    std::sort(expected.begin(), expected.end());
    CHECK(expected.size() > 1000 && found == expected);
}

TEST(an_operator_of_an_earlier_recording_is_tied_to_nothing) {
    static Gradients gradients;  // never destroyed
    CHECK(find_offsets(gradients));
    CHECK(edges([&] { forward(gradients, 5, 100); }).empty());
    CHECK(edges([&] { backward(gradients, 5, 1, 200); }).empty());
}

TEST(no_gradient_gets_an_operator_of_another_number_while_threads_race) {
    static Gradients gradients;  // never destroyed
    CHECK(find_offsets(gradients));
    constexpr int64_t slots = 1 << 14, rounds = 60'000;
    std::atomic<int64_t> newest{0};
    const auto found = edges([&] {
        std::thread forwards([&] {
            this_thread = 2;
            for (int64_t round = 1; round <= rounds; ++round) {
                const int64_t sequence = round * slots + 9;  // all of one slot; they grow, as torch's do
                newest.store(sequence, std::memory_order_relaxed);
                forward(gradients, sequence, sequence);
            }
        });
        std::thread backwards([&] {
            for (int64_t round = 0; round < rounds; ++round) {
                const int64_t sequence = newest.load(std::memory_order_relaxed);
                if (sequence) backward(gradients, sequence, 2, int64_t(1) << 40 | sequence);
            }
        });
        forwards.join();
        backwards.join();
        const int64_t sequence = newest.load(std::memory_order_relaxed);
        backward(gradients, sequence, 2, int64_t(1) << 40 | sequence);  // unless it has been tied already
    });
    CHECK(!found.empty());
    for (const auto& [from, to] : found) CHECK(from == (to & ~(int64_t(1) << 40)));
}

TEST(threads_and_numbers_beyond_all_bounds_are_left_alone) {
    static Gradients gradients;  // never destroyed
    CHECK(find_offsets(gradients));
    CHECK(edges([&] {
              this_thread = 1 << 20;
              forward(gradients, 5, 100);
              backward(gradients, 5, 1 << 20, 200);
              backward(gradients, 5, ~uint64_t{0}, 200);
              backward(gradients, INT64_MAX, 1, 200);
              this_thread = 1;
          }).empty());
}

MAIN
