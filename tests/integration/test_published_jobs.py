"""The published jobs of a paper: their format, their dependencies as their pipeline has them, and their figures.

"Understanding Stragglers in Large Model Training Using What-if Analysis" (ByteDance, 2025). A folder holds for each job
`trace-NAME.parquet` (one row an operation), `result-NAME.json`, `ms-NAME.json` and `mw-NAME.json` (stage and workers).
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eventide.jobs import Operations, Replay, typical, what_if
from tests.integration.processes import ROOT
from tests.reference.jobs import replay

FOLDER = ROOT.parent / "shared" / "straggler"
JOBS = sorted(path.stem.removeprefix("trace-") for path in FOLDER.glob("trace-*.parquet"))
GROUPS = {"params-all-gather": "stage", "grads-reduce-scatter": "stage", "embedding-grads-all-reduce": "dp_rank",
          "optimizer-clip-main-grad": None, "layernorm-grads-all-reduce": "rank"}  # fmt: skip
PASS = ("forward", "backward")


def read_published(path: Path, only: set[int] | None = None) -> tuple[Operations, np.ndarray]:
    """The operations (`only`: of these steps), and the column of workers (data parallel rank) of each."""
    rows = [row for row in pq.read_table(path).to_pylist() if only is None or row["step"] in only]
    rows.sort(key=lambda row: (row["step"], row["start_ts"]))
    stages = 1 + max(row["stage"] for row in rows)
    gangs = defaultdict(list)
    for number, row in enumerate(rows):
        if (gang := _gang(row, stages)) is not None:
            gangs[row["step"], *gang].append(number)
    start = np.array([row["start_ts"] for row in rows], float)
    duration = np.array([row["duration"] for row in rows], float)
    transfer, gang = duration.copy(), np.full(len(rows), -1, np.int64)
    for number, members in enumerate(gangs.values()):
        transfer[members] = np.maximum((start + duration)[members] - start[members].max(), 0.0)
        gang[members] = number
    kinds = sorted({row["optype"] for row in rows})
    before, after = zip(*_dependencies(rows), strict=True)
    columns = {name: np.array([row[name] for row in rows], np.int64) for name in ("rank", "stage", "step", "dp_rank")}
    kind = np.array([kinds.index(row["optype"]) for row in rows], np.int64)
    ops = Operations(
        transfer, kind, tuple(kinds), columns["rank"], columns["stage"], columns["step"], gang, np.array(before),
        np.array(after),
    )  # fmt: skip
    return ops, columns["dp_rank"]


def _gang(row, stages):
    """With several model chunks a stage the last stage sends to the first one."""
    kind, stage = row["optype"], row["stage"]
    if kind in {"forward-send", "backward-recv"}:
        return kind.split("-")[0], row["dp_rank"], stage, row["seq_id"]
    if kind in {"forward-recv", "backward-send"}:
        return kind.split("-")[0], row["dp_rank"], (stage - 1) % stages, row["seq_id"]
    if kind in GROUPS:
        members = GROUPS[kind]
        who = (row["stage"], row["dp_rank"]) if members == "rank" else row[members] if members else None
        return kind, who, row["mc"], row["seq_id"]
    return None


ENDS = ("gc", "layernorm-grads-all-reduce", "embedding-grads-all-reduce", "grads-reduce-scatter",
        "optimizer-clip-main-grad", "optimizer")  # fmt: skip


def _dependencies(rows):
    of = defaultdict(list)  # by worker and kind, in the order of their numbers
    for number in sorted(range(len(rows)), key=lambda number: (rows[number]["seq_id"], rows[number]["mc"])):
        row = rows[number]
        of[(row["step"], row["dp_rank"], row["stage"]), row["optype"]].append(number)
    chunk = lambda number: (rows[number]["mc"], rows[number]["stage"])  # noqa: E731
    computing = [number for number, row in enumerate(rows) if row["optype"].endswith("ward-compute")]
    first, last = min(map(chunk, computing)), max(map(chunk, computing))
    for worker in {worker for worker, _ in of}:
        ways = {way: of[worker, f"{way}-compute"] for way in PASS}
        numbers = sorted(itertools.chain(*ways.values()))  # rows are by start
        yield from itertools.pairwise(numbers)
        for way, (source, sink) in zip(PASS, ((first, last), (last, first)), strict=True):
            fed = [(place, number) for place, number in enumerate(ways[way]) if chunk(number) != source]
            for receive, (place, number) in _paired(rows, of[worker, f"{way}-recv"], fed):
                yield receive, number
                if place:
                    yield ways[way][place - 1], receive
            feeding = [(place, number) for place, number in enumerate(ways[way]) if chunk(number) != sink]
            yield from ((number, send) for send, (_, number) in _paired(rows, of[worker, f"{way}-send"], feeding))
        for gathered in of[worker, "params-all-gather"]:
            yield from ((gathered, number) for number in ways["forward"] if rows[number]["mc"] == rows[gathered]["mc"])
            yield from ((gathered, receive) for receive in of[worker, "forward-recv"][:1])
        yield from itertools.pairwise([*numbers[-1:], *itertools.chain(*(of[worker, kind] for kind in ENDS))])


def _paired(rows, transfers, computing):
    """By their order, or if some are missing by their number."""
    if len(transfers) == len(computing):
        return zip(transfers, computing, strict=True)
    named = {rows[number]["seq_id"]: (place, number) for place, number in computing}
    return [(each, named[rows[each]["seq_id"]]) for each in transfers if rows[each]["seq_id"] in named]


def close(value):
    """Half a percent, or of nearly nothing a thousandth of the slowdown."""
    return pytest.approx(value, rel=0.005, abs=1e-4 if abs(value) < 0.01 else 0)


@pytest.mark.parametrize(
    "name",
    JOBS or [pytest.param("", marks=pytest.mark.skip(reason="needs the published job, ../shared/straggler"))],
)
def test_the_published_slowdown_is_reproduced_within_half_a_percent(name):
    compare(FOLDER, name)


def test_the_known_job_is_among_them():
    if not JOBS:
        pytest.skip("needs the published job, ../shared/straggler")
    ops, _ = read_published(FOLDER / "trace-ST.parquet")
    assert what_if(ops).slowdown == close(1.1787)


def compare(folder, name):
    files = (folder / f"{kind}-{name}.json" for kind in ("result", "ms", "mw"))
    result, stages, workers = (json.loads(file.read_text("utf-8")) for file in files)
    ops, dp_rank = read_published(
        folder / f"trace-{name}.parquet", {int(step) for step in result["blocking_step_slowdown"]}
    )
    found = what_if(ops)
    assert found.slowdown == close(result["blocking_slowdown"])
    assert (found.actual, found.ideal) == (close(stages["tori"]), close(stages["tideal"]))
    assert dict(found.steps) == {int(step): close(value) for step, value in result["blocking_step_slowdown"].items()}
    assert found.explained_by_last_stage == close(stages["Ms"])
    # The artifact has columns of workers instead of workers, and sends and receives of one way as one operation.
    names = [f"{kind.split('-')[0]}-pp-comm" if kind.endswith(("-send", "-recv")) else kind for kind in ops.kinds]
    kinds = sorted(set(names))
    kind = np.array([kinds.index(each) for each in names])[ops.kind]
    theirs = what_if(replace(ops, rank=dp_rank, kind=kind, kinds=tuple(kinds)), typical(ops))
    for shares, key in ((theirs.stages, "stage"), (theirs.operations, "optype"), (theirs.ranks, "dp_rank")):
        expected = result[f"blocking_decompose_by_{key}"]
        of = {share.name: share.slowdown for share in shares}
        assert {each: of[each] for each in expected} == {each: close(value) for each, value in expected.items()}
    explains, alone = slowest_workers(ops, dp_rank, result)
    assert (explains, alone) == (close(workers["Mw"]), close(workers["tadd"]))
    # The artifact estimates the slowdown of a worker by the smaller one of its column and its stage. A replay of each
    # worker by itself finds workers that explain as much or more.
    assert found.explained_by_slowest_ranks >= explains * 0.995


def slowest_workers(ops, dp_rank, result):
    """What the slowest 3 % of the workers explain, and the time with only them real, by the artifact's estimate."""
    columns, stages = (result[f"blocking_decompose_by_{key}"] for key in ("dp_rank", "stage"))
    where = {int(rank): (str(dp), str(stage)) for rank, dp, stage in zip(ops.rank, dp_rank, ops.stage, strict=True)}
    score = {rank: min(columns[dp], stages[stage]) for rank, (dp, stage) in where.items()}
    chosen = sorted(score, key=lambda rank: (-score[rank], rank))[: math.ceil(len(score) * 0.03)]
    slow, base = np.isin(ops.rank, chosen), typical(ops)
    scenarios = [ops.duration, base, np.where(slow, base, ops.duration), np.where(slow, ops.duration, base)]
    actual, ideal, without, alone = Replay(ops).lengths(np.stack(scenarios))[1].mean(1)
    return (actual - without) / (actual - ideal), alone


STAGES, CHUNKS, BATCHES = 2, 2, 3


def interleaved(path):
    """A job of two columns of two stages with two model chunks each, whose times are those of a plain-Python replay."""
    rows, edges, gangs, lasts = [], [], [], []

    def add(where, kind, about, gang=None, after=()):
        dp, stage = where
        sequence = sum(row["optype"] == kind and (row["dp_rank"], row["stage"]) == where for row in rows)
        own = {"dp_rank": dp, "stage": stage, "rank": dp * STAGES + stage, "step": 7, "optype": kind}
        rows.append({**own, "mc": -1, "mb_id": -1, "gmc": -1, "seq_id": sequence, **about})
        gangs.append(gang)
        lasts.append(3.0 + 2 * (where == (1, 0)) if kind.endswith("compute") else 0.5)
        edges.extend((one, len(rows) - 1) for one in after)
        return len(rows) - 1

    for where in itertools.product(range(2), range(STAGES)):
        before = []
        gathered = {
            mc: add(where, "params-all-gather", {"mc": mc, "seq_id": 0}, ("gather", where[1], mc))
            for mc in range(CHUNKS)
        }
        for way, chunks in zip(PASS, (range(CHUNKS), reversed(range(CHUNKS))), strict=True):
            source, sink = (0, STAGES * CHUNKS - 1) if way == "forward" else (STAGES * CHUNKS - 1, 0)
            previous = []
            for mc, batch in itertools.product(chunks, range(BATCHES)):
                place = mc * STAGES + where[1]
                link = lambda at, way=way, batch=batch, dp=where[0]: (way, dp, batch, at)  # noqa: E731
                onward = 1 if way == "forward" else -1
                needs = [*before, *([gathered[mc]] if way == "forward" else [])]
                if place != source:
                    # A transfer has the number of the place that it leads to.
                    first = [gathered[0]] if way == "forward" and not previous else []
                    needs.append(add(where, f"{way}-recv", {}, link(place), [*previous, *first]))
                about = {"mc": mc, "mb_id": batch, "gmc": place}
                before = previous = [add(where, f"{way}-compute", about, None, needs)]
                if place != sink:
                    add(where, f"{way}-send", {}, link(place + onward), before)
        for mc in range(CHUNKS):
            about = {"mc": mc, "seq_id": 0}
            before = [add(where, "grads-reduce-scatter", about, ("scatter", where[1], mc), before)]
        add(where, "optimizer", {}, None, before)
    number = {gang: place for place, gang in enumerate(dict.fromkeys(gangs)) if gang is not None}
    ends = replay(lasts, edges, [number.get(gang, -1) for gang in gangs])
    for place, row in enumerate(rows):
        start = max((ends[one] for one, other in edges if other == place), default=0.0)
        row.update(start_ts=start, duration=ends[place] - start)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return lasts, max(ends)


def test_a_job_with_several_model_chunks_a_stage_is_replayed_as_it_ran(tmp_path):
    lasts, length = interleaved(tmp_path / "trace-X.parquet")
    ops, _ = read_published(tmp_path / "trace-X.parquet")
    assert sorted(ops.duration) == pytest.approx(sorted(lasts))
    found = what_if(ops)
    assert found.actual == pytest.approx(length)
    assert found.ranks[0].name == "2"  # column 1, stage 0
    assert found.slowdown > 1.1
