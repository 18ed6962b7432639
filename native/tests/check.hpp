// A minimal test framework: TEST registers a test, CHECK throws with file and line, MAIN runs them and prints the count.
// The program's argument, if any, is a part of the names of the tests to run. Each name is printed before its test, so
// that the output of a program that hangs ends with the test that hangs.
#pragma once

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Case {
    std::string name;
    std::function<void()> run;
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

struct Register {
    Register(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

inline void fail(const char* file, int line, const std::string& what) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

inline int run_all(const std::string& part_of_name) {
    int ran = 0, failed = 0;
    for (const Case& c : cases()) {
        if (c.name.find(part_of_name) == std::string::npos) continue;
        ++ran;
        std::printf("%s\n", c.name.c_str());
        std::fflush(stdout);  // before a fork as well, or the child prints it again
        try {
            c.run();
        } catch (const std::exception& e) {
            std::printf("FAILED %s\n  %s\n", c.name.c_str(), e.what());
            ++failed;
        }
    }
    std::printf("%d passed, %d failed\n", ran - failed, failed);
    return failed || !ran ? 1 : 0;
}

}  // namespace check

#define TEST(name)                                       \
    static void name();                                  \
    static check::Register register_##name{#name, name}; \
    static void name()

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) check::fail(__FILE__, __LINE__, "failed: " #condition); \
    } while (0)

// The expression throws eventide::Error of that kind, and its message contains the word.
#define CHECK_THROWS(expression, expected, word)                                                         \
    do {                                                                                                 \
        bool thrown = false;                                                                             \
        try {                                                                                            \
            (void)(expression);                                                                          \
        } catch (const eventide::Error& e) {                                                             \
            thrown = true;                                                                               \
            if (e.kind != (expected))                                                                    \
                check::fail(__FILE__, __LINE__, std::string("wrong kind of error: ") + e.what());        \
            if (std::string(e.what()).find(word) == std::string::npos)                                   \
                check::fail(__FILE__, __LINE__, std::string("'") + (word) + "' is not in: " + e.what()); \
        }                                                                                                \
        if (!thrown) check::fail(__FILE__, __LINE__, "did not throw: " #expression);                     \
    } while (0)

#define MAIN                                                  \
    int main(int count, char** arguments) {                   \
        return check::run_all(count > 1 ? arguments[1] : ""); \
    }
