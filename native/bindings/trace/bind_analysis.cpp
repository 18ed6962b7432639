// Loops over the analysis' arrays. The caller allocates every array and checks its contents. No array is converted:
// what is written to a converted copy would be lost.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "analysis/clock_bounds.hpp"
#include "analysis/replay.hpp"
#include "analysis/spans_in_time.hpp"
#include "bindings/base/bind.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace eventide::python {
namespace {

using In = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check(bool fits) {
    if (!fits) throw nb::value_error("the arrays do not fit each other");
}

size_t nest_spans(const In& start, const In& end, const Out& parent, const Out& self_time, const Out& times,
                  const Out& owner) {
    const size_t rows = start.size();
    check(end.size() == rows && parent.size() == rows && self_time.size() == rows);
    check(times.size() >= 2 * rows + 1 && owner.size() >= 2 * rows);
    const Nesting n{start.data(), end.data(), rows, parent.data(), self_time.data(), times.data(), owner.data()};
    nb::gil_scoped_release release;
    return nest(n);
}

void relax_edges(const In& source, const In& target, const In& gap, const Out& slack) {
    const size_t edges = source.size();
    check(target.size() == edges && gap.size() == edges);
    const int64_t nodes = int64_t(slack.size());
    for (size_t i = 0; i < edges; ++i)
        check(source.data()[i] >= 0 && source.data()[i] < nodes && target.data()[i] >= 0 && target.data()[i] < nodes);
    nb::gil_scoped_release release;
    relax(source.data(), target.data(), gap.data(), edges, slack.data());
}

size_t follow_nodes(const In& pred, const In& low, int64_t node, int64_t begin, const Out& out) {
    const int64_t nodes = int64_t(pred.size());
    check(low.size() == pred.size() && node < nodes);
    for (size_t i = 0; i < pred.size(); ++i) check(pred.data()[i] < nodes);
    nb::gil_scoped_release release;
    return follow(pred.data(), low.data(), node, begin, out.size(), out.data());
}

Dependencies dependencies(const In& source, const In& target, size_t nodes) {
    check(source.size() == target.size());
    const int64_t count = int64_t(nodes);
    for (size_t i = 0; i < source.size(); ++i)
        check(source.data()[i] >= 0 && source.data()[i] < count && target.data()[i] >= 0 && target.data()[i] < count);
    return {source.data(), target.data(), source.size(), nodes};
}

size_t order_dependencies(const In& source, const In& target, size_t nodes, const Out& order) {
    check(order.size() == source.size());
    const Dependencies graph = dependencies(source, target, nodes);
    nb::gil_scoped_release release;
    return order_edges(graph, order.data());
}

void schedule_nodes(const In& source, const In& target, const In& lag, const In& number, const In& duration,
                    const Out& start, const Out& binding) {
    const size_t nodes = duration.size();
    check(lag.size() == source.size() && number.size() == source.size());
    check(start.size() == nodes && binding.size() == nodes);
    const Dependencies graph = dependencies(source, target, nodes);
    nb::gil_scoped_release release;
    schedule(graph, lag.data(), duration.data(), number.data(), start.data(), binding.data());
}

using Roles = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Reals = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object bound_clock_offsets(const In& first_row, const In& collective, const In& start, const In& end,
                               const Roles& role, size_t collectives, size_t reference, double drift,
                               const Reals& low_at_start, const Reals& high_at_start, const Reals& low_at_end,
                               const Reals& high_at_end, size_t most_rounds) {
    const size_t rows = start.size(), ranks = first_row.size() - 1;
    check(first_row.size() > 1 && reference < ranks && drift >= 0 && drift < 1);
    check(end.size() == rows && collective.size() == rows && role.size() == rows);
    check(low_at_start.size() == rows && high_at_start.size() == rows);
    check(low_at_end.size() == rows && high_at_end.size() == rows);
    const int64_t* first = first_row.data();
    check(first[0] == 0 && first[ranks] == int64_t(rows));
    for (size_t i = 0; i < ranks; ++i) check(first[i] <= first[i + 1]);
    for (size_t i = 0; i < rows; ++i) check(collective.data()[i] >= 0 && size_t(collective.data()[i]) < collectives);
    const ClockProblem problem{ranks,       collectives, first, collective.data(), start.data(), end.data(),
                               role.data(), reference,   drift};
    const ClockRanges out{low_at_start.data(), high_at_start.data(), low_at_end.data(), high_at_end.data()};
    ClockConflict conflict;
    {
        nb::gil_scoped_release release;
        conflict = bound_clocks(problem, out, most_rounds);
    }
    if (!conflict.found) return nb::none();
    return nb::make_tuple(conflict.rank, conflict.upper_row, conflict.lower_row);
}

}  // namespace

void bind_analysis(nb::module_& m) {
    m.def("nest_spans", &nest_spans, "start"_a.noconvert(), "end"_a.noconvert(), "parent"_a.noconvert(),
          "self_time"_a.noconvert(), "times"_a.noconvert(), "owner"_a.noconvert(),
          "Who is innermost on a thread, moment by moment; gives the number of segments.");
    m.def("relax_edges", &relax_edges, "source"_a.noconvert(), "target"_a.noconvert(), "gap"_a.noconvert(),
          "slack"_a.noconvert(), "Lower slack[source] to gap + slack[target], edge by edge.");
    m.def("follow_nodes", &follow_nodes, "pred"_a.noconvert(), "low"_a.noconvert(), "node"_a, "begin"_a,
          "out"_a.noconvert(), "The nodes along pred until one that begins no later than `begin`; gives their number.");
    m.def("order_dependencies", &order_dependencies, "source"_a.noconvert(), "target"_a.noconvert(), "nodes"_a,
          "order"_a.noconvert(),
          "Put the edges into an order for schedule_nodes; gives the number of nodes that no cycle holds up.");
    m.def("schedule_nodes", &schedule_nodes, "source"_a.noconvert(), "target"_a.noconvert(), "lag"_a.noconvert(),
          "number"_a.noconvert(), "duration"_a.noconvert(), "start"_a.noconvert(), "binding"_a.noconvert(),
          "Raise `start` from release times to the schedule; `binding` is the edge that was satisfied last.");
    m.def("bound_clock_offsets", &bound_clock_offsets,
          nb::sig(
              "def bound_clock_offsets(first_row: NDArray[numpy.int64], collective: NDArray[numpy.int64], start: "
              "NDArray[numpy.int64], "
              "end: NDArray[numpy.int64], role: NDArray[numpy.uint8], collectives: int, reference: int, drift: float, "
              "low_at_start: NDArray[numpy.float64], high_at_start: NDArray[numpy.float64], low_at_end: "
              "NDArray[numpy.float64], "
              "high_at_end: NDArray[numpy.float64], most_rounds: int) -> tuple[int, int, int] | None"),
          "first_row"_a.noconvert(), "collective"_a.noconvert(), "start"_a.noconvert(), "end"_a.noconvert(),
          "role"_a.noconvert(), "collectives"_a, "reference"_a, "drift"_a, "low_at_start"_a.noconvert(),
          "high_at_start"_a.noconvert(), "low_at_end"_a.noconvert(), "high_at_end"_a.noconvert(), "most_rounds"_a,
          "Bound the clock offsets of ranks by their collectives; (rank, row, row) if two rows contradict.");
}

}  // namespace eventide::python
