"""Steps of a training loop: parts that sum to each step, their strip, compiles of stages, memory of the process."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from eventide.analysis import PHASES, compiles, memory, step_phases, summary
from eventide.report import gather, render_report
from eventide.report._answers import render_compile, render_memory
from eventide.report._tables import as_text
from eventide.report.page import make_page
from tests.trace_builder import Builder

NAMES = {
    "compile": ("f", "compile"),
    "data": ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "annotation"),
    "optimizer": ("Optimizer.step#Adam.step", "annotation"),
    "backward": ("autograd::engine::evaluate_function: AddmmBackward0", "op"),
    "forward": ("Net", "module"),
    "other": ("user code", "annotation"),
}


def training() -> Builder:
    """Three steps: the first one compiles for 700 of its 1000 ns."""
    b = Builder()
    for number, (start, end) in enumerate([(0, 1000), (1000, 1100), (1100, 1200)]):
        b.span(b.thread(), f"ProfilerStep#{number}", start, end, "step")
        for name, at, length in (("data", 0, 10), ("forward", 10, 20), ("backward", 40, 30), ("optimizer", 80, 15)):
            b.span(b.thread(), NAMES[name][0], start + at, start + at + length, NAMES[name][1])
    b.span(b.thread(), "aten::mm", 45, 60)  # inside the backward
    b.span(b.thread(), "f", 200, 900, "compile", args=json.dumps({"recompile": True, "reason": "size 3, not 2"}))
    return b


def test_steps_are_split_and_the_parts_sum_to_each() -> None:
    first, second, _ = step_phases(training().trace()).steps
    assert (first.compile, first.data, first.forward, first.backward, first.optimizer) == (700, 10, 20, 30, 15)
    assert first.other == 1000 - 775
    assert (second.duration, second.compile, second.other) == (100, 0, 25)


spans = st.lists(
    st.tuples(st.sampled_from(sorted(NAMES)), st.integers(0, 90), st.integers(1, 30), st.integers(1, 2)), max_size=12
)


@given(spans)
def test_phases_equal_a_count_of_every_nanosecond(rows: list[tuple[str, int, int, int]]) -> None:
    b = Builder()
    for number, (start, end) in enumerate([(0, 40), (40, 100)]):
        b.span(b.thread(), f"ProfilerStep#{number}", start, end, "step")
    kinds = [set[str]() for _ in range(200)]
    for kind, start, length, tid in rows:
        name, category = NAMES[kind]
        b.span(b.thread(tid), name, start, start + length, category)
        for moment in range(start, start + length):
            kinds[moment].add(kind)
    owner = [next((phase for phase in PHASES if phase in here), "other") for here in kinds]
    found = step_phases(b.trace())
    for step, (start, end) in zip(found.steps, [(0, 40), (40, 100)], strict=True):
        assert {phase: getattr(step, phase) for phase in (*PHASES, "other")} == {
            phase: owner[start:end].count(phase) for phase in (*PHASES, "other")
        }


def test_a_report_of_a_training_starts_with_what_costs_most() -> None:
    trace = training().trace(source="eventide")
    report = gather(trace, "t")
    said = " ".join(as_text(render_report(report)).split())
    assert "1. 1 compile took 700 ns (58 %), most in f (1 time); 1 recompile, of f since size 3, not 2." in said
    assert "ProfilerStep#0 took 1.00 us, the median of 3 steps is 100 ns; 700 ns more in compile." in said
    assert "Step times (full height: 300 ns or more) █▃▃" in said
    page = make_page(trace, report)
    strip = page[page.index('<svg class="steps"') :].partition("</svg>")[0]
    assert strip.count('<rect class="backward"') == 3
    assert "ProfilerStep#1: 100 ns; data 10 ns, optimizer 15 ns, backward 30 ns, forward 20 ns, other 25 ns" in strip


def test_many_steps_are_one_line() -> None:
    b = Builder()
    for number in range(1000):
        b.span(b.thread(), f"ProfilerStep#{number}", 10 * number, 10 * number + 10, "step")
    b.span(b.thread(), *NAMES["forward"][:1], 0, 5, "module")
    said = as_text(render_report(gather(b.trace(), "t")))
    assert max(map(len, said.splitlines())) <= 100
    assert "the longest of each 12" in said


def jax_phase(b: Builder, name: str, start: int, about: tuple[str, str], length: int = 10) -> None:
    identity, phase = about
    args = json.dumps({"trigger": "JAX", "id": identity, "details": {"phase": phase}})
    b.span(b.thread(), name, start, start + length, "compile", args=args)


def test_the_stages_of_a_compile_count_once() -> None:
    b = Builder()
    for at, identity in ((0, "jax/1"), (100, "jax/2")):
        jax_phase(b, "f", at, (identity, "trace"), 30)
        jax_phase(b, "g", at + 5, (identity, "trace"))  # g is called by f
        jax_phase(b, "f", at + 40, (identity, "lower"))
        jax_phase(b, "f", at + 60, (identity, "backend compile"))
    found = compiles(b.trace())
    assert (found.count, found.time) == (2, 100)
    assert {row.name: (row.count, row.outermost) for row in found.table} == {"f": (2, 100), "g": (0, 0)}
    names = {row.name: row.count for row in summary(b.trace()).host}
    assert names == {"f (trace)": 2, "g (trace)": 2, "f (lower)": 2, "f (backend compile)": 2}


def test_reasons_of_recompiles_are_listed_once() -> None:
    b = Builder()
    for at in (0, 20, 40):
        args = json.dumps({"trigger": "DYNAMO", "recompile": at > 0, "reason": "a size" if at else None})
        b.span(b.thread(), "f", at, at + 10, "compile", args=args)
    found = compiles(b.trace())
    assert (found.count, found.recompiles, found.table[0].reasons) == (3, 2, ("a size",))
    assert "Compiled again because\nf: a size\n" in as_text(render_compile(found))


def counted(**values: list[float]) -> et.Trace:
    rows: dict[str, list[Any]] = {"track": [], "name": [], "time": [], "value": []}
    for name, levels in values.items():
        for time, level in enumerate(levels):
            for key, value in zip(rows, (0, name, time, level), strict=True):
                rows[key].append(value)
    return et.Trace({"tracks": {"kind": ["counter"], "name": ["memory of the process"]}, "counters": rows})


def test_memory_of_the_process_is_its_own_answer() -> None:
    found = memory(counted(RSS=[100 * 2**20, 700 * 2**20, 600 * 2**20], heap=[2**20, 2**19]))
    assert found.devices == ()
    assert [(each.source, each.peak, each.growth) for each in found.process] == [
        ("RSS", 700 * 2**20, 500 * 2**20), ("heap", 2**20, -(2**19)),
    ]  # fmt: skip
    said = " ".join(as_text(render_memory(found)).split())
    assert "process, RSS (resident memory): 700 MiB at the peak, 600 MiB at the end, grew by 500 MiB" in said
    assert "process, heap (allocated by malloc): 1.00 MiB at the peak, 512 KiB at the end, shrank by 512 KiB" in said
    assert np.array_equal(found.process[1].bytes, [2**20, 2**19])


@pytest.mark.parametrize("phase", ["backward", "optimizer"])
def test_an_annotation_of_the_program_names_its_phase(phase):
    b = Builder()
    b.span(b.thread(), "ProfilerStep#1", 0, 100, "step")
    b.span(b.thread(), f"## {phase} ##", 20, 60, "annotation")
    b.span(b.thread(), f"my {phase} helper", 70, 90, "annotation")
    (step,) = step_phases(b.trace(source="kineto")).steps
    assert (getattr(step, phase), step.other) == (40, 60)
