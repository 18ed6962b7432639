"""Device activity from torch's profiler, without a device: raw events made of real files give the trace of the file.

Nothing here ran on a GPU: the files did. What torch delivers on a machine with a GPU is not tested.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

import eventide as et
from eventide.integrations.torch._kineto_events import Conversion
from tests.integration.processes import ROOT
from tests.kineto_event import PID, events_of

FOLDER = ROOT.parent / "shared" / "traces"
FILES = [
    ("nvidia_event_sync", "cuda", "CUDA"),
    ("nvidia_simple_add", "cuda", "CUDA"),
    ("nvidia_triton", "cuda", "CUDA"),
    ("nvidia_alexnet", "cuda", "CUDA"),
    ("nvidia_training_rank0", "cuda", "CUDA"),
    ("amd_mi250_training", "hip", "CUDA"),
    ("mtia_inference", "mtia", "MTIA"),
    ("cpu_only", "gpu", "CPU"),
]
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the folder of real traces, ../shared/traces")


@pytest.fixture(scope="module", params=FILES, ids=lambda one: one[0])
def both(request, tmp_path_factory) -> tuple[et.Trace, et.Trace]:
    """The trace that the file reader gives, and the recorded one."""
    name, kind, device = request.param
    path = FOLDER / f"{name}.json.gz"
    with et.Recorder(tmp_path_factory.mktemp("events") / "t.eventide") as recorder:
        Conversion(0, device=lambda _: kind, pid=PID).take(events_of(path, device))
    return et.open_trace(path), recorder.trace


def spans(trace: et.Trace) -> list[dict[str, Any]]:
    """All spans but the one that describes the file."""
    tracks = trace.tracks.to_pylist()
    rows = [{**row, "where": tracks[row["track"]]} for row in trace.spans.to_pylist()]
    return [row for row in rows if row["name"] != "PyTorch Profiler (0)"]


def place(track: dict[str, Any]) -> Any:
    if track["device"] is not None:
        return (track["kind"], track["device"], track["stream"])
    return (track["kind"], track["tid"])


def test_every_slice_has_the_same_time_track_and_category(both):
    of_file, recorded = both

    def rows_of(trace: et.Trace) -> Counter[Any]:
        keys = ("name", "start", "duration", "submit", "work")
        return Counter((category(row), *(row[key] for key in keys), place(row["where"])) for row in spans(trace))

    def category(row: dict[str, Any]) -> str:
        """In a recording, a collective of the host is communication; in torch's file it is an annotation."""
        return "communication" if row["name"].startswith("gloo:") else str(row["category"])

    assert rows_of(recorded) == rows_of(of_file)
    assert not any(recorded.metadata["account"]["dropped"].values())


def test_launches_waits_and_synchronizations_are_the_same_edges(both):
    of_file, recorded = both

    def rows_of(trace: et.Trace, kind: str) -> Counter[Any]:
        rows, names = trace.edges.to_pylist(), trace.spans.to_pylist()
        ends = ("from_span", "to_span")
        return Counter(
            (
                edge["from_time"],
                edge["to_time"],
                edge["event"],
                edge["version"],
                *((names[edge[end]]["name"], names[edge[end]]["start"]) for end in ends if kind != "fwdbwd"),
            )
            for edge in rows
            if edge["kind"] == kind
        )

    for kind in ("launch", "wait", "synchronize", "fwdbwd"):
        assert rows_of(recorded, kind) == rows_of(of_file, kind), kind


def test_the_recorded_trace_passes_the_check(both):
    both[1].check()


def test_arguments_of_kernels_are_kept(both):
    kinds = ("kernel", "copy", "wait", "sync", "communication")
    of_file, recorded = (
        [row for row in spans(trace) if row["category"] in kinds and row["where"]["device"]] for trace in both
    )
    rows_of = [
        Counter((row["name"], row["start"], json.dumps(json.loads(row["args"]), sort_keys=True)) for row in rows)
        for rows in (of_file, recorded)
    ]
    assert rows_of[1] == rows_of[0]
