/* eventide/profiler.h: events, memory and spans of a backend, for profiles of Eventide.
 *
 * Quick start
 *
 *   #include <eventide/profiler.h>
 *   EVENTIDE_RECORD_BACKEND_EVENT(start_us, end_us, debug_handle, "conv2d", "npu");
 *   EVENTIDE_RECORD_BACKEND_MEMORY_EVENT(ptr, bytes, total_allocated, total_reserved, "npu:0");
 *   { EVENTIDE_SPAN("compile kernels"); ... }                       until the end of the block
 *
 *   cc -I$(python -c "import eventide.backends as b; print(b.include_path())") ...      nothing to link
 *
 * Layers
 *
 *   your code ── macro ── slot ──> table (in eventide._native) ──> recorder ──> trace
 *
 *   Each shared object that includes this header has one slot, a weak exported symbol. Loaded after Eventide, it finds
 *   the table by itself; loaded before, Eventide finds the slot when a profile starts. Linking and the order do not
 * matter.
 *
 * Rules
 *   - Each macro is one statement, safe in any `if`; its arguments are evaluated only while a profile or a recording
 *     (et.Recorder, `eventide run`) runs, and at most once.
 *   - Times are microseconds of CLOCK_MONOTONIC, see EVENTIDE_NOW_US(), or Unix time, as torch passes it: the two lie
 *     decades apart, and a time is of the clock that it is nearer to. Those of another clock need
 *     et.profile(adjust_timestamps=True) and profit from EVENTIDE_RECORD_BACKEND_CLOCK.
 *   - Text is UTF-8 and copied; null is an empty text. Any thread may call. Nothing throws, blocks or needs Python.
 *   - Memory events are evaluated only if a recording runs, or a profile has profile_memory=True.
 *   - C99 and C++11 with GNU attributes. EVENTIDE_SPAN in C uses __attribute__((cleanup)).
 *
 * Costs
 *   Without Eventide in the process: one load, one branch. With it, without a profile: two each.
 *   EVENTIDE_DISABLE: nothing.
 */
#ifndef EVENTIDE_PROFILER_H
#define EVENTIDE_PROFILER_H

#include <stdint.h>

#define EVENTIDE_PROFILER_VERSION 1

#define EVENTIDE_PROFILER_EVENTS 1u
#define EVENTIDE_PROFILER_MEMORY 2u

#ifdef __cplusplus
extern "C" {
#endif

/* What Eventide offers. It only grows at its end; `size` is its size in the running Eventide. */
typedef struct eventide_profiler {
    uint32_t version;
    uint32_t size;
    uint32_t on;    /* EVENTIDE_PROFILER_EVENTS, _MEMORY: what is requested now; read atomically */
    uint32_t spare; /* 0 */
    int64_t (*now_ns)(void);
    void (*span)(const char* name, int64_t start_ns, int64_t end_ns);
    void (*backend_event)(int64_t start_us, int64_t end_us, int64_t debug_handle, const char* event_name,
                          const char* backend_name);
    void (*backend_memory_event)(const void* ptr, int64_t alloc_size, uint64_t total_allocated, uint64_t total_reserved,
                                 const char* device);
    void (*backend_clock)(const char* backend_name, int64_t before_us, int64_t backend_us, int64_t after_us);
} eventide_profiler;

#ifdef __cplusplus
}
#endif

#ifdef EVENTIDE_DISABLE

/* Never evaluated, and no unused variable for that. */
#define EVENTIDE_NOT_EVALUATED_(x) ((void)sizeof(x))
#define EVENTIDE_RECORD_BACKEND_EVENT(start_us, end_us, debug_handle, event_name, backend_name)                 \
    (EVENTIDE_NOT_EVALUATED_(start_us), EVENTIDE_NOT_EVALUATED_(end_us), EVENTIDE_NOT_EVALUATED_(debug_handle), \
     EVENTIDE_NOT_EVALUATED_(event_name), EVENTIDE_NOT_EVALUATED_(backend_name))
#define EVENTIDE_RECORD_BACKEND_MEMORY_EVENT(ptr, alloc_size, total_allocated, total_reserved, device)            \
    (EVENTIDE_NOT_EVALUATED_(ptr), EVENTIDE_NOT_EVALUATED_(alloc_size), EVENTIDE_NOT_EVALUATED_(total_allocated), \
     EVENTIDE_NOT_EVALUATED_(total_reserved), EVENTIDE_NOT_EVALUATED_(device))
#define EVENTIDE_RECORD_BACKEND_CLOCK(backend_name, backend_now_us) \
    (EVENTIDE_NOT_EVALUATED_(backend_name), EVENTIDE_NOT_EVALUATED_(backend_now_us))
#define EVENTIDE_SPAN(name) EVENTIDE_NOT_EVALUATED_(name)
#define EVENTIDE_PROFILING() 0
#define EVENTIDE_NOW_US() ((int64_t)0)

#elif !defined(__GNUC__)
#error "eventide/profiler.h needs weak symbols (GCC, Clang); define EVENTIDE_DISABLE to compile without it"
#else

#ifdef __cplusplus
extern "C" {
#endif

/* The slot of this shared object. Written once, by one of the two ways above. */
__attribute__((weak, visibility("default"))) const eventide_profiler* eventide_profiler_slot_1 = 0;
/* The table itself, if Eventide is in the process already when this object is loaded. */
extern const eventide_profiler eventide_profiler_table_1 __attribute__((weak, visibility("default")));

static __attribute__((constructor, unused)) void eventide_profiler_connect_(void) {
    if (&eventide_profiler_table_1)
        __atomic_store_n(&eventide_profiler_slot_1, &eventide_profiler_table_1, __ATOMIC_RELEASE);
}

/* The table, if a profile needs that; else null. */
static inline __attribute__((unused)) const eventide_profiler* eventide_profiler_on_(uint32_t what) {
    const eventide_profiler* table = __atomic_load_n(&eventide_profiler_slot_1, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!table, 1) || !(__atomic_load_n(&table->on, __ATOMIC_RELAXED) & what)) return 0;
    return table;
}

#ifdef __cplusplus
}
#endif

#define EVENTIDE_RECORD_BACKEND_EVENT(start_us, end_us, debug_handle, event_name, backend_name)                 \
    do {                                                                                                        \
        const eventide_profiler* eventide_table_ = eventide_profiler_on_(EVENTIDE_PROFILER_EVENTS);             \
        if (eventide_table_)                                                                                    \
            eventide_table_->backend_event((start_us), (end_us), (debug_handle), (event_name), (backend_name)); \
    } while (0)

#define EVENTIDE_RECORD_BACKEND_MEMORY_EVENT(ptr, alloc_size, total_allocated, total_reserved, device)                 \
    do {                                                                                                               \
        const eventide_profiler* eventide_table_ = eventide_profiler_on_(EVENTIDE_PROFILER_MEMORY);                    \
        if (eventide_table_)                                                                                           \
            eventide_table_->backend_memory_event((ptr), (alloc_size), (total_allocated), (total_reserved), (device)); \
    } while (0)

/* The backend's clock now; evaluated between two readings of the host's, so make it cheap. */
#define EVENTIDE_RECORD_BACKEND_CLOCK(backend_name, backend_now_us)                                 \
    do {                                                                                            \
        const eventide_profiler* eventide_table_ = eventide_profiler_on_(EVENTIDE_PROFILER_EVENTS); \
        if (eventide_table_) {                                                                      \
            const int64_t eventide_before_ = eventide_table_->now_ns() / 1000;                      \
            const int64_t eventide_theirs_ = (backend_now_us);                                      \
            eventide_table_->backend_clock((backend_name), eventide_before_, eventide_theirs_,      \
                                           eventide_table_->now_ns() / 1000 + 1);                   \
        }                                                                                           \
    } while (0)

/* Is a profile running? For work that only serves to be recorded. */
#define EVENTIDE_PROFILING() (eventide_profiler_on_(EVENTIDE_PROFILER_EVENTS) != 0)
/* The trace's clock in microseconds; 0 while no profile runs. */
#define EVENTIDE_NOW_US() (eventide_profiler_now_us_())

static inline __attribute__((unused)) int64_t eventide_profiler_now_us_(void) {
    const eventide_profiler* table = eventide_profiler_on_(EVENTIDE_PROFILER_EVENTS);
    return table ? table->now_ns() / 1000 : 0;
}

#define EVENTIDE_JOIN2_(a, b) a##b
#define EVENTIDE_JOIN_(a, b) EVENTIDE_JOIN2_(a, b)

/* A span that is open; the table is null without a profile. */
typedef struct eventide_open_span_ {
    const eventide_profiler* table;
    const char* name;
    int64_t start;
} eventide_open_span_;

static inline __attribute__((unused)) eventide_open_span_ eventide_span_begin_(const char* name) {
    eventide_open_span_ span;
    span.table = eventide_profiler_on_(EVENTIDE_PROFILER_EVENTS);
    span.name = name;
    span.start = span.table ? span.table->now_ns() : 0;
    return span;
}

static inline __attribute__((unused)) eventide_open_span_ eventide_span_off_(void) {
    eventide_open_span_ span = {0, 0, 0};
    return span;
}

static inline __attribute__((unused)) void eventide_span_end_(eventide_open_span_* span) {
    if (span->table) span->table->span(span->name, span->start, span->table->now_ns());
}

/* One declaration: to the end of its block. The name is evaluated only while a profile runs, and must stay
 * valid until then. */
#ifdef __cplusplus
struct eventide_scope_ {
    eventide_open_span_ span;
    ~eventide_scope_() { eventide_span_end_(&span); }
};
#define EVENTIDE_SPAN(label)                                                      \
    eventide_scope_ EVENTIDE_JOIN_(eventide_span_, __COUNTER__) {                 \
        EVENTIDE_PROFILING() ? eventide_span_begin_(label) : eventide_span_off_() \
    }
#else
#define EVENTIDE_SPAN(label)                                                                                       \
    __attribute__((cleanup(eventide_span_end_))) eventide_open_span_ EVENTIDE_JOIN_(eventide_span_, __COUNTER__) = \
        EVENTIDE_PROFILING() ? eventide_span_begin_(label) : eventide_span_off_()
#endif

#endif /* EVENTIDE_DISABLE */
#endif /* EVENTIDE_PROFILER_H */
