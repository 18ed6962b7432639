// The feed: hooks fired from outside of the runtime, about streams, events and work of other frameworks.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "base/error.hpp"
#include "bindings/base/bind.hpp"
#include "bindings/hooks/host_access.hpp"
#include "hooks/foreign_devices.hpp"
#include "runtime/event.hpp"
#include "runtime/stream.hpp"
#include "runtime/work.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

struct Fed {
    int hook;
    int device;
    uint64_t stream, event, version, work, handle, bytes;
    int64_t start_ns, end_ns, waited_ns;
    int outcome;
    bool end;
    std::string_view name, group;
};

HookRecord record_of(const Fed& fed) {
    if (fed.hook < 0 || fed.hook >= hook_count)
        throw Error(ErrorKind::value, "there is no hook number " + std::to_string(fed.hook));
    if (fed.outcome < 0 || fed.outcome > int(Outcome::cancelled))
        throw Error(ErrorKind::value, "there is no outcome number " + std::to_string(fed.outcome));
    HookRecord r{.hook = Hook(fed.hook)};
    r.end = fed.end;
    r.outcome = Outcome(fed.outcome);
    if (fed.device >= 0) r.device = {int16_t(fed.device), 0};
    r.stream = fed.stream, r.event = fed.event, r.version = fed.version;
    r.work = fed.work, r.handle = fed.handle, r.bytes = fed.bytes;
    r.start_ns = fed.start_ns, r.end_ns = fed.end_ns, r.waited_ns = fed.waited_ns;
    r.name = fed.name, r.group = fed.group;
    return r;
}

// Reads and writes are given together; if one is None, the accesses are unknown.
void fire_with(HookRecord& r, nb::object reads, nb::object writes) {
    std::vector<Access> read, written;
    if (!reads.is_none() && !writes.is_none()) {
        read = read_accesses(reads.ptr());
        written = read_accesses(writes.ptr());
        if (PyErr_Occurred()) nb::raise_python_error();
        r.accesses_known = true;
        r.reads = read.data(), r.read_count = uint32_t(read.size());
        r.writes = written.data(), r.write_count = uint32_t(written.size());
    }
    hub::fire(r);
    if (PyErr_Occurred()) nb::raise_python_error();
}

}  // namespace

void bind_feed(nb::module_& m) {
    m.def(
        "feed_device", [](const std::string& name) { return int(foreign::add(name).type); }, nb::arg("name"),
        "The number of a foreign device; the same name has the same.");
    m.def("feed_stream", &Stream::next_id, "The id of a foreign stream.");
    m.def("feed_event", &Event::next_id, "The id of a foreign event.");
    m.def("feed_work", &Work::next_id, "The id of foreign work.");
    m.def(
        "feed",
        [](int hook, int device, uint64_t stream, uint64_t event, uint64_t version, uint64_t work, uint64_t handle,
           uint64_t bytes, int64_t start_ns, int64_t end_ns, int64_t waited_ns, int outcome, bool end,
           std::string_view name, std::string_view group, nb::object reads, nb::object writes) {
            HookRecord r = record_of({hook, device, stream, event, version, work, handle, bytes, start_ns, end_ns,
                                      waited_ns, outcome, end, name, group});
            if (hub::listening(r.hook)) fire_with(r, reads, writes);
        },
        nb::arg("hook"), nb::arg("device") = -1, nb::arg("stream") = 0, nb::arg("event") = 0, nb::arg("version") = 0,
        nb::arg("work") = 0, nb::arg("handle") = 0, nb::arg("bytes") = 0, nb::arg("start_ns") = 0,
        nb::arg("end_ns") = 0, nb::arg("waited_ns") = 0, nb::arg("outcome") = 0, nb::arg("end") = false,
        nb::arg("name") = std::string_view(), nb::arg("group") = std::string_view(), nb::arg("reads") = nb::none(),
        nb::arg("writes") = nb::none(), "Calls all listeners of a hook, as the runtime does.");
}

}  // namespace eventide::python
