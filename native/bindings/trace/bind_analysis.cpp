// Loops over the analysis' arrays. The caller allocates every array and checks its contents. No array is converted:
// what is written to a converted copy would be lost.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

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

}  // namespace

void bind_analysis(nb::module_& m) {
    m.def("nest_spans", &nest_spans, "start"_a.noconvert(), "end"_a.noconvert(), "parent"_a.noconvert(),
          "self_time"_a.noconvert(), "times"_a.noconvert(), "owner"_a.noconvert(),
          "Who is innermost on a thread, moment by moment; gives the number of segments.");
    m.def("relax_edges", &relax_edges, "source"_a.noconvert(), "target"_a.noconvert(), "gap"_a.noconvert(),
          "slack"_a.noconvert(), "Lower slack[source] to gap + slack[target], edge by edge.");
    m.def("follow_nodes", &follow_nodes, "pred"_a.noconvert(), "low"_a.noconvert(), "node"_a, "begin"_a,
          "out"_a.noconvert(), "The nodes along pred until one that begins no later than `begin`; gives their number.");
}

}  // namespace eventide::python
