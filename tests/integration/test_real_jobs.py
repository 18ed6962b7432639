"""Real jobs: eight ranks of DLRM against plain Python, and two ranks that do not fit."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict

import pytest

from eventide.cli import main
from eventide.jobs import answer, import_job, open_job
from tests.integration.processes import ROOT

SHARED = ROOT.parent / "shared"
DLRM = sorted((SHARED / "traces" / "nvidia_dlrm_8ranks").glob("rank*.json.gz"))
SAMPLED = sorted((SHARED / "traces").glob("nvidia_sampled_rank*.json.gz"))
needs_traces = pytest.mark.skipif(not DLRM, reason="needs the folder of real traces, ../shared/traces")


@needs_traces
def test_eight_ranks_of_a_real_job_against_plain_python(tmp_path):
    import_job(DLRM, tmp_path / "job", processes=1)
    report = answer(open_job(tmp_path / "job"))
    assert (report.ranks, report.world_size, report.clocks.unaligned) == (8, 8, [])
    # From the raw files: the collectives are kernels of NCCL, in one order, on ranks of one host with one clock.
    raw = [_nccl(path) for path in DLRM]
    assert {len(rows) for rows in raw} == {8} == {len(report.waiting.rows)}
    cost = defaultdict(float)
    for number, row in enumerate(report.waiting.rows):
        starts = [rows[number][0] for rows in raw]
        last = max(starts)
        waits = [1e3 * min(last - start, length) for start, length in (rows[number] for rows in raw)]
        cost[starts.index(last)] += sum(waits)
        assert row.ranks == 8
        assert abs(row.waiting - sum(waits)) <= 8 * row.error
        assert row.shortest == 1e3 * min(rows[number][1] for rows in raw)
        if row.resolved != "no":
            assert row.last == starts.index(last)
        for rank, clock in enumerate(report.clocks.ranks):
            assert clock.rank == rank
            assert clock.error <= 2 * clock.half_width + 1
    worst = report.waiting.ranks[0]
    assert worst.rank == max(cost, key=cost.__getitem__) == 7
    assert worst.cost == pytest.approx(cost[7], rel=0.02)
    assert report.waiting.total == pytest.approx(sum(cost.values()), rel=0.02)


@needs_traces
def test_the_bounds_of_a_real_job_are_those_of_plain_python_and_hold_the_truth(tmp_path):
    """The ranks ran on one host: the truth is an offset of nothing but the conversion of the devices' clocks."""
    import_job(DLRM, tmp_path / "job", processes=1)
    clocks = answer(open_job(tmp_path / "job")).clocks
    raw = [_nccl(path) for path in DLRM]
    for clock in clocks.ranks:
        if clock.rank == clocks.reference:
            continue
        pairs = list(zip(raw[clock.rank], raw[clocks.reference], strict=True))
        low = max(start - (other + length + 2) for (start, _), (other, length) in pairs) - 1
        high = min(start + length + 2 - (other - 1) for (start, length), (other, _) in pairs)
        assert low <= 0 <= high
        # Those of the pair alone, without drift, are wider than those of all ranks and narrower than those with drift.
        assert clock.half_width <= 1e3 * (high - low) / 2 + 200e-6 * 20e6
        assert 1e3 * low - 5000 <= clock.offset <= 1e3 * high + 5000
        assert abs(clock.offset) <= clock.error
        assert abs(clock.offset) < 8000  # all leave together, and the clocks are in whole microseconds


def _nccl(path):
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    rows = [(event["ts"], event["dur"]) for event in events if event.get("cat") == "kernel" and "nccl" in event["name"]]
    return sorted(rows)


@needs_traces
def test_two_ranks_of_which_events_are_missing_are_refused_with_the_pair(tmp_path, capsys):
    assert len(SAMPLED) == 2
    command = ["job", "import", *map(str, SAMPLED), "-o", str(tmp_path / "job"), "--processes", "1"]
    assert main(command) == 2
    assert "the collectives of ranks 0 and 1 do not fit" in " ".join(capsys.readouterr().err.split())
    assert main(["job", "report", str(tmp_path / "job")]) == 2


@needs_traces
def test_without_the_names_of_collectives_the_clocks_refuse_them(tmp_path, capsys):
    for path in SAMPLED:
        with gzip.open(path) as file:
            trace = json.load(file)
        trace["traceEvents"] = [e for e in trace["traceEvents"] if not str(e.get("name")).startswith("nccl:")]
        for event in trace["traceEvents"]:  # all are all-to-all for all that is known
            event["name"] = str(event.get("name")).replace("ncclKernel_SendRecv", "ncclKernel_AllToAll")
        (tmp_path / path.name.removesuffix(".gz")).write_text(json.dumps(trace), "utf-8")
    assert main(["job", "import", str(tmp_path), "-o", str(tmp_path / "job"), "--processes", "1"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "ranks 0 and 1 do not fit: no offset of their clocks satisfies both all_to_all" in error
