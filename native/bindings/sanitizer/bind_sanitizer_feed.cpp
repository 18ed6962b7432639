// SanitizerFeed: rows of a stored trace become the engine's verbs as the hooks do live.
#include <nanobind/stl/string.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/base/bind.hpp"
#include "sanitizer/hook_feed.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace eventide::python {
namespace {

struct StoredFeed {
    explicit StoredFeed(sanitizer::Engine& engine) : feed(engine) {
        for (int h = 0; h < hook_count; ++h) hooks.emplace(hub::name(Hook(h)), Hook(h));
    }
    sanitizer::Feed feed;
    std::unordered_map<std::string_view, Hook> hooks;  // names are static
    std::vector<Access> reads, writes;
};

// Tuples of (address, bytes, write, run, stride, possible), as the trace stores them.
void split(StoredFeed& f, nb::handle accesses) {
    f.reads.clear();
    f.writes.clear();
    if (accesses.is_none()) return;
    for (nb::handle item : nb::cast<nb::list>(accesses)) {
        const nb::tuple t = nb::cast<nb::tuple>(item);
        (nb::cast<bool>(t[2]) ? f.writes : f.reads)
            .push_back({.address = nb::cast<uint64_t>(t[0]),
                        .bytes = nb::cast<uint64_t>(t[1]),
                        .run = nb::cast<uint64_t>(t[3]),
                        .stride = nb::cast<uint64_t>(t[4]),
                        .possible = nb::cast<bool>(t[5])});
    }
}

}  // namespace

void bind_sanitizer_feed(nb::module_& m) {
    nb::class_<StoredFeed>(m, "SanitizerFeed", "Feeds a Sanitizer with the rows of a trace's operations.")
        .def(nb::init<sanitizer::Engine&>(), "sanitizer"_a, nb::keep_alive<1, 2>())
        .def(
            "on_hook",
            [](StoredFeed& f, const std::string& hook, bool end, uint64_t thread, int device, uint64_t stream,
               uint64_t event, int64_t version, uint64_t work, uint64_t handle, uint64_t bytes, const std::string& name,
               const std::string& group, nb::handle accesses, uint32_t stack) {
                const auto found = f.hooks.find(hook);
                if (found == f.hooks.end()) return false;
                split(f, accesses);
                HookRecord r{.hook = found->second, .end = end};
                r.accesses_known = !accesses.is_none();
                if (device >= 0) r.device = {int16_t(device), 0};
                r.stream = stream;
                r.event = event;
                r.version = version < 0 ? hub::newest_version : uint64_t(version);
                r.work = work;
                r.handle = handle;
                r.bytes = bytes;
                r.name = name;
                r.group = group;
                r.reads = f.reads.data();
                r.writes = f.writes.data();
                r.read_count = uint32_t(f.reads.size());
                r.write_count = uint32_t(f.writes.size());
                f.feed.on_hook(r, thread, stack);
                return true;
            },
            "hook"_a, "end"_a, "thread"_a, "device"_a, "stream"_a, "event"_a, "version"_a, "work"_a, "handle"_a,
            "bytes"_a, "name"_a, "group"_a, "accesses"_a.none(), "stack"_a,
            "Feeds one row. False: there is no such hook.");
}

}  // namespace eventide::python
