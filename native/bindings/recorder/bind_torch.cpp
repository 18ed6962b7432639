// torch's operators, heard while they run.
#include "bindings/base/bind.hpp"
#include "profiler/torch_operators.hpp"

namespace nb = nanobind;

namespace eventide::python {

void bind_torch(nb::module_& m) {
    m.def(
        "torch_operators_start",
        [](uint32_t operators, uint32_t gradients, uint32_t annotations) {
            torch::hear_operators({operators, gradients, annotations});
        },
        nb::arg("operators"), nb::arg("gradients"), nb::arg("annotations"),
        "Operators of all threads become spans of the recording that runs, until torch_operators_stop(). The arguments "
        "are scopes of torch's record functions, bit s for scope s.");
    m.def("torch_operators_stop", &torch::leave_operators);
    m.def("torch_operators_tell_muted", &torch::tell_muted_operators, nb::arg("on"),
          "Somebody else tells the operators of muted threads, from True to False, any number of them at a time.");
    m.def("torch_operators_mute", &torch::mute_operators, nb::arg("on"),
          "This thread is muted from True to False, which may never come, any number of times.");
    m.def("torch_operators_muted", &torch::operators_muted, "Whether somebody else tells those of this thread.");
    m.def("torch_operators_heard", &torch::operators_heard, "How many became spans, in the life of the process.");
    m.def("torch_operators_look", &torch::look_at_operator, nb::arg("which"),
          "The next operator is kept and not recorded, the first (0) or the second (1) of two; 2: the next gradient.");
    m.def("torch_operators_looked", &torch::operator_looked_at, "Whether it came; it is no longer waited for.");
    m.def("torch_operators_learn", &torch::learn_sequence_numbers, nb::arg("first"), nb::arg("second"),
          nb::arg("gradient"), "Their sequence numbers; True: gradients are tied to their operators from now on.");
}

}  // namespace eventide::python
