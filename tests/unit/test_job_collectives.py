"""What a collective of a Kineto trace is: who provides, who receives, and what names it on every rank."""

from __future__ import annotations

import json

import pytest

from eventide.jobs import import_job, open_job

NCCL = "ncclDevKernel_{}(ncclDevComm*)"


def collectives(folder, rank, kernel, call=None):
    """Of a trace with one kernel, and the operator record_param_comms around its launch."""
    where = {"pid": 7, "tid": 7}
    events = [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 14, "dur": 2, **where,
         "args": {"correlation": 1}},
        {"ph": "X", "cat": "kernel", "name": NCCL.format("Any"), "ts": 30, "dur": 9, "pid": 0, "tid": 20,
         "args": {"correlation": 1, "stream": 20, "device": 0, **kernel}},
    ]  # fmt: skip
    if call is not None:
        events.insert(0, {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 10, "dur": 9, **where,
                          "args": {"Input Dims": [[[5]], []], **call}})  # fmt: skip
    trace = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 8}, "traceEvents": events}
    (folder / f"rank{rank}.json").write_text(json.dumps(trace), "utf-8")
    import_job(folder / f"rank{rank}.json", folder / f"job{rank}", processes=1)
    return open_job(folder / f"job{rank}").collectives.to_pylist()


BOTH, PROVIDES, RECEIVES, NEITHER = (True, True), (True, False), (False, True), (False, False)
GROUP = {"Process Group Ranks": "[2, 4, 6]", "Process Group Name": "5"}


@pytest.mark.parametrize(
    ("rank", "about", "expected"),
    [
        (4, {"Collective name": "allreduce"}, BOTH),
        (4, {"Collective name": "allreduce", "In msg nelems": 0, "Out msg nelems": 0, "dtype": "Float"}, NEITHER),
        (4, {"Collective name": "all_to_allv", "In split size": "[3, 2, 1]"}, BOTH),
        (4, {"Collective name": "all_to_allv", "In split size": "[3, 0, 1]"}, NEITHER),
        (4, {"Collective name": "all_to_allv", "Out split size": "[3, 2, ...]"}, NEITHER),
        (4, {"Collective name": "broadcast", "Rank": 1}, PROVIDES),  # the place in the group: rank 4
        (2, {"Collective name": "broadcast", "Rank": 1}, RECEIVES),
        (4, {"Collective name": "reduce", "Rank": 1}, RECEIVES),
        (6, {"Collective name": "reduce", "Rank": 1}, PROVIDES),
        (6, {"Collective name": "broadcast"}, NEITHER),
        (6, {"Collective name": "broadcast", "Rank": 9}, NEITHER),
        (6, {"Collective name": "broadcast", "Rank": 1, "Process Group Ranks": "[2, 4, ...]"}, NEITHER),
        (2, {"Collective name": "send", "Dst Rank": 4}, PROVIDES),
        (4, {"Collective name": "recv", "Src Rank": 2}, RECEIVES),
        (4, {"Collective name": "recv"}, NEITHER),
    ],
)
def test_a_collective_bounds_both_sides_one_or_none(tmp_path, rank, about, expected):
    (row,) = collectives(tmp_path, rank, {**GROUP, **about})
    assert (row["provides"], row["receives"]) == expected
    # The same where only the operator around the launch says it.
    (tmp_path / "call").mkdir()
    (row,) = collectives(tmp_path / "call", rank, {}, {**GROUP, **about})
    assert (row["provides"], row["receives"], row["group"]) == (*expected, "5")


def test_the_kernel_counts_where_it_and_its_call_differ_and_sizes_are_bytes(tmp_path):
    sizes = {"In msg nelems": 10, "Out msg nelems": 30, "dtype": "Half"}
    call = {"Collective name": "broadcast", "Comms Id": 3, "In msg nelems": 99}
    (row,) = collectives(tmp_path, 2, {**GROUP, **sizes, "Collective name": "allgather", "Comms Id": 77}, call)
    assert (row["kind"], row["bytes"], row["key"], row["how"]) == ("all_gather", 60, "comms 77 of 5, 1", "comms id")


def test_without_an_id_the_key_is_the_sequence_number_then_the_order(tmp_path):
    (row,) = collectives(tmp_path, 2, {**GROUP, "Collective name": "allreduce", "Seq": 12})
    assert (row["key"], row["how"]) == ("5, sequence 12, 1", "sequence number")
    (row,) = collectives(tmp_path, 4, {"Collective name": "allreduce"})
    assert (row["key"], row["group"], row["how"]) == ("stream 1, outside steps, 1", "stream 1", "order")
