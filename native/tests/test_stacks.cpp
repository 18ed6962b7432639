// Interning of stacks: a stack has one number, from any thread.
#include <set>
#include <thread>

#include "base/stacks.hpp"
#include "check.hpp"

using namespace eventide;

namespace {

stacks::Frame name_of(const stacks::RawFrame& raw) {
    return {stacks::keep("file.py"), stacks::keep("f" + std::to_string(raw.instruction)), raw.instruction};
}

// Negative instructions are variants of the same place.
stacks::RawFrame normalize(const stacks::RawFrame& raw) {
    return {raw.code, raw.instruction < 0 ? -raw.instruction : raw.instruction};
}

uint32_t stack_at(const std::vector<int>& instructions) {
    static const char code = 0;
    std::vector<stacks::RawFrame> frames;
    for (int at : instructions) frames.push_back({&code, at});
    return stacks::intern(frames.data(), uint32_t(frames.size()), {normalize, name_of});
}

uint32_t stack_of(int from, int count) {
    std::vector<int> instructions;
    for (int i = 0; i < count; ++i) instructions.push_back(from + i);
    return stack_at(instructions);
}

}  // namespace

TEST(equal_stacks_have_one_number) {
    const uint32_t a = stack_of(1, 3), b = stack_of(1, 4), c = stack_of(2, 3);
    CHECK(a && b && c && a != b && b != c && a != c);
    CHECK(stack_of(1, 3) == a && stack_of(1, 4) == b && stack_of(2, 3) == c);
    const auto frames = stacks::resolve(b);
    CHECK(frames.size() == 4 && frames[0].function == "f1" && frames[3].line == 4 && frames[3].file == "file.py");
    CHECK(stacks::resolve(0).empty() && stacks::resolve(~0u).empty());
    CHECK(stack_of(0, 0) == 0);
}

TEST(stacks_that_are_equal_when_normalized_have_one_number) {
    const uint32_t variant_first = stack_at({-50, 51});
    CHECK(variant_first && stack_at({50, 51}) == variant_first && stack_at({-50, -51}) == variant_first);
    CHECK(stack_at({50, 52}) != variant_first);
    const auto frames = stacks::resolve(variant_first);
    CHECK(frames.size() == 2 && frames[0].line == 50 && frames[1].line == 51);
}

TEST(without_an_installed_walker_there_is_no_stack) {
    CHECK(stacks::capture() == 0);
}

TEST(concurrent_threads_get_the_same_numbers) {
    std::vector<std::vector<uint32_t>> got(4);
    std::vector<std::thread> threads;
    for (auto& numbers : got)
        threads.emplace_back([&numbers] {
            for (int i = 0; i < 2000; ++i) numbers.push_back(stack_of(100 + i, 1 + i % 5));
        });
    for (auto& t : threads) t.join();
    for (auto& numbers : got) CHECK(numbers == got[0]);
    CHECK(std::set(got[0].begin(), got[0].end()).size() == 2000);
    for (int i = 0; i < 2000; ++i) CHECK(stacks::resolve(got[0][size_t(i)])[0].line == 100 + i);
}

TEST(stacks_beyond_the_limit_are_none_and_counted) {
    CHECK(stacks::statistics().lost == 0);
    const uint32_t before = stacks::statistics().interned;
    for (uint32_t i = before; i < stacks::most + 10; ++i) stack_of(1'000'000 + int(i), 1);
    CHECK(stacks::statistics().interned == stacks::most && stacks::statistics().lost == 10);
    CHECK(stack_of(9'000'000, 2) == 0 && stacks::statistics().lost == 11);
    CHECK(stack_of(1, 3) != 0);
}

MAIN
