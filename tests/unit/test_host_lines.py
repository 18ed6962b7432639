"""Hand-over between host threads: inferred where one is silent while the other works, marked, and not inferred else."""

from __future__ import annotations

import pytest

import eventide as et
from eventide.analysis import View, critical_path, idle
from eventide.analysis._host_lines import host_lines
from eventide.analysis._path_graph import HOST, graph_of
from eventide.analysis.schedule._dependencies import network_of
from tests.kineto_files import real_trace
from tests.trace_builder import Builder

MS = 1_000_000


def taking_turns(*, turns: int = 2, late: int = 10_000, first: int = 1, arrow: bool = False) -> Builder:
    """Two threads work for 1 ms each in turn, the second one after the first; each launches 100 us of work."""
    b, at = Builder(), 0
    for turn in range(2 * turns):
        tid = first + turn % 2
        row = b.span(b.thread(tid), f"part of {tid}", at, at + MS)
        b.launch((at + 10_000, at + 20_000), "gemm", at + 20_000, at + 120_000, tid=tid)
        if arrow and turn == 1:
            b.edge("fwdbwd", 0, row)
        at += MS + late
    return b


def lines(b: Builder) -> list[list[int]]:
    found = host_lines(View(b.trace()))
    return sorted(found.threads.values())


def test_threads_that_take_turns_are_tied_and_the_path_has_no_unrecorded_time_but_the_hand_overs():
    found = critical_path(taking_turns().trace())
    assert found.kinds["unrecorded host"] == 3 * 10_000
    assert found.inferred == 3
    names = [
        name
        for name, inferred in zip(*(found.table.column(c).to_pylist() for c in ("name", "inferred")), strict=True)
        if inferred
    ]
    assert names == ["part of 2", "part of 1", "part of 2"]


def test_edges_of_hand_overs_are_marked_in_the_graph_and_others_are_not():
    graph = graph_of(View(taking_turns().trace()))
    marked = {edge.link: int(edge.inferred.sum()) for edge in graph.edges}
    assert marked.pop(HOST) == 3
    assert set(marked.values()) == {0}
    assert all(len(edge.inferred) == len(edge.time) == len(edge.source) for edge in graph.edges)


def test_a_hand_over_is_an_inferred_edge_of_the_replay_too():
    table = network_of(View(taking_turns().trace())).to_arrow()
    found = [
        kind
        for kind, origin in zip(*(table.column(c).to_pylist() for c in ("kind", "origin")), strict=True)
        if origin == "inferred"
    ]
    assert found == ["host"] * 3


def test_arrows_of_the_trace_tie_threads_without_an_inference():
    b = taking_turns(arrow=True)
    assert len(lines(b)) == 1
    assert critical_path(b.trace()).inferred == 0


def overlapping() -> Builder:
    b = taking_turns()
    b.span(b.thread(1), "beside", MS + 10_000, MS + 10_000 + 300_000)
    return b


def one_way() -> Builder:
    """The second thread works once, after the first; the first never continues."""
    return taking_turns(turns=1)


def with_a_long_pause() -> Builder:
    return taking_turns(late=MS)


def other_process() -> Builder:
    b, at = Builder(), 0
    for turn in range(4):
        b.span(b.thread(1, 1 + turn % 2), "part", at, at + MS)
        at += MS
    return b


@pytest.mark.parametrize("made", [overlapping, one_way, with_a_long_pause, other_process])
def test_threads_that_do_not_take_turns_are_not_tied(made):
    assert len(lines(made())) == 2


def test_threads_of_a_pool_are_not_tied():
    view = View(et.open_trace(real_trace("mtia_inference")))
    assert {len(threads) for threads in host_lines(view).threads.values()} == {1}


@pytest.mark.parametrize(("name", "share"), [("nvidia_resnet50_loader0", 0.08), ("nvidia_resnet50_loader4", 0.13)])
def test_without_arrows_backward_is_on_the_path_of_the_thread_that_called_it(name, share):
    found = critical_path(et.open_trace(real_trace(name)))
    assert found.kinds["unrecorded host"] < share * found.wall  # 80 % and 69 % where the threads are not tied
    assert found.inferred > 0


def test_the_name_of_a_gap_is_what_fills_it():
    worst = idle(et.open_trace(real_trace("nvidia_resnet50_loader0"))).worst(5, "host late")
    assert [gap.host_op for gap in worst] == ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"] * 5


@pytest.mark.parametrize(
    ("spans", "named"),
    [
        ([("a", 100, 700), ("b", 380, 420)], "a"),  # b is in the middle, and short
        ([("outer", 100, 890), ("inner", 100, 600)], "inner"),  # the innermost of those that fill over half
        ([("many", at, at + 45) for at in range(100, 850, 50)], "many"),
        ([("next", 0, 890), ("shift", 110, 700), ("next", 710, 712)], "shift"),  # a short one of a name that is around
        ([("a", 100, 400), ("b", 400, 800)], "b"),
        ([("a", 100, 300)], None),  # nothing recorded fills half of it
    ],
)
def test_the_filler_of_a_gap(spans, named):
    b = Builder()
    b.launch((0, 2), "gemm", 2, 100)
    for name, start, end in spans:
        b.span(b.thread(), name, start, end)
    b.launch((890, 900), "gemm", 900, 1000)
    (gap,) = idle(b.trace()).worst(1, "host late")
    assert gap.host_op == named


def test_a_gap_that_another_thread_fills_names_it_and_is_inferred():
    b = taking_turns(turns=3)
    gaps = idle(b.trace()).worst(9, "host late")
    assert {gap.host_op for gap in gaps} == {"part of 1", "part of 2"}
    found = {(gap.host_op, gap.thread, gap.inferred) for gap in gaps if gap.causes["host late"] > 800_000}
    assert found == {("part of 1", "thread 1", True), ("part of 2", "thread 2", True)}
