"""JAX's profiles, read without JAX: planes and lines become tracks, events spans, on Unix time."""

from __future__ import annotations

import gzip
import random

import pytest

import eventide as et
from eventide.trace.formats.perfetto._proto import field
from tests.reference.xplane import BEGAN, Event, Line, Plane, encode, environment, expected_spans, read_spans

HOST = Plane(
    "/host:CPU",
    [
        Line(
            "python",
            [
                Event("train", 0, 9_000_000, {"step_num": 3}),
                Event("PjitFunction(f)", 1_000_500, 2_000_500, {"group": "ref:a", "ratio": 0.5, "text": 'a "b"'}),
                Event("$model.py:12 forward", 1_100_000, 1_000),
                Event("PjRtCpuClient::Compile", 2_000_000, 1_000),
            ],
            id=2**63 - 7,
        ),
        Line("tf_XLAEigen/5", [Event("dot", 5_000_000, 1_000_000, {"hlo_op": "dot.1"})], id=5),
    ],
    {"process_id": 4711},
)
GPU = Plane(
    "/device:GPU:1",
    [
        Line("Stream #13(Compute)", [Event("gemm", 3_000_000, 500_000, {"correlation_id": 8})], id=13),
        Line("Stream #14(MemcpyH2D)", [Event("MemcpyH2D", 2_500_000, 100_000)], id=14),
        Line("XLA Modules", [Event("jit_f", 2_500_000, 1_000_000)], id=2),
        Line("XLA Ops", [Event("fusion.3", 3_000_000, 500_000)], id=3),
    ],
)
TPU = Plane("/device:TPU:0", [Line("XLA Ops", [Event("fusion.1", 1_000, 500_000)], id=3), Line("Steps", [Event("3")])])


def opened(tmp_path, *planes: Plane) -> et.Trace:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(encode([*planes]))
    trace = et.open_trace(path)
    trace.check()
    return trace


def tracks(trace: et.Trace) -> list[tuple]:
    return [(row["kind"], row["name"], row["device"], row["stream"]) for row in trace.tracks.to_pylist()]


def test_events_are_spans_with_their_statistics_on_unix_time(tmp_path):
    planes = [Plane("/host:metadata", stats={"jax_version": "0.10"}), HOST, GPU, environment()]
    trace = opened(tmp_path, *planes)
    assert read_spans(trace) == expected_spans(planes)
    assert read_spans(trace)[1][1:4] == ("PjitFunction(f)", BEGAN + 1000, 2001)
    assert trace.metadata["clock"] == {"name": "unix", "unit": "ns", "base": BEGAN}
    assert (trace.metadata["source"], trace.metadata["warnings"]) == ("jax", [])
    assert trace.metadata["profile"]["/host:metadata"] == {"jax_version": "0.10"}


def test_kinds_are_determined_by_plane_and_line(tmp_path):
    trace = opened(tmp_path, HOST, GPU, TPU, environment())
    found = dict(zip(trace.spans.column("name").to_pylist(), trace.spans.column("category").to_pylist(), strict=True))
    assert found == {
        "train": "step",
        "PjitFunction(f)": "span",
        "$model.py:12 forward": "sample",
        "PjRtCpuClient::Compile": "compile",
        "dot": "op",
        "gemm": "kernel",
        "MemcpyH2D": "copy",
        "jit_f": "annotation",
        "fusion.3": "annotation",  # beside the streams it shows their time again
        "fusion.1": "kernel",
        "3": "annotation",
    }
    assert trace.spans.column("work").to_pylist()[0] == 3


def test_planes_are_processes_and_devices_and_lines_are_threads_and_streams(tmp_path):
    trace = opened(tmp_path, HOST, GPU, TPU, environment())
    assert tracks(trace) == [
        ("thread", "python", None, None),
        ("thread", "tf_XLAEigen/5", None, None),
        ("stream", "Stream #13(Compute)", "gpu:1", 13),
        ("stream", "Stream #14(MemcpyH2D)", "gpu:1", 14),
        ("other", "XLA Modules", "gpu:1", None),
        ("other", "XLA Ops", "gpu:1", None),
        ("stream", "XLA Ops", "tpu:0", 3),
        ("other", "Steps", "tpu:0", None),
        ("process", "/host:CPU", None, None),
        ("other", "/device:GPU:1", "gpu:1", None),
        ("other", "/device:TPU:0", "tpu:0", None),
    ]
    assert [(row["pid"], row["tid"]) for row in trace.tracks.to_pylist()[:2]] == [(4711, None), (4711, 5)]


def test_a_launch_is_linked_to_its_kernel_and_a_consumer_to_its_producer(tmp_path):
    launch = Event("cuLaunchKernel", 100_000, 50_000, {"correlation_id": 8})
    flows = [
        Event("early", 0, 0, {"_pt": 15, "_p": 7}),
        Event("again", 200_000, 0, {"_pt": 15, "_p": 7}),
        Event("late", 900_000, 0, {"_pt": 15, "_p": 7}),
        Event("run", 500_000, 0, {"_ct": 15, "_c": 7}),
        Event("other kind", 500_000, 0, {"_ct": 14, "_c": 7}),
    ]
    trace = opened(tmp_path, Plane("/host:CPU", [Line("python", [launch, *flows])]), GPU, environment())
    names = trace.spans.column("name").to_pylist()
    edges = [(row["kind"], names[row["from_span"]], names[row["to_span"]]) for row in trace.edges.to_pylist()]
    assert edges == [("launch", "cuLaunchKernel", "gemm"), ("flow", "again", "run")]
    (gemm,) = [row for row in trace.spans.to_pylist() if row["name"] == "gemm"]
    assert gemm["submit"] == BEGAN + 100


def test_statistics_of_a_kind_are_in_each_event_unless_they_are_long(tmp_path):
    kinds = {"dot": {"flops": 2**63 + 1, "long_name": "x" * 300, "proto": b"\x00\xff"}}
    plane = Plane("/host:CPU", [Line("python", [Event("dot", stats={"a": -1}), Event("dot")])], kinds=kinds)
    trace = opened(tmp_path, plane, environment())
    assert [args for *_, args in read_spans(trace)] == [{"a": -1, "flops": 2**63 + 1}, {"flops": 2**63 + 1}]
    assert trace.metadata["account"]["left_out"] == 2


def test_times_that_are_unix_already_stay_and_without_a_start_the_clock_is_unknown(tmp_path):
    line = Line("python", [Event("f", 1_000)], timestamp=BEGAN + 5)
    assert opened(tmp_path, Plane("/host:CPU", [line]), environment()).spans.column("start")[0].as_py() == BEGAN + 6
    trace = opened(tmp_path, Plane("/host:CPU", [Line("python", [Event("f", 1_000)])]))
    assert trace.spans.column("start")[0].as_py() == 1
    assert trace.metadata["clock"]["name"] == "unknown"
    assert trace.metadata["warnings"] == ["the profile does not say when it began: its times count from its own start"]


def test_events_without_a_time_or_at_an_impossible_one_are_counted(tmp_path):
    line = Line("python", [Event("negative", -1), Event("endless", 0, 2**62), Event("good")])
    count = field(4, field(1, 3) + field(5, 12))
    data = encode([Plane("/host:CPU", [line]), environment()])
    plane = field(2, "/host:other") + field(3, field(2, "counts") + count + field(4, field(1, 99)))
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data + field(1, plane) + field(2, "CUPTI is not there") + field(3, "buffer full"))
    trace = et.open_trace(path)
    assert trace.spans.column("name").to_pylist() == ["good", "event 99"]
    assert trace.metadata["warnings"] == [
        "1 events are counts without a time and were left out",
        "2 events have invalid times and were left out",
        "1 events have no name in the file",
        "reported by the profiler itself: CUPTI is not there",
        "reported by the profiler itself: buffer full",
    ]


def test_a_directory_gives_its_newest_run_and_several_hosts_are_a_question(tmp_path):
    for run, name in (("2026_01_01", "old"), ("2026_01_02", "new")):
        folder = tmp_path / "logs" / "plugins" / "profile" / run
        folder.mkdir(parents=True)
        data = encode([Plane("/host:CPU", [Line("python", [Event(name)])]), environment()])
        (folder / "a.xplane.pb").write_bytes(data)
    trace = et.open_trace(tmp_path / "logs")
    assert trace.spans.column("name").to_pylist() == ["new"]
    (warning,) = trace.metadata["warnings"]
    assert warning.startswith("there are 2 profiles below ")
    assert warning.endswith("; this is the newest, 2026_01_02")
    assert et.open_trace(folder).spans.num_rows == 1
    (folder / "b.xplane.pb").write_bytes(data)
    with pytest.raises(et.UsageError, match=r"holds profiles of 2 hosts \(a, b\); give the path of one"):
        et.open_trace(tmp_path / "logs")
    (tmp_path / "empty").mkdir()
    with pytest.raises(et.UsageError, match=r"is a directory without \.eventide or \.parquet files or JAX's profiles"):
        et.open_trace(tmp_path / "empty")


@pytest.mark.parametrize("name", ["host.xplane.pb", "renamed", "host.xplane.pb.gz"])
def test_a_profile_is_detected_by_its_content_whatever_its_name(tmp_path, name):
    data = encode([HOST, environment()])
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert read_spans(et.open_trace(path)) == expected_spans([HOST, environment()])


def test_a_truncated_profile_is_reported_in_one_line_with_the_offset(tmp_path):
    data = encode([HOST, GPU, environment()])
    path = tmp_path / "host.xplane.pb"
    whole = {len(encode([HOST])), len(encode([HOST, GPU]))}
    for size in range(1, len(data)):
        path.write_bytes(data[:size])
        if size in whole:
            assert et.open_trace(path).metadata["clock"]["name"] == "unknown"
            continue
        with pytest.raises(et.TraceFormatError, match="is cut or damaged here; copy it again") as caught:
            et.open_trace(path)
        assert caught.value.path == str(path)
        assert 0 <= caught.value.offset <= size
        assert "\n" not in str(caught.value)


def test_any_changed_bytes_give_a_consistent_trace_or_a_format_error(tmp_path):
    data, path = encode([HOST, GPU, TPU, environment()]), tmp_path / "host.xplane.pb"
    chance = random.Random(7)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(bytes(damaged))
        try:
            et.open_trace(path).check()
        except et.TraceFormatError as error:
            refused += 1
            assert (error.path, 0 <= error.offset <= len(data)) == (str(path), True)
    assert 500 < refused < 2900
