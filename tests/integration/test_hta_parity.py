"""Our answers beside those of HolisticTraceAnalysis 0.5.0 (HTA) on real traces; where they differ, which is right.

HTA keeps times as float64 microseconds since 1970, which resolve 0.25 us: RESOLUTION. It is run with its rounding to
whole microseconds off and with the last step kept.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from eventide.analysis import View, breakdown, critical_path, idle, summary
from eventide.analysis._host_calls import launches_of
from eventide.trace import Trace
from tests.integration.processes import ROOT, run

TRACES = ROOT.parent / "shared" / "traces"
WITH_PATH = ("nvidia_event_sync", "nvidia_simple_add", "nvidia_alexnet")
ALIKE = (
    "nvidia_training_rank0",
    "nvidia_compare_before",
    "nvidia_sampled_rank0",
    "nvidia_sampled_rank1",
    "amd_mi250_training",
)
EVERY = (*ALIKE, *WITH_PATH, "nvidia_compare_after", "mtia_inference", "nvidia_triton")
RESOLUTION = 250  # ns

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.timeout(170),  # the first test waits for HTA's process
    pytest.mark.skipif(not TRACES.is_dir(), reason="needs the folder of real traces, ../shared/traces"),
]


@cache
def hta() -> dict[str, Any]:
    """What HTA says about every trace; one process, since it takes seconds to import."""
    arguments = [("+" if name in WITH_PATH else "") + str(path_of(name)) for name in EVERY]
    child = run("hta_answers", *arguments, limit=150).check(0)
    found = json.loads(child.out.splitlines()[-1])
    return {Path(path).name.removesuffix(".json.gz"): answers for path, answers in found.items()}


def path_of(name: str) -> Path:
    return TRACES / f"{name}.json.gz"


@cache
def opened(name: str) -> Trace:
    return et.open_trace(path_of(name))


def near(theirs: float, ours: int, events: int = 1) -> bool:
    """Microseconds of theirs against nanoseconds of ours; each event may add two roundings."""
    return abs(theirs * 1000 - ours) <= 2 * RESOLUTION * events


def recategorized(name: str, *categories: str) -> Trace:
    """The trace with spans of these categories on stream tracks taken for kernels."""
    trace = opened(name)
    streams = {row for row, kind in enumerate(trace.tracks.column("kind").to_pylist()) if kind == "stream"}
    spans = trace.spans.to_pydict()
    rows = zip(spans["category"], spans["track"], strict=True)
    changed = ["kernel" if word in categories and track in streams else word for word, track in rows]
    return trace.replace(spans={**spans, "category": changed})


@pytest.mark.parametrize("name", ALIKE)
def test_compute_and_idle_time_agree(name):
    theirs = hta()[name]["temporal"]
    (device,) = breakdown(opened(name)).devices
    work = len(View(opened(name)).work_by_track)
    assert near(theirs["kernel_time(us)"], device.last - device.first, work)
    # They add up a rounded start and end for each busy stretch; a sum of n roundings grows with its root.
    many = max(10, int(device.whole.wall**0.25))
    assert near(theirs["compute_time(us)"], device.whole.any_of("compute"), many)
    assert near(theirs["idle_time(us)"], device.idle_between, many)


@pytest.mark.parametrize("name", ALIKE)
def test_kernel_totals_agree_name_by_name(name):
    theirs = hta()[name]["kernels"]
    ours: dict[str, tuple[int, int]] = {}
    for row in summary(opened(name)).device:
        total, count = ours.get(row.name, (0, 0))
        ours[row.name] = (total + row.total, count + row.count)
    assert {word: count for word, (_, count) in theirs.items()} == {word: count for word, (_, count) in ours.items()}
    for word, (total, count) in theirs.items():
        assert near(total, ours[word][0], count), word


@pytest.mark.parametrize("name", [*ALIKE, *WITH_PATH, "nvidia_compare_after"])
def test_idle_time_of_each_stream_that_waited_for_the_host_agrees(name):
    """HTA gives a whole gap to the host if its launch came after the gap began. Ours are split, but hold the times.

    A launch within HTA's resolution of the gap's start may fall on either side there.
    """
    theirs = {(stream, kind): time for stream, kind, time in hta()[name]["idle"]}
    gaps: dict[str, list[dict[str, Any]]] = {}
    for gap in idle(opened(name), "stream").table.to_pylist():
        gaps.setdefault(gap["stream"], []).append(gap)
    for stream, rows in gaps.items():
        inner = [gap for gap in rows[1:] if gap["next"] is not None and gap["submit"] is not None]
        late = sum(gap["duration"] for gap in inner if gap["submit"] > gap["start"])
        close = sum(gap["duration"] for gap in inner if abs(gap["submit"] - gap["start"]) <= 2 * RESOLUTION)
        allowed = close + 2 * RESOLUTION * len(inner)
        assert abs(theirs.get((int(stream), "host_wait"), 0.0) * 1000 - late) <= (allowed if close else 2 * RESOLUTION)


def test_work_whose_launch_is_not_in_the_trace_keeps_the_device_busy_here_and_not_there():
    """614 kernels of nvidia_compare_after ran with no launching call in the file. HTA drops them and takes that time
    for idle; the device was busy. Without them our figures are HTA's."""
    name = "nvidia_compare_after"
    theirs = hta()[name]["temporal"]
    (device,) = breakdown(opened(name)).devices
    assert device.idle_between < theirs["idle_time(us)"] * 1000
    view = View(opened(name))
    orphan = (view.bits > 0) & (launches_of(view).call < 0)
    assert int(orphan.sum()) == 614
    spans = view.trace.spans.to_pydict()
    spans["category"] = [
        "other" if lost else word for word, lost in zip(spans["category"], orphan.tolist(), strict=True)
    ]
    (without,) = breakdown(view.trace.replace(spans=spans)).devices
    assert without.idle_between == theirs["idle_time(us)"] * 1000
    assert without.whole.any_of("compute") == theirs["compute_time(us)"] * 1000


@pytest.mark.parametrize("name", ["nvidia_alexnet", "nvidia_simple_add"])
def test_synchronization_rows_are_not_work(name):
    """HTA takes the rows of cuda_sync for kernels, though nothing ran then."""
    theirs = hta()[name]["temporal"]
    (device,) = breakdown(opened(name)).devices
    assert device.whole.any_of("compute") < theirs["compute_time(us)"] * 1000
    wrong = recategorized(name, "sync", "wait")
    (taken,) = breakdown(wrong).devices
    kernels = sum(count for _, count in hta()[name]["kernels"].values())
    assert kernels > sum(row.count for row in summary(opened(name)).device)
    assert sum(row.count for row in summary(wrong).device) <= kernels
    assert taken.whole.any_of("compute") > device.whole.any_of("compute")


def test_waits_on_an_mtia_stream_are_not_work():
    """The device's event_wait rows are 352 ms of waiting; HTA takes them, and all markers, for computation."""
    theirs = hta()["mtia_inference"]["temporal"]
    (device,) = breakdown(opened("mtia_inference")).devices
    (taken,) = breakdown(recategorized("mtia_inference", "wait", "other")).devices
    assert near(theirs["idle_time(us)"], taken.idle_between, 100)
    assert near(theirs["compute_time(us)"], taken.whole.any_of("compute"), 100)
    assert device.whole.any_of("compute") < taken.whole.any_of("compute")


def test_an_operator_with_a_stream_in_its_arguments_is_not_a_kernel():
    """nvidia_triton has one kernel, 1.76 us; HTA adds the operator that launched it, since that names a stream too."""
    theirs = hta()["nvidia_triton"]["temporal"]
    (device,) = breakdown(opened("nvidia_triton")).devices
    assert (device.whole.busy, theirs["compute_time(us)"] > 90) == (1760, True)


@pytest.mark.parametrize("name", WITH_PATH)
def test_the_critical_path_is_htas_or_the_difference_is_explained_edge_by_edge(name):
    """Every edge of HTA's path is one of:

    same      our path is on the same event at the same time
    between   HTA gives no weight to host time between operators; ours names the annotation, or says unrecorded
    return    HTA gives no weight to the way from a kernel's end to the end of the synchronization; ours says so
    detour    HTA leaves the host for the device before a synchronization that blocked for nothing: the kernel had
              ended before the call began, so shortening it would not help. Its path has the larger weight only because
              the host's time between operators has none.
    """
    answers, view = hta()[name], View(opened(name))
    ours = _Pieces(view, round(answers["origin"]) * 1000)  # whole microseconds in these traces
    kinds = [ours.compare(edge) for edge in answers["path"]]
    assert kinds.count("same") > 0.75 * len([kind for kind in kinds if kind != "empty"])
    at = 0
    while at < len(kinds):
        if kinds[at] != "other":
            at += 1
            continue
        detour = []
        while at < len(kinds) and kinds[at] != "same":
            detour.append(answers["path"][at])
            at += 1
        joins = [edge for edge in detour if edge["type"] == "sync_dependency"]
        assert joins, detour
        assert not ours.blocked(joins[-1]), detour


class _Pieces:
    """Our critical path, to query by stretches of HTA's clock."""

    def __init__(self, view: View, origin: int) -> None:
        self.view, self.origin = view, origin
        self.rows = critical_path(view).table.to_pylist()
        self.starts = [row["start"] - origin for row in self.rows]

    def during(self, start: int, end: int) -> list[dict[str, Any]]:
        found = []
        for at in range(max(bisect_right(self.starts, start) - 1, 0), len(self.rows)):
            if self.starts[at] >= end:
                break
            if self.starts[at] + self.rows[at]["duration"] > start:
                found.append(self.rows[at])
        return found

    def compare(self, edge: dict[str, Any]) -> str:
        start, end = round(edge["start"] * 1000), round(edge["end"] * 1000)
        if end <= start:
            return "empty"
        found = self.during(start, end)
        kinds, names = {row["kind"] for row in found}, {row["name"] for row in found}
        link = {"kernel_launch_delay": "launch", "kernel_kernel_delay": "queued", "sync_dependency": "stream wait"}
        if edge["type"] == "operator" and names == {edge["name"]}:
            return "same"
        if kinds == {link.get(edge["type"])} and names == {edge["to"]}:
            return "same"
        if edge["type"] == "dependency" and kinds <= {"host", "unrecorded host"}:
            return "between"
        if edge["type"] == "sync_dependency" and kinds <= {"host", "unrecorded host", "sync return"}:
            return "return"
        return "other"

    def blocked(self, join: dict[str, Any]) -> bool:
        """Whether the call that HTA's edge ends at had begun before the work at its start was done."""
        done, over = round(join["start"] * 1000) + self.origin, round(join["end"] * 1000) + self.origin
        calls = [row for row in range(self.view.count) if self.view.word(row) == join["to"]]
        (call,) = [row for row in calls if int(self.view.end[row]) == over]
        return int(self.view.start[call]) < done
