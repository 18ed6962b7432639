#include "bindings/hooks/hook_arguments.hpp"

namespace eventide::python {
namespace {

constexpr HookArity arities[hook_count] = {
    {1, "(event)"},
    {1, "(event)"},
    {2, "(event, stream)"},
    {2, "(event, stream)"},
    {1, "(ptr)"},
    {1, "(ptr)"},
    {1, "(stream)"},
    {0, "()"},
    {1, "(stream)"},
    {1, "(event)"},
    {1, "(stream)"},
    {5, "(stream, work, name, reads, writes)"},
    {3, "(work, start_ns, end_ns)"},
    {5, "(stream, name, group, reads, writes)"},
    {2, "(ptr, stream)"},
    {2, "(reads, writes)"},
    {1, "(token)"},
    {4, "(token, stream, event, work)"},
};

PyObject* ranges(const Access* accesses, uint32_t count) {
    PyObject* out = PyTuple_New(count);
    for (uint32_t i = 0; out && i < count; ++i)
        PyTuple_SET_ITEM(
            out, i,
            Py_BuildValue("KK", (unsigned long long)accesses[i].address, (unsigned long long)accesses[i].bytes));
    return out;
}

PyObject* number(uint64_t n) {
    return PyLong_FromUnsignedLongLong(n);
}
PyObject* text(std::string_view s) {
    return PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "replace");
}

std::vector<Access> to_ranges(PyObject* pairs) {
    std::vector<Access> out;
    PyObject* list = PySequence_Fast(pairs, "reads and writes are sequences of (address, nbytes)");
    for (Py_ssize_t i = 0; list && i < PySequence_Fast_GET_SIZE(list); ++i) {
        unsigned long long address = 0, bytes = 0;
        PyObject* pair = PySequence_Fast_GET_ITEM(list, i);
        if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "KK", &address, &bytes)) break;
        out.push_back({address, bytes});
    }
    Py_XDECREF(list);
    return out;
}

std::string_view utf8(PyObject* o) {
    const char* s = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
    return s ? s : "";
}

void read_accesses(PyObject* reads, PyObject* writes, GivenRecord& out) {
    out.reads = to_ranges(reads);
    out.writes = to_ranges(writes);
    out.r.accesses_known = true;
    out.r.reads = out.reads.data(), out.r.read_count = uint32_t(out.reads.size());
    out.r.writes = out.writes.data(), out.r.write_count = uint32_t(out.writes.size());
}

}  // namespace

const HookArity& arity_of(Hook hook) {
    return arities[unsigned(hook)];
}

int make_arguments(const HookRecord& r, PyObject** out) {
    switch (r.hook) {
        case Hook::event_creation:
        case Hook::event_deletion:
        case Hook::event_synchronization:
            out[0] = number(r.event);
            break;
        case Hook::event_record:
        case Hook::event_wait:
            out[0] = number(r.event), out[1] = number(r.stream);
            break;
        case Hook::memory_use:
            out[1] = number(r.stream);
            [[fallthrough]];
        case Hook::memory_allocation:
        case Hook::memory_deallocation:
        case Hook::host_signal:
            out[0] = number(r.handle);
            break;
        case Hook::stream_creation:
        case Hook::stream_deletion:
        case Hook::stream_synchronization:
            out[0] = number(r.stream);
            break;
        case Hook::device_synchronization:
            break;
        case Hook::work_completion:
            out[0] = number(r.work), out[1] = PyLong_FromLongLong(r.start_ns), out[2] = PyLong_FromLongLong(r.end_ns);
            break;
        case Hook::work_submission:
        case Hook::collective_launch:
            out[0] = number(r.stream);
            out[1] = r.hook == Hook::work_submission ? number(r.work) : text(r.name);
            out[2] = text(r.hook == Hook::work_submission ? r.name : r.group);
            out[3] = ranges(r.reads, r.read_count), out[4] = ranges(r.writes, r.write_count);
            break;
        case Hook::host_access:
            out[0] = ranges(r.reads, r.read_count), out[1] = ranges(r.writes, r.write_count);
            break;
        case Hook::host_wait:
            out[0] = number(r.handle), out[1] = number(r.stream), out[2] = number(r.event), out[3] = number(r.work);
            break;
    }
    return arity_of(r.hook).count;
}

void read_arguments(Hook hook, PyObject* const* args, int nargs, GivenRecord& out) {
    HookRecord& r = out.r;
    r.hook = hook;
    uint64_t n[4] = {};
    for (int i = 0; i < nargs && i < 4; ++i)
        if (PyLong_Check(args[i])) n[i] = PyLong_AsUnsignedLongLongMask(args[i]);
    switch (hook) {
        case Hook::event_creation:
        case Hook::event_deletion:
        case Hook::event_synchronization:
            r.event = n[0], r.version = hub::newest_version;
            break;
        case Hook::event_record:
        case Hook::event_wait:
            r.event = n[0], r.stream = n[1], r.version = hub::newest_version;
            break;
        case Hook::memory_allocation:
        case Hook::memory_deallocation:
        case Hook::memory_use:
        case Hook::host_signal:
            r.handle = n[0], r.stream = n[1];
            break;
        case Hook::stream_creation:
        case Hook::stream_deletion:
        case Hook::stream_synchronization:
            r.stream = n[0];
            break;
        case Hook::device_synchronization:
            break;
        case Hook::work_completion:
            r.work = n[0], r.start_ns = int64_t(n[1]), r.end_ns = int64_t(n[2]);
            break;
        case Hook::work_submission:
            r.stream = n[0], r.work = n[1], r.name = utf8(args[2]);
            read_accesses(args[3], args[4], out);
            break;
        case Hook::collective_launch:
            r.stream = n[0], r.name = utf8(args[1]), r.group = utf8(args[2]);
            read_accesses(args[3], args[4], out);
            break;
        case Hook::host_access:
            read_accesses(args[0], args[1], out);
            break;
        case Hook::host_wait:
            r.handle = n[0], r.stream = n[1], r.event = n[2], r.work = n[3];
            break;
    }
    PyErr_Clear();
}

}  // namespace eventide::python
