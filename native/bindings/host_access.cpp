#include "host_access.hpp"

#include "../core/context.hpp"

namespace eventide::python {
namespace {

PyObject* told() {
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
    // Inside of work it is the work that touches memory, and says so.
    if (thread_context.running || !hub::listening(Hook::host_access)) Py_RETURN_NONE;
    const std::vector<Access> reads = read_accesses(args[0]), writes = read_accesses(args[1]);
    HookRecord r{.hook = Hook::host_access};
    r.accesses_known = true;
    r.reads = reads.data(), r.read_count = uint32_t(reads.size());
    r.writes = writes.data(), r.write_count = uint32_t(writes.size());
    hub::fire(r);
    return told();
}

PyObject* host_signal(PyObject*, PyObject*) {
    HookRecord r{.hook = Hook::host_signal};
    r.handle = hub::next_token();
    if (hub::listening(r.hook)) hub::fire(r);
    if (PyErr_Occurred()) return nullptr;
    return PyLong_FromUnsignedLongLong(r.handle);
}

PyObject* host_wait(PyObject*, PyObject* token) {
    HookRecord r{.hook = Hook::host_wait};
    r.handle = PyLong_AsUnsignedLongLong(token);
    if (!PyErr_Occurred() && hub::listening(r.hook)) hub::fire(r);
    return told();
}

}  // namespace

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
    {"listening", listening, METH_O, "listening($module, hook, /)\n--\n\nTrue while somebody hears the hook."},
    {"host_access", (PyCFunction)(void (*)(void))host_access, METH_FASTCALL,
     "host_access($module, reads, writes, /)\n--\n\nTells that this thread itself touches memory."},
    {"host_signal", host_signal, METH_NOARGS,
     "host_signal($module)\n--\n\nTells that this thread hands over; gives the token."},
    {"host_wait", host_wait, METH_O, "host_wait($module, token, /)\n--\n\nTells that this thread received the token."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace eventide::python
