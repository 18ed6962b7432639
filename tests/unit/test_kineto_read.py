"""What events of Kineto and Chrome become in a Trace."""

import json

import pytest

from tests.kineto_files import CALL, KERNEL, event, read, rows


@pytest.fixture
def file(tmp_path):
    return tmp_path / "trace.json"


def test_times_are_exact_to_the_nanosecond(file):
    text = '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1712195495519689.047,"dur":63.813}]'
    assert rows(read(file, text), "spans", "start", "duration") == [(1712195495519689047, 63813)]


def test_digits_below_a_nanosecond_are_rounded_once_so_that_slices_still_nest(file):
    outer = '{"ph":"X","name":"a","pid":1,"tid":1,"ts":0.0004,"dur":0.0004}'  # 0.4 ns and 0.8 ns
    inner = '{"ph":"X","name":"b","pid":1,"tid":1,"ts":0.0005,"dur":0.0003}'
    assert rows(read(file, f"[{outer},{inner}]"), "spans", "start", "duration") == [(0, 1), (1, 0)]


def test_times_may_be_text_negative_or_written_with_an_exponent(file):
    trace = read(file, '[{"ph":"X","ts":"12.5","dur":"1"},{"ph":"X","ts":-3,"dur":2},{"ph":"X","ts":1.5e3,"dur":1e-3}]')
    assert rows(trace, "spans", "start", "duration") == [(12500, 1000), (-3000, 2000), (1500000, 1)]


def test_the_base_time_is_added_and_the_clock_is_named(file):
    trace = read(file, {"baseTimeNanoseconds": 10**18, "traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "name": "a"}]})
    assert rows(trace, "spans", "start") == [10**18 + 1000]
    assert trace.metadata["clock"] == {"name": "unix", "unit": "ns", "base": 10**18}


def test_a_slice_without_a_duration_is_open(file):
    assert rows(read(file, [{"ph": "X", "ts": 1, "name": "a"}]), "spans", "duration") == [None]


def test_a_launch_is_linked_to_its_kernel_by_correlation(file):
    launch = event(CALL, "cudaLaunchKernel", 10, 5, correlation=4)
    kernel = event(KERNEL, "gemm", 20, 7, device=0, stream=7, correlation=4)
    trace = read(file, {"traceEvents": [kernel, launch]})
    assert rows(trace, "edges", "kind", "from_span", "from_time", "to_span", "to_time", "correlation") == [
        ("launch", 1, 10_000, 0, 20_000, 4)
    ]
    assert rows(trace, "spans", "category", "submit", "correlation") == [("kernel", 10_000, 4), ("runtime", None, 4)]
    assert rows(trace, "tracks", "kind", "device", "stream")[0] == ("stream", "cuda:0", 7)


def test_a_launch_without_correlation_is_linked_by_its_flow(file):
    flow = {"cat": "async_cpu_to_gpu", "name": "async_cpu_to_gpu", "id": 3}
    document = [
        event(CALL, "cudaLaunchKernel", 10, 5),
        event(KERNEL, "gemm", 20, 7),
        {**flow, "ph": "s", "pid": 9, "tid": 9, "ts": 10},
        {**flow, "ph": "f", "bp": "e", "pid": 0, "tid": 7, "ts": 20},
    ]
    trace = read(file, document)
    assert rows(trace, "edges", "kind", "from_span", "to_span", "correlation") == [("launch", 0, 1, 3)]
    assert rows(trace, "spans", "submit") == [None, 10_000]


def test_forward_and_backward_are_linked_by_flows(file):
    op = {"ph": "X", "cat": "cpu_op", "pid": 1}
    flow = {"cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 1}
    document = [
        event({**op, "tid": 1}, "mul", 10, 5),
        event({**op, "tid": 2}, "MulBackward0", 30, 5),
        {**flow, "ph": "s", "tid": 1, "ts": 12},
        {**flow, "ph": "f", "bp": "e", "tid": 2, "ts": 30},
    ]
    assert rows(read(file, document), "edges", "kind", "from_span", "to_span") == [("fwdbwd", 0, 1)]


def _waiting(record_id: int) -> list[dict]:
    sync = {"ph": "X", "cat": "cuda_sync", "pid": 0, "tid": 20}
    return [
        event(CALL, "cudaLaunchKernel", 10, 1, correlation=1),
        event(KERNEL, "first", 20, 30, device=0, stream=7, correlation=1),
        event(CALL, "cudaEventRecord", 12, 1, correlation=2),
        event(CALL, "cudaLaunchKernel", 13, 1, correlation=3),
        event(KERNEL, "later", 50, 5, device=0, stream=7, correlation=3),
        event(CALL, "cudaStreamWaitEvent", 14, 1, correlation=4),
        event(
            sync, "Stream Wait Event", 15, 0, device=0, stream=20, correlation=4, wait_on_stream=7,
            wait_on_cuda_event_record_corr_id=record_id, wait_on_cuda_event_id=6,
        ),
        event(CALL, "cudaLaunchKernel", 16, 1, correlation=5),
        event({**KERNEL, "tid": 20}, "second", 51, 9, device=0, stream=20, correlation=5),
    ]  # fmt: skip


def test_a_wait_links_the_last_work_before_the_record_to_the_first_work_after_the_wait(file):
    trace = read(file, _waiting(record_id=2))
    waits = [row for row in rows(trace, "edges") if row["kind"] == "wait"]
    assert [(w["from_span"], w["from_time"], w["to_span"], w["to_time"], w["event"]) for w in waits] == [
        (1, 50_000, 8, 51_000, 6)
    ]


def test_a_wait_whose_record_is_not_in_the_trace_is_counted_and_not_guessed(file):
    trace = read(file, _waiting(record_id=77))
    assert "wait" not in rows(trace, "edges", "kind")
    assert trace.metadata["account"]["untied"] == {"waits without the id of a record": 1}


def test_a_device_synchronization_links_the_last_work_of_each_stream_to_the_call(file):
    everywhere = {"ph": "X", "cat": "cuda_sync", "pid": 0, "tid": -1}
    document = [
        *_waiting(record_id=2),
        event(CALL, "cudaDeviceSynchronize", 17, 50, correlation=6),
        event(everywhere, "Context Sync", 18, 49, device=0, stream=-1, correlation=6),
    ]
    trace = read(file, document)
    synchronizations = [row for row in rows(trace, "edges") if row["kind"] == "synchronize"]
    assert [(s["from_span"], s["to_span"], s["to_time"]) for s in synchronizations] == [(4, 9, 67_000), (8, 9, 67_000)]
    assert rows(trace, "spans", "category")[9:] == ["sync", "sync"]


def test_begin_and_end_events_are_paired_in_any_order_and_keep_both_arguments(file):
    base = {"pid": 1, "tid": 1}
    document = [
        {"ph": "E", "ts": 9, **base, "args": {"after": 2}},
        {"ph": "B", "name": "outer", "ts": 1, **base, "args": {"before": 1}},
        {"ph": "B", "name": "inner", "ts": 2, **base},
        {"ph": "E", "ts": 3, **base},
        {"ph": "B", "name": "open", "ts": 10, **base},
    ]
    trace = read(file, document)
    assert rows(trace, "spans", "name", "start", "duration") == [
        ("outer", 1000, 8000), ("inner", 2000, 1000), ("open", 10_000, None),
    ]  # fmt: skip
    assert json.loads(rows(trace, "spans", "args")[0]) == {"before": 1, "after": 2}


def test_asynchronous_spans_that_overlap_get_lanes_on_which_everything_nests(file):
    base = {"cat": "net", "pid": 1, "tid": 1}
    document = [
        {"ph": "b", "id": 1, "name": "a", "ts": 0, **base},
        {"ph": "b", "id": 2, "name": "b", "ts": 1, **base},
        {"ph": "n", "id": 2, "name": "note", "ts": 2, **base},
        {"ph": "b", "id": 1, "name": "part of a", "ts": 3, **base},
        {"ph": "e", "id": 1, "name": "part of a", "ts": 4, **base},
        {"ph": "e", "id": 1, "name": "a", "ts": 5, **base},
        {"ph": "e", "id": 2, "name": "b", "ts": 6, **base},
    ]
    trace = read(file, document)
    lanes = {name: lane for lane, name in rows(trace, "spans", "track", "name")}
    assert lanes["a"] == lanes["part of a"] != lanes["b"]
    assert rows(trace, "instants", "name", "time") == [("note", 2000)]


def test_counters_have_a_row_for_each_series(file):
    document = [
        {"ph": "C", "name": "queue", "pid": 1, "ts": 1, "args": {"value": 3}},
        {"ph": "C", "name": "pets", "pid": 1, "ts": 2, "args": {"cats": 1, "dogs": 2.5}},
    ]
    trace = read(file, document)
    assert rows(trace, "counters", "name", "time", "value") == [
        ("queue", 1000, 3.0), ("pets cats", 2000, 1.0), ("pets dogs", 2000, 2.5),
    ]  # fmt: skip
    assert {row["kind"] for row in rows(trace, "tracks")} == {"counter", "process"}


def test_memory_events_are_instants_and_counters_of_their_device(file):
    args = {"Device Type": 1, "Device Id": 0, "Addr": 512, "Bytes": -64, "Total Allocated": 192, "Total Reserved": 256}
    document = [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5, "args": args}]
    trace = read(file, document)
    assert rows(trace, "counters", "name", "time", "value") == [
        ("allocated bytes", 5000, 192.0), ("reserved bytes", 5000, 256.0),
    ]  # fmt: skip
    assert [row["device"] for row in rows(trace, "tracks") if row["kind"] == "counter"] == ["cuda:0"]
    assert json.loads(rows(trace, "instants", "args")[0])["Bytes"] == -64


def test_steps_have_their_number(file):
    trace = read(file, [event({"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1}, "ProfilerStep#12", 0, 9)])
    assert rows(trace, "spans", "category", "work") == [("step", 12)]


def test_the_rank_the_devices_and_the_other_members_are_kept(file):
    trace = read(
        file,
        {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "AMD Instinct"}],
            "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
            "traceEvents": [event(KERNEL, "gemm", 1, 1)],
        },
    )
    assert (trace.metadata["rank"], trace.metadata["world_size"], trace.metadata["source"]) == (3, 8, "kineto")
    assert rows(trace, "tracks", "device", "rank")[0] == ("hip:0", 3)
    assert trace.metadata["file"] == {"schemaVersion": 1}


def test_an_unknown_category_is_kept_in_the_arguments(file):
    trace = read(file, [{"ph": "X", "cat": "disk", "name": "read", "pid": 1, "tid": 1, "ts": 1, "dur": 1}])
    assert rows(trace, "spans", "category", "args") == [("other", '{"cat":"disk"}')]


def test_ignored_events_are_counted_by_kind(file):
    document = [{"ph": "N", "ts": 1}, {"ph": "D", "ts": 2}, {"ph": "?", "ts": 1}, {"name": "x"}, {"ph": "X"}, 7]
    trace = read(file, [*document, {"ph": "X", "ts": 1, "dur": -5}])
    account = trace.metadata["account"]
    assert account["ignored"] == {
        "object": 2, "unknown phase": 1, "no phase": 1, "no time": 1, "not an object": 1, "negative duration": 1,
    }  # fmt: skip
    assert account["events"] == 7 and account["recorded"]["spans"] == 0


def test_memory_events_with_only_their_bytes_are_summed_from_the_least_that_was_held_before(file):
    def row(ts: int, size: int) -> dict[str, object]:
        args = {"Device Type": 1, "Device Id": 0, "Bytes": size}
        return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": args}

    trace = read(file, [row(3, 10), row(1, 4), row(2, -6)])
    found = sorted(rows(trace, "counters", "time", "name", "value"))
    assert found == [(1000, "allocated bytes", 6.0), (2000, "allocated bytes", 0.0), (3000, "allocated bytes", 10.0)]
