#include "bindings/sanitizer/sanitizer_results.hpp"

#include <string>

namespace nb = nanobind;

namespace eventide::python {
namespace {

using namespace eventide::sanitizer;

nb::object stream_of(uint64_t stream) {
    return stream == no_stream ? nb::none() : nb::object(nb::int_(stream));
}

nb::object text(std::string_view s) {
    return nb::steal(PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "replace"));
}

nb::object party(const Party& p) {
    constexpr const char* what[] = {"", "work", "host", "free", "allocation", "wait", "synchronize", "event"};
    if (p.is == Party::Is::none) return nb::none();
    nb::dict d;
    d["what"] = what[unsigned(p.is)];
    d["write"] = p.write;
    d["work"] = p.work;
    d["name"] = text(p.name);
    d["stream"] = stream_of(p.stream);
    d["thread"] = p.thread;
    d["address"] = p.address;
    d["nbytes"] = p.bytes;
    d["stack_id"] = p.stack;
    return d;
}

}  // namespace

nb::dict finding_to_dict(const Finding& f) {
    constexpr const char* actions[] = {"nothing",    "wait",   "synchronize",   "hand-over", "record-stream",
                                       "free-later", "remove", "record-before", "give-back"};
    nb::dict fix;
    fix["action"] = actions[unsigned(f.fix.what)];
    fix["recorded"] = f.fix.recorded;
    fix["event"] = f.fix.event;
    fix["version"] = f.fix.version;
    fix["stream"] = stream_of(f.fix.stream);
    nb::dict d;
    d["kind"] = text(name(f.kind));
    d["certain"] = f.certain;
    d["first"] = party(f.first);
    d["second"] = party(f.second);
    d["buffer"] = f.buffer;
    d["buffer_name"] = text(f.buffer_name);
    d["event"] = f.event;
    d["version"] = f.version;
    d["fix"] = fix;
    d["count"] = f.count;
    constexpr const char* doubts[] = {"", "inside", "unseen", "bytes", "order"};
    d["doubt"] = doubts[unsigned(f.doubt)];
    nb::list pieces;
    for (const Piece& p : f.pieces)
        if (p.bytes)
            pieces.append(
                nb::make_tuple(p.address, p.bytes, p.buffer, text(p.buffer_name), p.first_writes, p.second_writes));
    d["pieces"] = pieces;
    d["text"] = text(f.text);
    return d;
}

nb::dict coverage_to_dict(const Coverage& c) {
    nb::dict d;
    d["works"] = c.works;
    d["known"] = c.known;
    d["forgotten"] = c.forgotten;
    d["streams"] = c.streams;
    d["threads"] = c.threads;
    d["ranges"] = c.ranges;
    return d;
}

}  // namespace eventide::python
