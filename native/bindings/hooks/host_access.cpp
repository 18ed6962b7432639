#include "bindings/hooks/host_access.hpp"

#include "base/context.hpp"
#include "bindings/base/utf8.hpp"
#include "bindings/hooks/hot_hooks.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {
namespace {

thread_local constinit int64_t memory_as_of = 0;

PyObject* none_unless_raised() {
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
}

PyObject* listening(PyObject*, PyObject* hook) {
    const long number = PyLong_AsLong(hook);
    if (number == -1 && PyErr_Occurred()) return nullptr;
    if (number < 0 || number >= hook_count) return raise(ErrorKind::value, "there is no hook number %ld", number);
    return PyBool_FromLong(hub::listening(Hook(number)));
}

// host_access(reads, writes): tuples of accesses
PyObject* host_access(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs != 2 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]))
        return raise(ErrorKind::type, "host_access() takes two tuples of accesses");
    // Inside of work, the accesses belong to the work, which reports them.
    if (thread_context.running || !hub::listening(Hook::host_access)) Py_RETURN_NONE;
    const std::vector<Access> reads = read_accesses(args[0]), writes = read_accesses(args[1]);
    HookRecord r{.hook = Hook::host_access};
    r.accesses_known = true;
    r.reads = reads.data(), r.read_count = uint32_t(reads.size());
    r.writes = writes.data(), r.write_count = uint32_t(writes.size());
    hub::fire(r);
    return none_unless_raised();
}

// work_access(reads, writes, name): the same of the work that this thread runs. False: it runs none.
PyObject* work_access(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs != 3 || !PyTuple_Check(args[0]) || !PyTuple_Check(args[1]) || !PyUnicode_Check(args[2]))
        return raise(ErrorKind::type, "work_access() takes two tuples of accesses and the name of the work");
    const ThreadContext& context = thread_context;
    if (!context.running || !context.running_work) Py_RETURN_FALSE;
    const std::vector<Access> reads = read_accesses(args[0]), writes = read_accesses(args[1]);
    HookRecord r{.hook = Hook::host_access, .device = context.running->device_id};
    r.stream = context.running->id;
    r.work = context.running_work;
    const std::string name = utf8(args[2]);
    r.name = name;
    r.accesses_known = true;
    r.reads = reads.data(), r.read_count = uint32_t(reads.size());
    r.writes = writes.data(), r.write_count = uint32_t(writes.size());
    if (hub::listening(r.hook)) hub::fire(r);
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_TRUE;
}

PyObject* new_token(PyObject*, PyObject*) {
    return PyLong_FromUnsignedLongLong(hub::next_token());
}

// host_signal(token=a new one)
PyObject* host_signal(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
    HookRecord r{.hook = Hook::host_signal};
    r.handle = nargs ? PyLong_AsUnsignedLongLong(args[0]) : hub::next_token();
    if (PyErr_Occurred()) return nullptr;
    if (hub::listening(r.hook)) hub::fire(r);
    if (PyErr_Occurred()) return nullptr;
    return PyLong_FromUnsignedLongLong(r.handle);
}

PyObject* host_wait(PyObject*, PyObject* token) {
    HookRecord r{.hook = Hook::host_wait};
    r.handle = PyLong_AsUnsignedLongLong(token);
    if (!PyErr_Occurred() && hub::listening(r.hook)) hub::fire(r);
    return none_unless_raised();
}

// host_memory(address, nbytes, begins): no Python callback is called, since the program does not allocate here.
PyObject* host_memory(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs != 3) return raise(ErrorKind::type, "host_memory() takes 3 arguments, %zd were given", nargs);
    const bool begins = args[2] == Py_True;
    HookRecord r{.hook = begins ? Hook::memory_allocation : Hook::memory_deallocation,
                 .time_ns = begins ? memory_as_of : 0};
    r.handle = PyLong_AsUnsignedLongLong(args[0]);
    r.bytes = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred()) return nullptr;
    r.name = begins ? "" : "dropped";
    if (hub::listening(r.hook)) fire_native(r);
    Py_RETURN_NONE;
}

}  // namespace

MemoryAsOf::MemoryAsOf(int64_t time_ns) {
    memory_as_of = time_ns;
}

MemoryAsOf::~MemoryAsOf() {
    memory_as_of = 0;
}

std::vector<Access> read_accesses(PyObject* accesses) {
    std::vector<Access> out;
    const auto number = [](PyObject* tuple, Py_ssize_t i) {
        return PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(tuple, i));
    };
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(accesses); ++i) {
        PyObject* a = PyTuple_GET_ITEM(accesses, i);
        Access access{number(a, 0), number(a, 1)};
        if (PyTuple_GET_SIZE(a) == 5) {
            access.run = number(a, 2);
            access.stride = number(a, 3);
            access.possible = PyTuple_GET_ITEM(a, 4) == Py_True;
        }
        out.push_back(access);
    }
    return out;
}

PyMethodDef host_functions[] = {
    {"listening", listening, METH_O, "listening($module, hook, /)\n--\n\nTrue while the hook has a listener."},
    {"host_access", (PyCFunction)(void (*)(void))host_access, METH_FASTCALL,
     "host_access($module, reads, writes, /)\n--\n\nReports memory that this thread itself accesses."},
    {"work_access", (PyCFunction)(void (*)(void))work_access, METH_FASTCALL,
     "work_access($module, reads, writes, name, /)\n--\n\nReports memory that the work on this thread accesses; False "
     "if this thread runs none."},
    {"new_token", new_token, METH_NOARGS, "new_token($module)\n--\n\nA number that was not returned before."},
    {"host_signal", (PyCFunction)(void (*)(void))host_signal, METH_FASTCALL,
     "host_signal($module, token=None, /)\n--\n\nReports a signal to another thread; returns the token."},
    {"host_memory", (PyCFunction)(void (*)(void))host_memory, METH_FASTCALL,
     "host_memory($module, address, nbytes, begins, /)\n--\n\nReports to native listeners that host memory is "
     "allocated or freed."},
    {"host_wait", host_wait, METH_O,
     "host_wait($module, token, /)\n--\n\nReports that this thread received the token."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace eventide::python
