#include "bindings/recorder/process_memory.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/clock.hpp"
#include "recorder/payload_records.hpp"

namespace eventide::python {
namespace {

constexpr int64_t least_period_ns = 100'000'000;
constexpr const char* track = R"({"kind": "counter", "name": "memory of the process"})";

// struct mallinfo2 of glibc 2.33 and later; looked up at run time, since wheels are built for older ones.
struct MallocCounts {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

// Bytes; -1 if it cannot be read.
int64_t resident_bytes() noexcept {
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    char text[128];
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return -1;
    text[length] = 0;
    char* rest = nullptr;
    strtoll(text, &rest, 10);  // all pages; the second number is those in memory
    return strtoll(rest, nullptr, 10) * int64_t(sysconf(_SC_PAGESIZE));
}

}  // namespace

void ProcessMemory::record_if_due(int64_t now) {
    if (now >= rss_due_ns_) {
        rss_due_ns_ = now + least_period_ns;
        if (const int64_t bytes = resident_bytes(); bytes >= 0) recorder::record_counter(track, "RSS", double(bytes));
    }
    static const auto counts = reinterpret_cast<MallocCounts (*)()>(dlsym(RTLD_DEFAULT, "mallinfo2"));
    if (!counts || now < heap_due_ns_) return;
    const int64_t before = now_ns();
    const MallocCounts found = counts();
    heap_due_ns_ = now + std::max(least_period_ns, 1000 * (now_ns() - before));
    recorder::record_counter(track, "heap", double(found.uordblks + found.hblkhd));
}

}  // namespace eventide::python
