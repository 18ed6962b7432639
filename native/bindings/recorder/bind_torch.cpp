// torch's operators, recorded while they run.
#include "bindings/base/bind.hpp"
#include "profiler/torch_operators.hpp"

namespace nb = nanobind;

namespace eventide::python {

void bind_torch(nb::module_& m) {
    m.def(
        "torch_operators_start",
        [](uint32_t operators, uint32_t gradients, uint32_t annotations) {
            torch::start_operators({operators, gradients, annotations});
        },
        nb::arg("operators"), nb::arg("gradients"), nb::arg("annotations"),
        "Operators of all threads become spans of the recording that runs, until torch_operators_stop(). The arguments "
        "are scopes of torch's record functions, bit s for scope s.");
    m.def("torch_operators_stop", &torch::stop_operators);
    m.def("torch_operators_other_source", &torch::set_other_source, nb::arg("on"),
          "Another source records the operators of muted threads from True until False. Calls nest.");
    m.def("torch_operators_mute", &torch::mute_operators, nb::arg("on"),
          "This thread is muted from True until False, which is optional. Calls nest.");
    m.def("torch_operators_muted", &torch::operators_muted,
          "Whether another source records the operators of this thread.");
    m.def("torch_operator_in_detail", &torch::operator_in_detail, nb::arg("name"),
          "The other source records this operator of a muted thread, and calls it once more.");
    m.def("torch_operators_hide", &torch::hide_operators, nb::arg("on"),
          "What a muted thread calls from True until False belongs to the other source.");
    m.def("torch_operators_recorded", &torch::operators_recorded,
          "The number of operators that became spans in this process.");
    m.def("torch_operators_probe", &torch::probe_operator, nb::arg("which"),
          "Keeps the next operator instead of recording it, as the first (0) or the second (1) of two; 2: the next "
          "gradient.");
    m.def("torch_operators_probed", &torch::operator_probed, "Ends the probe. True if an operator was kept.");
    m.def("torch_operators_calibrate", &torch::calibrate_sequence_numbers, nb::arg("first"), nb::arg("second"),
          nb::arg("gradient"),
          "Sets the sequence numbers of the probed operators; True: gradients are linked to their operators from now "
          "on.");
}

}  // namespace eventide::python
