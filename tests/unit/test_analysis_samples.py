"""Sampled stacks: times by function, line, thread and import, the flame graph, and both in a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from eventide.analysis import FlameNode, View, flame, samples
from eventide.report import gather, render_report
from eventide.report._tables import as_text
from eventide.report.page import make_page

MS = 1_000_000
Frames = list[tuple[str, str, int]]


def trace_of(
    rows: Sequence[tuple[int, int, Frames, bool | int]], threads: tuple[str, ...] = ("main",), **meta: Any
) -> et.Trace:
    """Rows are (time in ms, thread, frames with the innermost first, waiting or the percentage that it ran)."""
    frames = [[{"function": name, "file": file, "line": line} for name, file, line in row[2]] for row in rows]
    instants = {
        "track": [row[1] for row in rows],
        "name": ["x"] * len(rows),
        "category": ["sample"] * len(rows),
        "time": [row[0] * MS for row in rows],
        "stack": list(range(len(rows))),
        "args": [_args(row[3]) for row in rows],
    }
    tracks = {"kind": ["other"] * len(threads), "name": [f"samples of {name}" for name in threads]}
    return et.Trace(
        {"tracks": tracks, "instants": instants, "stacks": {"frames": frames}}, {"source": "eventide", **meta}
    )


def _args(waits: bool | int) -> str | None:
    if waits is True:
        return '{"waiting": true}'
    return None if waits is False else f'{{"ran": {waits}}}'


F, G, MAIN = ("f", "/p/a.py", 3), ("g", "/p/b.py", 7), ("<module>", "/p/a.py", 20)
IMPORT = ("_find_and_load", "<frozen importlib._bootstrap>", 1176)
LINALG = ("<module>", "/lib/python3.11/site-packages/numpy/linalg/__init__.py", 4)
NUMPY = ("<module>", "/lib/python3.11/site-packages/numpy/__init__.py", 9)


def test_frames_of_this_package_count_for_the_line_that_called_them() -> None:
    own = ("Children._born", str(Path(et.__file__).with_name("run") / "_children.py"), 143)
    at_exit = [(10, 0, [("close", own[1], 3)], False)]
    found = samples(trace_of([*at_exit, (20, 0, [own, F, MAIN], False), (30, 0, [own, F, own, MAIN], True)]))
    (row,) = [row for row in found.functions if row.self_time]
    assert (row.function, row.line, found.count) == ("f", 3, 2)


def test_a_sample_counts_for_the_time_since_the_sweep_before() -> None:
    found = samples(trace_of([(10, 0, [F, MAIN], False), (20, 0, [F, MAIN], False), (120, 0, [G, F, MAIN], True)]))
    rows = {row.function: row for row in found.functions}
    assert (rows["f"].self_running, rows["f"].total_running) == (
        65 * MS,
        65 * MS,
    )  # the first: the median of 10 and 100
    assert (rows["f"].self_waiting, rows["f"].total_waiting) == (0, 100 * MS)
    assert (rows["g"].self_waiting, rows["g"].total) == (100 * MS, 100 * MS)
    assert (rows["<module>"].self_time, rows["<module>"].total, rows["<module>"].line) == (0, 165 * MS, 0)
    assert [(row.function, row.line) for row in found.lines if row.self_time] == [("f", 3), ("g", 7)]


def test_threads_that_share_the_gil_run_no_longer_than_the_clock() -> None:
    rows: list[tuple[int, int, Frames, bool | int]] = [
        (time, thread, [F], 30 + 10 * thread) for time in (10, 20) for thread in (0, 1)
    ]
    found = samples(trace_of(rows, ("one", "two")))
    assert (found.running, found.waiting, found.count) == (14 * MS, 26 * MS, 4)
    assert [(row.thread, row.samples, row.running, row.waiting) for row in found.threads] == [
        ("two", 2, 8 * MS, 12 * MS), ("one", 2, 6 * MS, 14 * MS),
    ]  # fmt: skip
    (row,) = found.functions
    assert (row.self_running, row.self_waiting) == (14 * MS, 26 * MS)


def test_arguments_of_a_sample_may_be_anything() -> None:
    trace = trace_of([(10, 0, [F], False)] * 4)
    odd = pa.array(["[", "[1]", '{"ran": "x"}', '{"ran": 1000}'])
    instants = trace.instants.set_column(trace.instants.schema.get_field_index("args"), "args", odd)
    tables = {"tracks": trace.tracks, "instants": instants, "stacks": trace.stacks}
    assert samples(et.Trace(tables, {})).waiting == 0


def test_recursion_counts_once() -> None:
    found = samples(trace_of([(10, 0, [F, F, F, MAIN], False), (20, 0, [F, MAIN], False)]))
    assert [(row.function, row.total) for row in found.functions] == [("f", 20 * MS), ("<module>", 20 * MS)]


def test_imports_are_separate_from_the_program_and_named_by_the_outermost_module() -> None:
    nested = [LINALG, IMPORT, NUMPY, IMPORT, MAIN]
    found = samples(trace_of([(10, 0, nested, False), (20, 0, [IMPORT, MAIN], False), (30, 0, [F, MAIN], False)]))
    assert [(row.module, row.time) for row in found.imports] == [
        ("(finding and loading files)", 10 * MS), ("numpy", 10 * MS),
    ]  # fmt: skip
    assert found.import_time == 20 * MS
    assert {row.function for row in found.functions} == {"f", "<module>"}
    assert sum(row.self_time for row in found.functions) == 10 * MS


def test_threads_have_the_names_that_python_gives_them_and_our_own_code_is_left_out() -> None:
    ours = [("_at_exit", et.__file__, 1)]
    trace = trace_of(
        [(10, 0, [F], False), (10, 1, [G], True), (20, 0, ours, False), (20, 1, [G], True)], ("main", "io")
    )
    assert [(row.thread, row.running, row.waiting) for row in samples(trace).threads] == [
        ("main", 10 * MS, 0), ("io", 0, 20 * MS),
    ]  # fmt: skip


def nodes(root: FlameNode) -> list[FlameNode]:
    return [root, *(each for child in root.sorted() for each in nodes(child))]


frames = st.sampled_from([F, G, MAIN, IMPORT, NUMPY])
sweeps = st.lists(st.tuples(st.integers(1, 50), st.lists(frames, min_size=1, max_size=5), st.booleans()), max_size=20)


@given(sweeps)
def test_times_sum_to_the_whole(rows: list[tuple[int, Frames, bool]]) -> None:
    now, given_rows = 0, []
    for gap, stack, waits in rows:
        now += gap * 10
        given_rows.append((now, 0, stack, waits))
    trace = trace_of(given_rows)
    found, root = samples(trace), flame(trace)
    whole = found.running + found.waiting
    assert whole == root.time == sum(thread.running + thread.waiting for thread in found.threads)
    assert sum(row.self_time for row in found.functions) == sum(row.self_time for row in found.lines)
    assert sum(row.self_time for row in found.functions) + sum(row.time for row in found.imports) == whole
    for node in nodes(root):
        assert node.time >= sum(child.time for child in node.children.values())


def report_of(trace: et.Trace) -> str:
    return as_text(render_report(gather(trace, "t")))


def test_a_report_of_samples_alone_has_the_wall_time_of_the_run() -> None:
    run = {"began_ns": 0, "ended_ns": 500 * MS}
    trace = trace_of(
        [(100, 0, [F, MAIN], False), (110, 0, [G, MAIN], True), (120, 0, [LINALG, IMPORT, MAIN], False)], run=run
    )
    said = report_of(trace)
    assert said.startswith("t: 500 ms, 3 samples\n")
    assert "evice" not in said
    assert "CUDA" not in said
    assert re.search(r"f +a\.py:3 +10\.0 ms +0 ns", said)
    assert re.search(r"numpy\.linalg +10\.0 ms", said)
    assert View(trace).window == (0, 500 * MS)


def test_a_killed_run_ends_with_its_last_sample() -> None:
    assert View(trace_of([(100, 0, [F], False), (150, 0, [F], False)], run={"began_ns": MS})).window == (MS, 150 * MS)


def test_the_flame_graph_needs_no_script_and_escapes_names() -> None:
    evil = ("<script>alert(1)</script>", "/p/'\"><img src=x>.py", 1)
    trace = trace_of([(10, 0, [evil, MAIN], False), (20, 0, [evil, MAIN], True)], ("<b>main",))
    page = make_page(trace, gather(trace, "t"))
    graph = page[page.index('<section id="flame">') : page.index('<section id="timeline"')]
    assert graph.count("<svg class=") == 1 + 5  # all, the thread, <module>, evil, waiting
    assert "&lt;script&gt;alert(1)&lt;/script&gt; (/p/&#x27;&quot;&gt;&lt;img src=x&gt;.py): 20.0 ms, 100 %" in graph
    assert "<script" not in graph
    assert "<img" not in graph
    assert "<b>" not in graph
    assert "style=" not in graph


def test_deep_and_wide_stacks_make_a_small_page() -> None:
    deep = [(f"f{level}", "/p/a.py", level) for level in range(2000)]
    rows = [(10 * n, 0, [(f"g{n}", "/p/b.py", n), *deep], False) for n in range(1, 40)]
    trace = trace_of(rows)
    page = make_page(trace, gather(trace, "t"))
    assert page.count('<svg class="function') <= 121
    graph = page[page.index('<section id="flame">') : page.index('<section id="timeline"')]
    assert len(graph) < 40_000


def test_no_samples_no_flame_graph() -> None:
    trace = trace_of([])
    assert 'id="flame"' not in make_page(trace, gather(trace, "t"))


def test_main_threads_of_several_processes_are_distinct_and_no_share_is_above_the_whole() -> None:
    rows = [(10 * step, track, [F, MAIN], track == 0) for step in range(1, 11) for track in range(3)]
    trace = trace_of(rows, ("MainThread",) * 3, pid=1, run={"began_ns": 0, "ended_ns": 100 * MS, "sample_ns": 10 * MS})
    columns = {name: trace.tracks.column(name).to_pylist() for name in ("kind", "name")}
    trace = et.Trace({**trace.tables, "tracks": {**columns, "pid": [1, 2, 3]}}, trace.metadata)
    found = samples(trace)
    assert [(row.thread, row.running, row.waiting) for row in found.threads] == [
        ("MainThread of process 2", 100 * MS, 0),
        ("MainThread of process 3", 100 * MS, 0),
        ("MainThread", 0, 100 * MS),
    ]
    text = as_text(render_report(gather(trace, "t")))
    assert "f (a.py:3) ran 200 ms by itself, on 2 threads within 100 ms." in text
    assert "The main thread waited 100 ms (100 %)" in text


def test_what_the_recording_imports_is_under_its_name() -> None:
    own = ("<module>", str(Path(et.__file__).parent / "integrations" / "torch" / "_session.py"), 1)
    (row,) = samples(trace_of([(10, 0, [own, IMPORT, MAIN], False), (20, 0, [own, IMPORT, MAIN], False)])).imports
    assert row.module == "eventide"
