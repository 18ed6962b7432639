/* eventide/device.h: a device for Eventide in C or C++.
 *
 * Quick start
 *
 *   #include <eventide/device.h>
 *   static const eventide_device mine = { EVENTIDE_DEVICE_VERSION, sizeof(eventide_device), "mine", count, ... };
 *   EVENTIDE_EXPORT const eventide_device* eventide_device_entry(const eventide_host* host) { return &mine; }
 *
 *   c++ -shared -fPIC -I$(python -c "import eventide.backends as b; print(b.include_path())") mine.cpp -o libmine.so
 *   >>> et.Device.load("libmine.so")            or:  et.Device.build("mine", sources=["mine.cpp"])
 *
 * Layers
 *
 *   eventide.Stream, Event, Future       identity, versions, errors, hooks: Eventide's, the same on every device
 *   -------------------------------- this header
 *   your streams and markers             a stream is an ordered queue; a marker is a one-shot point in it
 *
 * Rules
 *   - Streams, markers and gates are opaque pointers of the device. Eventide owns them from the call that returns them
 *     until close_stream, release or open_gate.
 *   - The calls for one stream are made in its order, from any thread, one at a time. Different streams are called
 *     concurrently.
 *   - submit, make_marker, wait and gate only queue. flush, poll and join may run work. No other function runs work or
 *     blocks.
 *   - A device that is not `deferred` is immediate: its submit calls run_work before it returns, on the same thread,
 *     and the work itself enqueues on the stream. The work completes with the marker that Eventide makes next. On such
 *     a device submit may be called while it runs, by the work itself or by other threads.
 *   - Times are ns on the clock named by the capabilities. Unless that is "CLOCK_MONOTONIC" or "virtual" (simulated
 *     time), Eventide measures it against CLOCK_MONOTONIC by calling now, and maps the results of completed_at.
 *   - These functions must not throw or longjmp; from C++ catch first. A function that throws is reported and counts as
 *     failed, if the compiler's unwinder allows it.
 *   - Version 0 may change at any time. From version 1 on, structs only grow at their end, and `size` is the size of
 *     the struct that the device was compiled with.
 */
#ifndef EVENTIDE_DEVICE_H
#define EVENTIDE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EVENTIDE_DEVICE_VERSION 0
#define EVENTIDE_EXPORT __attribute__((visibility("default")))

/* Submitted work, owned by Eventide; valid from submit until the marker behind it is released. */
typedef struct eventide_work eventide_work;

typedef enum { EVENTIDE_PENDING = 0, EVENTIDE_DONE = 1, EVENTIDE_FAILED = 2 } eventide_marker_state;

/* What Eventide does for a device. Valid as long as the process. */
typedef struct eventide_host {
    uint32_t version; /* EVENTIDE_DEVICE_VERSION of the Eventide that runs */
    uint32_t size;    /* of this struct there */
    /* Runs the work, once, on this thread, when everything before it in its stream is complete. Never throws what the work
     * throws. The thread must not hold a lock that your poll, join, submit or make_marker need. */
    void (*run_work)(eventide_work* work);
    /* What people call it; copied into the buffer, cut to its size and ended with a zero. */
    void (*work_name)(eventide_work* work, char* buffer, size_t size);
    /* The seconds it declares to take; negative: it declares nothing. */
    double (*work_duration)(eventide_work* work);
} eventide_host;

/* 0 or 1 each; see eventide.Capabilities for what they mean. */
typedef struct eventide_capabilities {
    uint32_t size; /* set by Eventide: do not write beyond it */
    uint8_t deferred, timing, join_timeout, gate, copy, host_visible, concurrent, priorities, default_stream_blocks,
        heals;
    const char* clock; /* the name of the clock of completed_at; never freed; null: "unknown" */
} eventide_capabilities;

/* The device. A function pointer marked "optional" may be null. */
typedef struct eventide_device {
    uint32_t version; /* EVENTIDE_DEVICE_VERSION */
    uint32_t size;    /* sizeof(eventide_device) */
    const char* type; /* "mine": a name of letters, digits and _ */

    int32_t (*count)(void);                                             /* how many; optional: one */
    void (*capabilities)(int32_t index, eventide_capabilities* result); /* of one of them */
    const char* (*description)(int32_t index);                          /* for people; never freed; optional */
    const char* (*last_error)(
        void); /* why the last call on this thread failed; never freed; optional; may return null */

    void* (*open_stream)(int32_t index, int32_t priority); /* null: failed */
    void (*close_stream)(void* stream);                    /* everything queued is complete */

    int (*submit)(void* stream, eventide_work* work); /* 0: queued, or run; else: failed, and the work is not yours */
    void* (*make_marker)(void* stream, int timing);   /* null: failed; timing 0: its time is not needed */
    int (*wait)(void* stream, void* marker);          /* 0: queued; the marker may be of another stream or index */
    void (*flush)(void* stream);                      /* something was queued; optional */

    int (*poll)(void* marker);                      /* eventide_marker_state; never blocks */
    const char* (*error)(void* marker);             /* of a failed marker; copied; optional; may return null */
    void (*join)(void* marker, int64_t timeout_ns); /* block that long at most; optional: Eventide polls */
    int64_t (*completed_at)(void* marker);          /* ns on your clock when you passed it; called after it ended */
    void (*release)(void* marker);                  /* Eventide has no more use for it; it may still be pending */

    void* (*gate)(void* stream);    /* hold the stream here; null: failed; optional, with capability gate */
    void (*open_gate)(void* token); /* let it go on; optional, with capability gate */

    void* (*allocate)(int32_t index, size_t bytes);          /* null: no memory; optional: host memory */
    void (*free)(int32_t index, void* memory, size_t bytes); /* optional, with allocate */
    int64_t (*now)(int32_t index);                           /* ns on your clock; optional: CLOCK_MONOTONIC */
} eventide_device;

/* The one symbol that a plug-in exports. The struct it returns lives as long as the process; null: it cannot run here.
 */
typedef const eventide_device* (*eventide_device_entry_function)(const eventide_host* host);

#ifdef __cplusplus
}
#endif

#endif
