// Questions for the clock of another process, and the server that answers them.
#include <nanobind/nanobind.h>

#include "bindings/base/bind.hpp"
#include "recorder/clock_exchange.hpp"

namespace nb = nanobind;

namespace eventide::python {

using namespace recorder;

void bind_clock_exchange(nb::module_& m) {
    nb::class_<ClockServer>(m, "ClockServer", "Answers questions for CLOCK_MONOTONIC of this process over UDP.")
        .def(nb::init<const std::string&, const std::string&>(), nb::arg("host"), nb::arg("token"))
        .def_prop_ro("port", &ClockServer::port, "Of the UDP socket.");
    m.def(
        "ask_clock",
        [](const std::string& host, uint16_t port, const std::string& token, int count, int patience_ms) {
            std::vector<ClockPair> pairs;
            {
                nb::gil_scoped_release release;
                pairs = ask_clock(host, port, token, count, patience_ms);
            }
            nb::list found;
            for (const ClockPair& pair : pairs)
                found.append(nb::make_tuple(pair.sent, pair.received, pair.answered, pair.returned));
            return found;
        },
        nb::arg("host"), nb::arg("port"), nb::arg("token"), nb::arg("count"), nb::arg("patience_ms"),
        nb::sig("def ask_clock(host: str, port: int, token: str, count: int, patience_ms: int) -> "
                "list[tuple[int, int, int, int]]"),
        "Times of questions and answers: sent, received, answered, returned; empty if there is no answer.");
}

}  // namespace eventide::python
