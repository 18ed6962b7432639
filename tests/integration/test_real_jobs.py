"""Real jobs: eight ranks of DLRM against plain Python, two ranks that do not fit, and the published job of a paper."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from collections import defaultdict

import numpy as np
import pyarrow.parquet as pq
import pytest

from eventide.cli import main
from eventide.jobs import Operations, answer, import_job, open_job, what_if
from tests.integration.processes import ROOT

SHARED = ROOT.parent / "shared"
DLRM = sorted((SHARED / "traces" / "nvidia_dlrm_8ranks").glob("rank*.json.gz"))
SAMPLED = sorted((SHARED / "traces").glob("nvidia_sampled_rank*.json.gz"))
PUBLISHED = SHARED / "straggler"
needs_traces = pytest.mark.skipif(not DLRM, reason="needs the folder of real traces, ../shared/traces")
needs_job = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="needs the published job, ../shared/straggler")


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


# --- the published job: its format, and its dependencies as its pipeline has them -----------------------------------
GROUPS = {"params-all-gather": "stage", "grads-reduce-scatter": "stage", "embedding-grads-all-reduce": "dp_rank",
          "optimizer-clip-main-grad": None, "layernorm-grads-all-reduce": "rank"}  # fmt: skip
PASS = ("forward", "backward")


def read_published():
    rows = pq.read_table(PUBLISHED / "trace-ST.parquet").to_pylist()
    rows.sort(key=lambda row: (row["step"], row["start_ts"]))
    gangs = defaultdict(list)
    for number, row in enumerate(rows):
        if (gang := _gang(row)) is not None:
            gangs[row["step"], *gang].append(number)
    start = np.array([row["start_ts"] for row in rows], float)
    duration = np.array([row["duration"] for row in rows], float)
    transfer, gang = duration.copy(), np.full(len(rows), -1, np.int64)
    for number, members in enumerate(gangs.values()):
        transfer[members] = (start + duration)[members] - start[members].max()
        gang[members] = number
    kinds = sorted({row["optype"] for row in rows})
    before, after = zip(*_dependencies(rows), strict=True)
    columns = {name: np.array([row[name] for row in rows], np.int64) for name in ("rank", "stage", "step", "dp_rank")}
    kind = np.array([kinds.index(row["optype"]) for row in rows], np.int64)
    ops = Operations(
        transfer, kind, tuple(kinds), columns["dp_rank"] * 4 + columns["stage"], columns["stage"], columns["step"],
        gang, np.array(before), np.array(after),
    )  # fmt: skip
    return ops, columns["dp_rank"]


def _gang(row):
    kind, stage = row["optype"], row["stage"]
    if kind in {"forward-send", "backward-recv"}:
        return kind.split("-")[0], row["dp_rank"], stage, stage + 1, row["seq_id"]
    if kind in {"forward-recv", "backward-send"}:
        return kind.split("-")[0], row["dp_rank"], stage - 1, stage, row["seq_id"]
    if kind in GROUPS:
        members = GROUPS[kind]
        return kind, (row["stage"], row["dp_rank"]) if members == "rank" else row[members] if members else None
    return None


def _dependencies(rows):
    named = {(r["step"], r["dp_rank"], r["stage"], r["optype"], r["seq_id"]): n for n, r in enumerate(rows)}
    computing = defaultdict(list)
    for number, row in enumerate(rows):
        if row["optype"].endswith("ward-compute"):
            computing[row["step"], row["dp_rank"], row["stage"]].append(number)
    for worker, numbers in computing.items():
        of = lambda kind, number=0, worker=worker: named.get((*worker, kind, number))  # noqa: E731
        pairs = [*itertools.pairwise(numbers)]
        for number in numbers:
            way, sequence = rows[number]["optype"].split("-")[0], rows[number]["seq_id"]
            pairs += [(of(f"{way}-recv", sequence), number), (number, of(f"{way}-send", sequence))]
            if sequence:
                pairs.append((of(f"{way}-compute", sequence - 1), of(f"{way}-recv", sequence)))
        gathered = of("params-all-gather")
        pairs += [(gathered, numbers[0]), (gathered, of("forward-recv"))]
        ends = ("gc", "layernorm-grads-all-reduce", "embedding-grads-all-reduce", "grads-reduce-scatter",
                "optimizer-clip-main-grad", "optimizer")  # fmt: skip
        pairs += itertools.pairwise([numbers[-1], *(found for kind in ends if (found := of(kind)) is not None)])
        yield from ((one, other) for one, other in pairs if one is not None and other is not None)


@needs_job
def test_the_published_slowdown_is_reproduced_within_half_a_percent():
    ops, dp_rank = read_published()
    found = what_if(ops)
    published = json.loads((PUBLISHED / "result-ST.json").read_text("utf-8"))
    close = lambda value: pytest.approx(value, rel=0.005)  # noqa: E731
    assert found.slowdown == close(published["blocking_slowdown"]) == close(1.1787)
    for shares, key in ((found.stages, "stage"), (found.operations, "optype")):
        expected = published[f"blocking_decompose_by_{key}"]
        for share in shares:
            if share.name in expected:
                assert share.slowdown == close(expected[share.name]), share.name
    assert dict(found.steps) == {int(step): close(value) for step, value in published["blocking_step_slowdown"].items()}
    stages, workers = (json.loads((PUBLISHED / f"{name}-ST.json").read_text("utf-8")) for name in ("ms", "mw"))
    assert found.explained_by_last_stage == close(stages["Ms"])
    assert found.explained_by_slowest_ranks == close(workers["Mw"])
    assert (found.actual, found.ideal) == (close(stages["tori"]), close(stages["tideal"]))
    # The two columns of workers, as the artifact has them.
    columns = what_if(Operations(**{**vars(ops), "rank": dp_rank}))
    for share in columns.ranks:
        assert share.slowdown == close(published["blocking_decompose_by_dp_rank"][share.name])
    assert math.isclose(found.ranks[0].slowdown, workers["tadd"] / workers["tideal"], rel_tol=0.005)
