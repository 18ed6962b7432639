// Adding and removing Python callbacks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bindings/base/bind.hpp"
#include "bindings/hooks/host_access.hpp"
#include "bindings/hooks/hot_hooks.hpp"
#include "runtime/device.hpp"

namespace nb = nanobind;

namespace eventide::python {
namespace {

Hook hook_of(int number) {
    if (number < 0 || number >= hook_count)
        throw Error(ErrorKind::value, "there is no hook number " + std::to_string(number));
    return Hook(number);
}

}  // namespace

void bind_hooks(nb::module_& m) {
    nb::list names;
    for (int i = 0; i < hook_count; ++i) names.append(nb::str(hub::name(Hook(i)).data()));
    m.attr("HOOKS") = nb::tuple(names);
    PyModule_AddFunctions(m.ptr(), host_functions);
    m.def(
        "hook_add",
        [](int hook, nb::object callback, const std::optional<std::string>& device_type, int index, bool observer,
           bool end) {
            DeviceId device;
            if (device_type) {
                Device* d = devices::find(*device_type);
                if (!d) throw Error(ErrorKind::value, "there is no device type '" + *device_type + "'");
                device = {devices::family(d->number), int16_t(index)};
            }
            return add_callback(hook_of(hook), callback.ptr(), device, observer, end);
        },
        nb::arg("hook"), nb::arg("callback"), nb::arg("device_type").none(), nb::arg("index"), nb::arg("observer"),
        nb::arg("end"));
    m.def(
        "hook_remove", [](int hook, uint64_t number) { return remove_callback(hook_of(hook), number); },
        nb::arg("hook"), nb::arg("number"));
    m.def("hook_clear", [](int hook) { clear_callbacks(hook_of(hook)); }, nb::arg("hook"));
    m.def(
        "hook_callbacks",
        [](int hook) {
            PyObject* list = list_callbacks(hook_of(hook));
            if (!list) nb::raise_python_error();
            return nb::tuple(nb::steal(list));
        },
        nb::arg("hook"), "The callbacks of a hook in order, without observers.");
    m.def(
        "hook_statistics",
        [](int hook) {
            const HookStatistics s = hook_statistics(hook_of(hook));
            return nb::make_tuple(s.callbacks, s.fired, s.errors);
        },
        nb::arg("hook"), "(callbacks, fired, errors)");
}

}  // namespace eventide::python
