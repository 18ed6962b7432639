// A backend that reports to the running profiles; each function is called by a test through ctypes.
#include <eventide/profiler.h>

#include <string>
#include <thread>

static int evaluated = 0;

static int64_t count(int64_t value) {
    ++evaluated;
    return value;
}

extern "C" {

int evaluations(void) {
    return evaluated;
}

// The macros are used in an `if` with an `else`, which must stay that of the `if`.
int report(int64_t start, int64_t end, const char* name) {
    if (start >= 0)
        EVENTIDE_RECORD_BACKEND_EVENT(count(start), end, 7, name, "c++ backend");
    else
        return -1;
    if (end >= 0)
        EVENTIDE_RECORD_BACKEND_MEMORY_EVENT(reinterpret_cast<void*>(count(4096)), 64, 64, 128, "mine:0");
    else
        return -2;
    return EVENTIDE_PROFILING() ? 1 : 0;
}

int64_t now_us(void) {
    return EVENTIDE_NOW_US();
}

void clock_pair(int64_t ahead) {
    EVENTIDE_RECORD_BACKEND_CLOCK("c++ backend", EVENTIDE_NOW_US() + ahead);
}

// Two spans of one block, one inside the other, ended by an exception; and one of another thread.
void spans(void) {
    try {
        EVENTIDE_SPAN("outer \"of C++\"");
        EVENTIDE_SPAN((count(0), "inner"));
        if (evaluated >= 0) EVENTIDE_SPAN("in an if");
        throw 1;
    } catch (int) {
    }
    std::thread([] { EVENTIDE_SPAN("in a thread"); }).join();
}

}  // extern "C"
