/* The same in C99, in a second file of the same plug-in: both share one slot. */
#include <eventide/profiler.h>

int report_from_c(int64_t start, int64_t end) {
    if (end < start)
        EVENTIDE_RECORD_BACKEND_EVENT(start, end, 8, "from C", "c backend");
    else
        EVENTIDE_RECORD_BACKEND_EVENT(start, end, 8, (const char*)0, "c backend");
    {
        EVENTIDE_SPAN("C block");
    }
    return EVENTIDE_PROFILING();
}
