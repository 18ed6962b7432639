// The layout of the recorder's buffer, a mapped file of fixed size: entries of 32 bytes in chunks of 64 KB.
//
//   BufferHeader | LaneRecord[most_lanes] | names, append-only | chunks
//
// A *record* is one entry, or one entry and its payload in the entries behind it. The buffer of a killed process is
// read later, so the store that publishes data comes after the stores that fill it: `used` of a chunk, `serial` of a
// chunk, `names_used` of the buffer.
//
// The content of payloads; numbers are varints, z: signed:
//
//   arguments   until the end: name of the key, type, value. Types: none, false, true, integer (z), double (8
//               bytes), text (size, bytes), JSON (size, bytes), cut text (size, bytes), time of the record in ns (z).
//               Key 0 with JSON: all arguments at once.
//   span        track, category, stack, mask; for each bit of the mask from the lowest: submit (z, after the start,
//               plus one), CPU time, work, correlation, outcome (a name); arguments
//   edge        source track, target track, mask: event, version, correlation
//   hook        mask; for each bit: device (a name), stream, event, version, work, handle, bytes, start (z, after the
//               end, plus one; b of the entry is then the end instead of the time), time waited, CPU time,
//               group (a name), stack, accesses: number of reads and of writes, and for each address, bytes, flags (1:
//               possible, 2: strided), and where it is strided run and stride
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace eventide::tracefile {

enum class Kind : uint8_t {
    none,
    begin,    // a = number of the span in its lane, b = stack; payload: arguments
    end,      // a = number of the span, b = track that began it; name: of the exception that ended it
    instant,  // a = category | track << 32, b = stack; payload: arguments
    counter,  // a = bits of a double, b = track
    span,     // a, b = start and end in ns; payload: above
    edge,     // a, b = from and to in ns; name: its kind; payload: above
    hook,     // a = hook | end << 8 | outcome << 9 | accesses known << 12, b = time in ns or 0; payload: above
};
inline constexpr int kind_count = 8;
inline constexpr const char* kind_names[kind_count] = {"none",    "begin", "end",  "instant",
                                                       "counter", "span",  "edge", "hook"};

enum class ArgumentType : uint8_t { none, no, yes, whole, real, text, json, cut_text, time };

struct Entry {
    uint64_t stamp;  // ticks
    uint32_t name;   // 0: none
    Kind kind;
    uint8_t spare;
    uint16_t size;  // of the payload, in bytes
    uint64_t a;
    uint64_t b;
};
static_assert(sizeof(Entry) == 32);

inline constexpr uint32_t chunk_bytes = 64 << 10;
inline constexpr uint32_t chunk_entries = chunk_bytes / sizeof(Entry) - 2;
inline constexpr uint32_t largest_payload = 32 << 10;

constexpr uint32_t entries_of(uint32_t payload) noexcept {
    return 1 + (payload + uint32_t(sizeof(Entry)) - 1) / uint32_t(sizeof(Entry));
}
static_assert(entries_of(largest_payload) <= chunk_entries);

struct Chunk {
    std::atomic<uint64_t> serial;              // of this filling, from 1; 0: being prepared
    std::atomic<uint32_t> used;                // published entries
    uint32_t track;                            // of the thread that fills it
    std::atomic<uint32_t> is_profiler_thread;  // 1: its records do not count as progress of the program
    uint32_t spare[11];
    Entry entries[chunk_entries];
};
static_assert(sizeof(Chunk) == chunk_bytes && offsetof(Chunk, entries) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == 8);

// What one thread lost, by kind. Written by that thread only.
struct LaneRecord {
    std::atomic<uint64_t> dropped[kind_count];    // records that did not fit
    std::atomic<uint64_t> truncated[kind_count];  // records with truncated arguments
};
static_assert(sizeof(LaneRecord) == 128);

inline constexpr uint32_t most_lanes = 1024;  // threads that record at the same time
inline constexpr char buffer_magic[8] = {'E', 'T', 'B', 'U', 'F', 'F', 'E', 'R'};
inline constexpr uint32_t format_version = 1;

struct BufferHeader {
    char magic[8];
    uint32_t version;
    uint32_t pid;
    uint8_t session[16];
    uint64_t bytes;  // of the whole buffer
    uint64_t lanes_offset;
    uint64_t names_offset;
    uint64_t names_bytes;
    uint64_t chunks_offset;
    uint32_t chunk_count;
    uint32_t ring;
    std::atomic<uint64_t> names_used;
    std::atomic<uint64_t> names_lost;   // names, tracks and stacks that did not fit
    std::atomic<uint64_t> unattached;   // records of threads beyond most_lanes
    std::atomic<uint64_t> write_error;  // errno of the first write that failed
    std::atomic<uint64_t> drainer_cpu_ns;
    std::atomic<uint64_t> lanes_used;
    std::atomic<uint64_t> overwritten[kind_count];  // ring: records whose chunk was reused
    // The newest anchor of the clock. The seal is incremented before and after each change: odd during a change.
    std::atomic<uint64_t> anchor_seal;
    uint64_t anchor_ticks;
    int64_t anchor_ns;
    int64_t anchor_width;
    char trace[2048];  // path of the trace file; empty: too long
};
static_assert(sizeof(BufferHeader) <= 4096);

// The names: records of kind (one byte), id and number of bytes (varints), and the bytes.
enum class NameKind : uint8_t {
    text = 1,
    track = 2,  // JSON: the columns of the track
    stack = 3,  // per frame, innermost first: ids of file and function, line (varints)
};

// The trace file: magic, version, then frames of type, number of bytes, CRC-32 of the bytes (32 bits each), bytes.
inline constexpr char file_magic[8] = {'E', 'V', 'E', 'N', 'T', 'I', 'D', 'E'};
enum class FrameType : uint32_t {
    head = 1,    // JSON: process, time, clock, path of the buffer
    names = 2,   // offset in the names (64 bits), then the bytes of the buffer
    chunk = 3,   // one chunk, see codec.hpp
    anchor = 4,  // ticks, ns, width (64 bits each)
    note = 5,    // JSON: a note to store with the trace
    end = 6,     // JSON: the account; the last frame
};

}  // namespace eventide::tracefile
