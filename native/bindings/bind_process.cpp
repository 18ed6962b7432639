// Fork, exit, device-wide synchronization, the clock.
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "bindings/base/bind.hpp"
#include "bindings/hooks/hot_hooks.hpp"
#include "bindings/hooks/synchronization.hpp"
#include "bindings/sanitizer/live_sanitizer.hpp"
#include "bindings/types/current.hpp"
#include "bindings/types/hot_stream.hpp"
#include "runtime/device.hpp"
#include "runtime/life_cycle.hpp"
#include "runtime/notifier.hpp"
#include "runtime/stream.hpp"
#include "runtime/wait_graph.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

// One after the other; the first that had an error raises it, the others keep theirs.
PyObject* synchronize_all(const std::vector<Ref<Stream>>& streams, const Timeout& timeout, Outcome& outcome) {
    outcome = Outcome::cancelled;
    std::vector<Ref<Marker>> ends;
    for (const Ref<Stream>& s : streams) ends.push_back(s->mark_end(timeout.deadline > now_ns()));
    for (size_t i = 0; i < ends.size(); ++i) {
        Marker* marker = ends[i].get();
        if (!marker) continue;
        Blocking blocking("eventide.synchronize()", *streams[i], marker->position());
        const Waited waited = wait_without_gil(timeout.deadline, [marker](int64_t ns) { return marker->sleep(ns); });
        if (waited == Waited::timeout)
            return raise_timeout("eventide.synchronize()", streams[i]->describe() + " is still busy", timeout);
        if (waited == Waited::interrupted) return nullptr;
    }
    outcome = Outcome::ok;
    for (const Ref<Stream>& s : streams)
        if (s->has_error()) return synchronize_stream(*s, timeout, "eventide.synchronize()");
    Py_RETURN_NONE;
}

// synchronize_device(type: str, index: int, timeout)
PyObject* synchronize_device(PyObject*, PyObject* args) {
    const char* type;
    int index;
    PyObject* given;
    Timeout timeout;
    if (!PyArg_ParseTuple(args, "siO", &type, &index, &given) || !parse_timeout(given, timeout)) return nullptr;
    return guarded([&]() -> PyObject* {
        Device* device = devices::find(type);
        if (!device) throw Error(ErrorKind::value, std::string("there is no device type '") + type + "'");
        const DeviceId id{device->number, int16_t(index)};
        refuse_in_callback("eventide.synchronize()");
        Synchronization hook({.hook = Hook::device_synchronization, .device = id});
        if (!hook.begin()) return nullptr;
        std::vector<Ref<Stream>> streams;
        for (Ref<Stream>& s : Stream::all())
            if (s->device_id == id) streams.push_back(s);
        Outcome outcome;
        PyObject* result = synchronize_all(streams, timeout, outcome);
        if (!hook.end(outcome)) Py_CLEAR(result);
        return result;
    });
}

// Called last, after all finalization of Python: it interrupts nothing.
constinit std::atomic<int> exit_code{0};

void exit_with(int code) {
    if (!exit_code.exchange(code))
        Py_AtExit([] {
            std::fflush(nullptr);
            _exit(exit_code.load());
        });
}

PyMethodDef blocking_functions[] = {
    {"synchronize_device", synchronize_device, METH_VARARGS,
     "synchronize_device($module, device_type, index, timeout, /)\n--\n\nBlocks until every stream of the device is "
     "idle."},
    {nullptr, nullptr, 0, nullptr},
};

// Takes over the reference.
int call_pending(void* callable) {
    PyObject* given = static_cast<PyObject*>(callable);
    PyObject* result = PyObject_CallNoArgs(given);
    if (!result) PyErr_WriteUnraisable(given);
    Py_XDECREF(result);
    Py_DECREF(given);
    return 0;
}

}  // namespace

void bind_process(nb::module_& m) {
    install_host_lock();
    PyModule_AddFunctions(m.ptr(), blocking_functions);
    m.def(
        "note_main_thread", [](unsigned long ident) { note_main_thread(ident); }, nb::arg("ident"),
        "Which thread gets signals.");
    m.def(
        "exit_with", [](int code) { exit_with(code); }, nb::arg("code"),
        "The exit code of this process, whatever code the program gives.");
    m.def(
        "call_on_main_thread",
        [](nb::object callable) {
            if (Py_AddPendingCall(call_pending, callable.inc_ref().ptr()) == 0) return;
            callable.dec_ref();
            throw Error(ErrorKind::device, "too many calls wait for the main thread");
        },
        nb::arg("callable"), "Called by the main thread as soon as it runs Python code.");
    m.def("now_ns", [] { return now_ns(); }, "The trace's clock: CLOCK_MONOTONIC in nanoseconds.");
    m.def(
        "callbacks_run", [] { return notifier::completed(); },
        "How many callbacks and calls of devices the threads for them have run.");
    m.def("after_fork_in_child", [] {
        process::after_fork_in_child();
        after_fork_in_child_python();
        current_after_fork_in_child();
        callbacks_after_fork_in_child();
        live_sanitizer_after_fork_in_child();
    });
    m.def(
        "shut_down",
        [](double seconds) {
            report_unseen_failures();
            nb::gil_scoped_release release;
            return process::shut_down(int64_t(seconds * 1e9));
        },
        nb::arg("timeout"),
        "Waits for all streams, then abandons their workers; returns how many work items were left.");
}

}  // namespace eventide::python
