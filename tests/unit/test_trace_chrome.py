"""Chrome JSON: torch.profiler's layout, valid whatever the names, nested whatever overlaps; it is read back whole."""

import gzip
import json

import numpy as np
import pytest

import eventide as et
from eventide.analysis import memory
from tests.reference.traces import assert_same, odd_names_trace, small_trace


def saved(trace, path):
    return json.loads(trace.save(path).read_text("utf-8"))


def spans(**columns):
    count = len(next(iter(columns.values())))
    made = {"track": [0] * count, "name": ["a"] * count, "category": ["span"] * count}
    made |= {"start": range(count), "duration": [1] * count}
    return {**made, **columns}


THREAD = {"kind": ["thread"], "name": ["main"], "pid": [7], "tid": [8]}


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
@pytest.mark.parametrize("trace", [small_trace(), odd_names_trace(), et.Trace({})], ids=["small", "odd names", "empty"])
def test_every_row_is_read_back(trace, suffix, tmp_path):
    path = trace.save(tmp_path / f"t{suffix}")
    assert_same(et.open_trace(path), trace)


def test_the_layout_is_that_of_torch_profiler(tmp_path):
    document = saved(small_trace(), tmp_path / "t.json")
    assert document["schemaVersion"] == 1
    assert document["displayTimeUnit"] == "ms"
    assert document["distributedInfo"] == {"rank": 0}
    events = document["traceEvents"]
    kernel = next(event for event in events if event["name"] == "forward")
    assert {key: kernel[key] for key in ("ph", "cat", "pid", "tid", "ts", "dur")} == {
        "ph": "X",
        "cat": "kernel",
        "pid": 0,
        "tid": 4,
        "ts": 2.5,
        "dur": 0.8,
    }
    assert (kernel["args"]["stream"], kernel["args"]["correlation"], kernel["args"]["shape"]) == (4, 11, [2, 3])
    arrows = [event for event in events if event["ph"] in "sf" and event["cat"] == "ac2g"]
    assert [event["ph"] for event in arrows] == ["s", "s", "f", "f"]
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {(77, 771): "MainThread", (0, 3): "load", (0, 4): "train"}


def test_categories_are_those_that_torch_profiler_would_write(tmp_path):
    tracks = {
        "kind": ["thread", "stream"],
        "pid": [7, 7],
        "tid": [8, None],
        "device": [None, "cuda:1"],
        "stream": [None, 2],
    }
    expected = [
        (0, "op", "aten::add", "cpu_op"),
        (0, "runtime", "cudaLaunchKernel", "cuda_runtime"),
        (0, "sync", "cudaDeviceSynchronize", "cuda_runtime"),
        (0, "annotation", "step", "user_annotation"),
        (1, "kernel", "gemm", "kernel"),
        (1, "copy", "Memcpy HtoD", "gpu_memcpy"),
        (1, "copy", "Memset", "gpu_memset"),
        (1, "communication", "ncclDevKernel", "kernel"),
        (1, "wait", "Stream Wait Event", "cuda_sync"),
        (1, "wait", "my own wait", "gpu_user_annotation"),
        (1, "annotation", "step", "gpu_user_annotation"),
    ]
    track, category, name, chrome = zip(*expected, strict=True)
    trace = et.Trace({"tracks": tracks, "spans": spans(track=track, category=category, name=name)})
    events = saved(trace, tmp_path / "t.json")["traceEvents"]
    assert [event["cat"] for event in events if event["ph"] == "X"] == list(chrome)
    on_device = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
    # An annotation on a stream is no work, and HTA would count it.
    assert [event["args"].get("stream") for event in on_device] == [2, 2, 2, 2, 2, None, None]
    assert [event["args"].get("device") for event in on_device] == [1, 1, 1, 1, 1, None, None]


def test_arguments_of_the_program_are_kept_and_written_once(tmp_path):
    tracks = {"kind": ["stream"], "device": ["cuda:0"], "stream": [7]}
    args = ['{"stream": 9, "correlation": 5}', None, "{}", ' { "a" : [1, {"b": "}"}] } ']
    trace = et.Trace({"tracks": tracks, "spans": spans(args=args, category=["kernel"] * 4)})
    path = trace.save(tmp_path / "t.json")
    said = [event["args"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert said[0] == {"stream": 9, "correlation": 5, "eventide": {}, "device": 0}
    assert said[3]["a"] == [1, {"b": "}"}]
    assert et.open_trace(path).spans.column("args").to_pylist()[:3] == args[:3]
    assert json.loads(et.open_trace(path).spans.column("args")[3].as_py()) == json.loads(args[3])


@pytest.mark.parametrize(
    "args", ['{"eventide": {"work": 3}}', '{"a": NaN}', '{"a": -Infinity, "b": "{"}', "not JSON", '{"a": 01}', "[1]"]
)
def test_arguments_that_are_not_json_or_collide_with_ours_are_read_back(args, tmp_path):
    trace = et.Trace(
        {
            "tracks": THREAD,
            "spans": spans(args=[args]),
            "instants": {"track": [0], "name": ["i"], "category": ["span"], "time": [3], "args": [args]},
        }
    )
    path = trace.save(tmp_path / "t.json")
    json.loads(path.read_text(), parse_constant=pytest.fail)
    assert_same(et.open_trace(path), trace)


def test_what_overlaps_goes_to_a_lane_of_its_own(tmp_path):
    trace = et.Trace({"tracks": THREAD, "spans": spans(start=[0, 500, 600], duration=[1000, 1000, 100])})
    events = saved(trace, tmp_path / "t.json")["traceEvents"]
    assert [(event["ts"], event["tid"]) for event in events if event["ph"] == "X"] == [
        (0, 8),
        (0.6, 8),
        (0.5, 1_000_001),
    ]
    named = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert named == {8: "main", 1_000_001: "main (lane 2)"}


def test_far_times_are_counted_from_a_base_so_that_a_double_holds_them(tmp_path):
    start = 1_790_857_026_123_456_789
    trace = et.Trace({"tracks": THREAD, "spans": spans(start=[start], duration=[1_001])})
    document = saved(trace, tmp_path / "t.json")
    event = document["traceEvents"][-1]
    assert document["baseTimeNanoseconds"] == 1_790_857_026_000_000_000
    assert (event["ts"], event["dur"]) == (123456.789, 1.001)
    assert_same(et.open_trace(tmp_path / "t.json"), trace)


def test_times_before_zero_and_values_that_are_no_numbers(tmp_path):
    counters = {"track": [0] * 3, "name": ["c"] * 3, "time": [0, 1, 2], "value": [float("nan"), float("-inf"), -0.5]}
    trace = et.Trace({"tracks": THREAD, "spans": spans(start=[-1_500]), "counters": counters})
    events = saved(trace, tmp_path / "t.json")["traceEvents"]
    assert [event["ts"] for event in events if event["ph"] == "X"] == [-1.5]
    assert [event["args"] for event in events if event["ph"] == "C"] == [{}, {}, {"value": -0.5}]
    back = et.open_trace(tmp_path / "t.json")
    assert np.array_equal(back.counters.column("value").to_numpy(), counters["value"], equal_nan=True)


def test_the_main_thread_keeps_its_number_and_counters_of_one_name_stay_two(tmp_path):
    tracks = {"kind": ["process", "thread", "thread"], "pid": [7, 7, 7], "tid": [None, 7, 8]}
    counters = {"track": [1, 2], "name": ["queue", "queue"], "time": [0, 0], "value": [1.0, 2.0]}
    trace = et.Trace({"tracks": tracks, "spans": spans(track=[0, 1, 2]), "counters": counters})
    events = saved(trace, tmp_path / "t.json")["traceEvents"]
    assert [event["tid"] for event in events if event["ph"] == "X"] == [1_000_000, 7, 8]
    assert [event["name"] for event in events if event["ph"] == "C"] == ["queue", "queue (8)"]


def test_instants_of_memory_have_the_category_of_torch_profiler(tmp_path):
    memory = {"track": [0, 0], "name": ["[memory]", "other"], "category": ["runtime", "span"], "time": [1, 2]}
    memory["args"] = ['{"Bytes": 64, "Addr": 4096, "Device Type": 0}', None]
    trace = et.Trace({"tracks": THREAD, "instants": memory})
    events = saved(trace, tmp_path / "t.json")["traceEvents"]
    assert [event["cat"] for event in events if event["ph"] == "i"] == ["cpu_instant_event", "user_annotation"]
    assert_same(et.open_trace(tmp_path / "t.json"), trace)


def test_our_own_allocations_are_instants_of_memory_too_and_are_left_out_again_when_read(tmp_path):
    with et.Recorder() as recorder:
        early, late = et.empty(1000, device="cpu"), et.empty(24, device="sim:1")
        addresses = early.ptr, late.ptr
        early.free()
        late.free()
    trace = recorder.trace
    events = saved(trace, tmp_path / "t.json")["traceEvents"]
    seen = [event["args"] for event in events if event["name"] == "[memory]"]
    assert {event["cat"] for event in events if event["name"] == "[memory]"} == {"cpu_instant_event"}
    expected = ("Addr", "Bytes", "Total Allocated", "Total Reserved", "Device Type", "Device Id")
    assert [tuple(args[name] for name in expected) for args in seen] == [
        (addresses[0], 1000, 1000, 1000, 0, -1),
        (addresses[1], 24, 24, 24, 20, 1),  # torch's type for a device of another backend
        (addresses[0], -1000, 0, 0, 0, -1),
        (addresses[1], -24, 0, 0, 20, 1),
    ]
    thread = next(row for row in trace.tracks.to_pylist() if row["kind"] == "thread")
    assert {event["tid"] for event in events if event["name"] == "[memory]"} == {thread["tid"]}
    back = et.open_trace(tmp_path / "t.json")
    assert_same(back, trace)
    assert memory(back) == memory(trace)


def test_recorded_memory_events_are_not_written_twice(tmp_path):
    with et.profile(profile_memory=True) as profiler:
        profiler.record_backend_memory_event(4096, 64, 64, 128, "sim:1")
        et.empty(24, device="sim:1").free()
        et.empty(24, device="sim:2").free()
    events = saved(profiler.result.trace, tmp_path / "t.json")["traceEvents"]
    seen = [event["args"] for event in events if event["name"] == "[memory]"]
    assert [(args["Device Type"], args["Device Id"], args["Bytes"]) for args in seen] == [
        (20, 1, 64),
        (20, 2, 24),
        (20, 2, -24),
    ]


def test_an_edited_file_is_read_as_a_file_of_another_tool(tmp_path):
    document = saved(small_trace(), tmp_path / "t.json")
    document["traceEvents"] = [event for event in document["traceEvents"] if event["name"] != "forward"]
    (tmp_path / "t.json").write_text(json.dumps(document))
    trace = et.open_trace(tmp_path / "t.json")
    assert trace.spans.num_rows == 4
    assert any("columns that only Eventide writes were left out" in warning for warning in trace.metadata["warnings"])


def test_the_same_trace_is_the_same_file(tmp_path):
    one, two = small_trace().save(tmp_path / "1.json.gz"), small_trace().save(tmp_path / "2.json.gz")
    assert one.read_bytes() == two.read_bytes()
    assert gzip.decompress(one.read_bytes()) == small_trace().save(tmp_path / "3.json").read_bytes()


def test_a_trace_with_dangling_references_is_refused_before_anything_is_written(tmp_path):
    trace = et.Trace({"tracks": THREAD, "spans": spans(track=[3])})
    for suffix in (".json", ".pftrace"):
        with pytest.raises(et.UsageError, match=r"spans\[0\].track is 3, and there are 1 tracks; see Trace.check"):
            trace.save(tmp_path / f"t{suffix}")
    assert list(tmp_path.iterdir()) == []
