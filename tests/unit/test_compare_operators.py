"""Comparison of two traces by operator: which kernels each launched."""

from __future__ import annotations

from collections import Counter

import eventide as et
from eventide.analysis import compare
from eventide.report import as_text, render_comparison
from tests.kineto_files import real_trace
from tests.reference.raw_events import raw_events, work_of
from tests.trace_builder import Builder


def trained(kernel: str, length: int) -> Builder:
    b = Builder()
    b.span(b.thread(), "aten::mm", 0, 50)
    b.launch((10, 20), kernel, 100, 100 + length)
    b.span(b.thread(), "aten::add", 60, 90)
    b.launch((70, 80), "add_kernel", 400, 420)
    return b


def test_an_operator_that_launches_another_kernel_is_named_with_both() -> None:
    found = compare(trained("volta_sgemm", 200).trace(), trained("ampere_gemm", 80).trace())
    assert [(each.name, each.a, each.b, each.changed) for each in found.operators] == [
        ("aten::mm", 200, 80, True),
        ("aten::add", 20, 20, False),
    ]
    assert (found.operators[0].kernels_a, found.operators[0].kernels_b) == (("volta_sgemm",), ("ampere_gemm",))
    text = as_text(render_comparison(found))
    assert "aten::mm launches other kernels: most time in volta_sgemm before, in ampere_gemm after" in text


def test_the_kernels_of_an_operator_of_a_real_trace_are_those_of_its_external_ids() -> None:
    path = real_trace("nvidia_resnet50_loader0")
    ids = {e["args"]["External id"] for e in raw_events(path) if e["name"] == "aten::cudnn_batch_norm"}
    times: Counter[str] = Counter()
    for work in work_of(path):
        if work["args"].get("external id") in ids and work["cat"] == "kernel":
            times[work["name"]] += work["end"] - work["start"]
    trace = et.open_trace(path)
    row = next(each for each in compare(trace, trace).operators if each.name == "aten::cudnn_batch_norm")
    assert (row.a, row.b) == (times.total(), times.total())
    assert set(row.kernels_a) == set(times)
    assert not row.changed


def test_without_operators_the_comparison_has_no_such_part() -> None:
    b = Builder()
    b.work("kernel", 0, 10)
    found = compare(b.trace(), b.trace())
    assert found.operators == ()
    assert "Operators" not in as_text(render_comparison(found))
