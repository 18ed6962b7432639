"""The API of torch.profiler that programs use: schedules, rows and events with torch's names, metadata, stacks."""

from __future__ import annotations

import gzip
import json

import pytest

import eventide as et
from eventide.profiler import ProfilerResult
from tests.trace_builder import Builder
from tests.unit.profiles import names, now_us

NONE, WARMUP, RECORD, SAVE = et.profiler.ProfilerAction


def actions(count: int, **plan: int) -> list[et.profiler.ProfilerAction]:
    action = et.profiler.schedule(**plan)  # type: ignore[arg-type]
    return [action(step) for step in range(count)]


def test_without_skip_first_wait_each_cycle_waits() -> None:
    assert actions(6, wait=3, warmup=1, active=1, repeat=1) == [NONE, NONE, NONE, WARMUP, SAVE, NONE]


def test_with_skip_first_wait_the_first_cycle_begins_at_once_and_later_ones_wait() -> None:
    first, second = [WARMUP, RECORD, SAVE], [NONE, NONE, WARMUP, RECORD, SAVE]
    assert actions(9, wait=2, warmup=1, active=2, repeat=2, skip_first_wait=1) == [*first, *second, NONE]
    skipped = actions(6, wait=5, warmup=1, active=1, repeat=1, skip_first=3, skip_first_wait=True)
    assert skipped == [NONE, NONE, NONE, WARMUP, SAVE, NONE]


@pytest.mark.parametrize("wrong", [-1, 2.5, "1"])
def test_a_wrong_skip_first_wait_is_refused(wrong) -> None:
    with pytest.raises((et.UsageValueError, et.UsageTypeError), match="skip_first_wait"):
        et.profiler.schedule(wait=1, warmup=1, active=1, skip_first_wait=wrong)


def sample() -> ProfilerResult:
    builder = Builder()
    main = {"file": "train.py", "line": 7, "function": "main"}
    load = {"file": "data.py", "line": 3, "function": "load rows"}
    builder.stacks = [[main], [load, main]]
    thread = builder.thread()
    builder.span(thread, "outer", 0, 90_000, stack=0, args='{"flops": 7}')
    builder.span(thread, "inner", 10_000, 40_000, stack=1, args='{"Input Dims": [[2, 3]]}')
    builder.span(thread, "inner", 50_000, 55_000, stack=0)
    builder.work("kernel", 0, 80_000)
    return ProfilerResult(builder.trace())


def test_rows_have_torchs_names_in_microseconds() -> None:
    rows = {row.key: row for row in sample().key_averages()}
    inner, outer, kernel = rows["inner"], rows["outer"], rows["kernel"]
    assert (inner.count, inner.cpu_time_total, inner.self_cpu_time_total, inner.cpu_time) == (2, 35.0, 35.0, 17.5)
    assert (outer.cpu_time_total, outer.self_cpu_time_total, outer.flops) == (90.0, 55.0, 7)
    assert (outer.device_time_total, outer.cpu_memory_usage, outer.device_type) == (0.0, 0, "CPU")
    assert (kernel.device_time_total, kernel.self_device_time_total, kernel.cpu_time_total) == (80.0, 80.0, 0.0)
    averages = sample().key_averages()
    assert (len(averages), averages[0].key, averages.self_cpu_time_total) == (3, "kernel", 90.0)
    assert repr(averages[1]) == "<KeyAverage 'outer', 1 x, self 55.000 us>"
    assert str(averages) == str(averages.table()) == str(sample().table())


def test_rows_are_grouped_by_input_shape_and_by_the_inner_frames() -> None:
    shapes = [(row.key, row.input_shapes, row.count) for row in sample().key_averages(True) if row.key == "inner"]
    assert sorted(shapes) == [("inner", "", 1), ("inner", "[[2, 3]]", 1)]
    stacks = {(row.key, *row.stack): row.count for row in sample().key_averages(group_by_stack_n=1)}
    assert stacks == {
        ("kernel",): 1,
        ("outer", "train.py(7): main"): 1,
        ("inner", "data.py(3): load rows"): 1,
        ("inner", "train.py(7): main"): 1,
    }
    both = sample().key_averages(group_by_input_shape=True, group_by_stack_n=5)
    assert [row.stack for row in both if row.input_shapes] == [["data.py(3): load rows", "train.py(7): main"]]
    with pytest.raises(et.UsageValueError, match="group_by_stack_n is a number of frames, not -1"):
        sample().key_averages(group_by_stack_n=-1)


def test_rows_have_no_overloads_to_group_by():
    plain, grouped = sample().key_averages(), sample().key_averages(False, 0, True)
    assert sorted(row.key for row in grouped) == sorted(row.key for row in plain)
    assert {row.overload_name for row in grouped} == {""}


def test_events_are_spans_with_parents_and_children() -> None:
    events = sample().events()
    assert [event.name for event in events] == ["outer", "kernel", "inner", "inner"]
    outer, kernel, first, second = events
    assert (outer.cpu_parent, outer.cpu_children) == (None, [first, second])
    assert (first.cpu_parent, second.cpu_parent, kernel.cpu_parent) == (outer, outer, None)
    assert (outer.time_range.start, outer.time_range.elapsed_us()) == (0.0, 90.0)
    assert (outer.cpu_time_total, outer.self_cpu_time_total, kernel.cpu_time_total) == (90.0, 55.0, 0.0)
    assert (kernel.device_time_total, kernel.device_type, kernel.thread) == (80.0, "device", None)
    assert (first.input_shapes, first.flops, outer.flops, second.args) == ([[2, 3]], 0, 7, {})
    assert first.stack == ["data.py(3): load rows", "train.py(7): main"]
    assert (repr(first), repr(events)) == ("<Event 'inner' at 10.000 us for 30.000 us>", "<4 events>")
    assert events[1:3] == (kernel, first)


def test_stacks_are_written_for_flamegraph_outermost_first(tmp_path) -> None:
    path = sample().export_stacks(tmp_path / "stacks.txt")
    assert path.read_text("utf-8") == "train.py(7):_main 60\ntrain.py(7):_main;data.py(3):_load_rows 30\n"
    with pytest.raises(
        et.UsageValueError, match=r"there is no metric 'count' of stacks; use one of self_cpu_time_total"
    ):
        sample().export_stacks(tmp_path / "no", "count")
    assert sample().export_stacks(tmp_path / "d", "self_cuda_time_total").read_text("utf-8") == ""
    with et.profile() as prof, et.span("x"):
        pass
    with pytest.raises(et.UsageError, match=r"has no stacks; record it with et.profile\(with_stack=True\)"):
        prof.export_stacks(tmp_path / "no")
    with pytest.raises(et.TraceFileError, match="cannot be written"):
        sample().export_stacks(tmp_path / "missing" / "stacks.txt")


def test_stacks_of_a_profile_have_its_functions(tmp_path) -> None:
    with et.profile(with_stack=True) as prof, et.span("x"):
        for _ in range(20_000):
            pass
    prof.export_stacks(tmp_path / "stacks.txt")
    (line,) = (tmp_path / "stacks.txt").read_text("utf-8").splitlines()
    assert "test_stacks_of_a_profile_have_its_functions" in line.rpartition(" ")[0].rpartition(";")[2]
    assert int(line.rpartition(" ")[2]) > 0


def test_metadata_that_a_program_adds_is_in_the_trace_and_in_its_chrome_file(tmp_path) -> None:
    prof = et.profile()
    prof.preset_metadata_json("before", "[1, 2]")
    with prof:
        prof.add_metadata("model", 'a "quoted" one')
        prof.add_metadata_json("sizes", '{"batch": 3}')
        prof.add_metadata("traceEvents", "mine")  # has a meaning in the file
    added = {"before": [1, 2], "model": 'a "quoted" one', "sizes": {"batch": 3}, "traceEvents": "mine"}
    assert prof.result.trace.metadata["user"] == added
    prof.export_chrome_trace(tmp_path / "t.json")
    document = json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert (document["before"], document["model"], document["sizes"]) == ([1, 2], 'a "quoted" one', {"batch": 3})
    assert isinstance(document["traceEvents"], list)
    assert et.open_trace(tmp_path / "t.json").metadata["user"] == added
    prof.result.save(tmp_path / "t.parquet")
    assert et.open_trace(tmp_path / "t.parquet").metadata["user"] == added
    with pytest.raises(et.UsageError, match="this profile is stopped; add metadata before it stops"):
        prof.add_metadata("late", "x")


def test_wrong_metadata_is_refused() -> None:
    prof = et.profile()
    with pytest.raises(et.UsageTypeError, match="the value of 'n' must be a string, not int"):
        prof.add_metadata("n", 3)  # type: ignore[arg-type]
    with pytest.raises(et.UsageValueError, match=r"the value of 'n' is not JSON: .*; use add_metadata for a text"):
        prof.add_metadata_json("n", "{")
    with pytest.raises(et.UsageTypeError, match="the key of metadata is a string that is not empty, not ''"):
        prof.add_metadata_json("", "1")


def test_collection_is_toggled_only_while_a_profile_runs() -> None:
    prof = et.profile()
    with pytest.raises(et.UsageError, match="this profile is new; it can be toggled only while it runs"):
        prof.toggle_collection_dynamic(False, ["CPU"])
    with prof:
        prof.toggle_collection_dynamic(False, ["CPU"])
        with et.span("recorded all the same"):
            pass
    assert names(prof.result) == ["recorded all the same"]


def test_each_cycle_is_a_file_with_torchs_names(tmp_path) -> None:
    ready = et.profiler.tensorboard_trace_handler(tmp_path / "log", "worker0", use_gzip=True)
    plan = et.profiler.schedule(wait=0, warmup=0, active=1, repeat=2)
    with et.profile(schedule=plan, on_trace_ready=ready) as prof:
        for number in range(3):
            with et.span(f"work {number}"):
                pass
            prof.step()
    files = sorted((tmp_path / "log").iterdir())
    assert len(files) == 2
    assert all(file.name.startswith("worker0.") and file.name.endswith(".pt.trace.json.gz") for file in files)
    with gzip.open(files[1], "rt", encoding="utf-8") as file:
        assert "work 1" in {event.get("name") for event in json.load(file)["traceEvents"]}


def test_a_profile_has_the_methods_of_its_result(tmp_path) -> None:
    with et.profile() as prof, et.span("x"):
        now = now_us()
        prof.record_backend_event(now, now + 1, 0, "conv", "npu")
    assert {event.name for event in prof.events()} == {"x", "conv"}
    prof.export_chrome_trace(tmp_path / "t.json")
    assert "x" in {row.key for row in prof.key_averages()}
