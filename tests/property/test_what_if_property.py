"""Random traces, also ones that no program makes: the replay keeps its dependencies, and edits keep their promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eventide import UsageValueError, analysis
from eventide.analysis import View
from eventide.analysis.schedule._replay import model_of
from tests.reference.schedule import binding_of, schedule_of
from tests.trace_builder import Builder

Draw = Callable[[st.SearchStrategy[Any]], Any]
CALLS = ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamWaitEvent", "cudaStreamSynchronize", "aten::add", "step")
WORKS = ("gemm", "gemm", "Memcpy DtoH (Device -> Pageable)", "ncclKernel_AllReduce")
CATEGORIES = {"Memcpy DtoH (Device -> Pageable)": "copy", "ncclKernel_AllReduce": "communication"}


@st.composite
def builders(draw: Draw) -> Builder:
    """Threads of two processes, streams of two devices; spans of no length or without an end, edges back in time."""
    b = Builder()
    unit = draw(st.sampled_from([1, 1_000, 100_000]))
    time, length = st.integers(-5, 40), st.integers(0, 12)
    for _ in range(draw(st.integers(0, 8))):
        start, name = draw(time), draw(st.sampled_from(CALLS))
        category = {"aten::add": "op", "step": "step"}.get(name, "sync" if name.endswith("Synchronize") else "runtime")
        end = None if draw(st.integers(0, 9)) == 0 else (start + draw(length)) * unit
        thread = draw(st.integers(1, 3))
        b.span(b.thread(thread, pid=1 + thread // 3), name, start * unit, end, category)
    for _ in range(draw(st.integers(0, 8))):
        name, asked, start = draw(st.sampled_from(WORKS)), draw(time), draw(time)
        device = draw(st.sampled_from(["cuda:0", "cuda:1"]))
        track = b.stream(draw(st.sampled_from([7, 20])), device)
        work = b.span(track, name, start * unit, (start + draw(length)) * unit, CATEGORIES.get(name, "kernel"))
        if draw(st.integers(0, 3)):
            call = b.call("cudaLaunchKernel", asked * unit, (asked + draw(length)) * unit, tid=draw(st.integers(1, 2)))
            b.edge("launch", call, work)
    rows = len(b._spans)
    for _ in range(draw(st.integers(0, 6)) if rows else 0):
        kind = draw(st.sampled_from(["wait", "synchronize", "launch", "fwdbwd"]))
        b.edge(kind, draw(st.integers(0, rows - 1)), draw(st.integers(0, rows - 1)))
    return b


@given(builders())
def test_the_replay_of_any_trace_keeps_its_dependencies_and_is_the_one_made_by_hand(b):
    view = View(b.trace())
    model = model_of(view)
    links, lag, found = model.network.links, model.lag, model.schedule
    assert (found.start[links.target] >= found.end[links.source] + lag).all()
    edges = list(zip(links.source.tolist(), links.target.tolist(), lag.tolist(), strict=True))
    duration, release = model.network.duration.tolist(), [view.window[0]] * len(found.start)
    assert found.start.tolist() == schedule_of(edges, duration, release)
    assert found.binding.tolist() == binding_of(edges, found.start.tolist(), duration, release)
    assert np.isin(links.origin, range(3)).all()
    analysis.replay(view)


KEEP = [analysis.scale("*", 1), analysis.launch_cost(1)]
LESS = [
    analysis.scale("*", 0.5), analysis.scale("*", 0), analysis.remove("*"), analysis.remove("gemm"),
    analysis.remove("cuda*"), analysis.drop_wait(), analysis.drop_sync(), analysis.launch_cost(0),
    analysis.faster_copies(3), analysis.fuse("*"),
]  # fmt: skip
OTHER = [
    analysis.scale("*", 7), analysis.queue_depth(1), analysis.add_streams(2), analysis.move("gemm", "new"),
    analysis.overlap("gemm", "*"), analysis.move("*", "20"), analysis.scale("aten::add", 3),
]  # fmt: skip


@given(builders(), st.lists(st.sampled_from([*KEEP, *LESS, *OTHER]), min_size=1, max_size=3))
def test_an_edit_of_any_trace_keeps_its_promise(b, edits):
    trace = b.trace()
    try:
        found = analysis.what_if(trace, *edits)
    except UsageValueError as error:
        assert any(words in str(error) for words in ("the trace", "has no stream"))
        return
    assert found.low <= found.predicted <= found.high
    if set(edits) <= set(KEEP):
        assert found.saved == 0
    if set(edits) <= {*KEEP, *LESS}:
        assert found.saved >= 0
    found.trace.check()
    str(found)


@given(builders())
def test_best_edits_of_any_trace_are_in_order_and_within_their_intervals(b):
    found = analysis.best_edits(b.trace())
    saved = [row.saved for row in found.rows]
    assert saved == sorted(saved, reverse=True)
    assert all(row.low <= row.saved <= row.high for row in found.rows)
    str(found)
