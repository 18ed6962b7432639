"""The parts of the profiler that need no recording: schedules, clocks, self times, tables, arguments."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from eventide.cli import main
from eventide.profiler import ProfilerAction, ProfilerResult, schedule
from eventide.profiler._backends import fit
from eventide.profiler._cycle import numbered
from eventide.profiler._options import IGNORED
from eventide.profiler._schedule import ask
from eventide.trace import Trace
from tests.trace_builder import Builder

NONE, WARMUP, RECORD, SAVE = ProfilerAction


def trace_of(*spans: tuple) -> Trace:
    """Spans as (track, name, start, duration, args)."""
    columns = zip(*spans, strict=True)
    names = ("track", "name", "start", "duration", "args")
    made = {name: list(values) for name, values in zip(names, columns, strict=True)}
    return Trace({"spans": {**made, "category": ["op"] * len(spans)}, "tracks": {"kind": ["thread"], "name": ["main"]}})


def test_a_schedule_waits_warms_up_and_records() -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    cycle = [NONE, WARMUP, RECORD, SAVE]
    assert [plan(step) for step in range(11)] == [NONE, *cycle, *cycle, NONE, NONE]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"active": 0}, "active cannot be 0 steps"),
        ({"wait": -1}, "wait cannot be -1 steps"),
        ({"warmup": 1.5}, "warmup must be a number of steps, not float"),
    ],
)
def test_an_invalid_schedule_is_refused(wrong, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        schedule(**{"wait": 0, "warmup": 0, "active": 1, **wrong})


def test_a_schedule_must_answer_with_an_action() -> None:
    with pytest.raises(TypeError, match="the schedule gave 7 for step 3"):
        ask(lambda step: 7, 3)


def test_the_names_of_torch_s_profilers_are_understood() -> None:
    profile = et.profile(None, "", record_shapes=True, events=["cycles", "cycles"], adjust_vulkan_timestamps=True)
    options = profile.options
    assert (options.report_input_shapes, options.perf_counters, options.adjust_timestamps) == (True, ("cycles",), True)
    assert options.path is None
    assert et.profile("t.pftrace").options.path == "t.pftrace" == et.profile(fname="t.pftrace").options.path

    class Model:
        def __call__(self) -> None: ...

    model = Model()
    assert et.profile(m=model).module is model


def test_two_names_of_one_option_must_agree() -> None:
    assert et.profile(report_input_shapes=True, record_shapes=True).options.report_input_shapes
    with pytest.raises(et.UsageTypeError, match=r"got path='a.json' and fname='b.json', two names of one option"):
        et.profile(path="a.json", fname="b.json")


@pytest.mark.parametrize("name", IGNORED)
def test_an_option_of_torch_without_effect_warns_once_by_name_and_the_profile_runs(name, monkeypatch) -> None:
    monkeypatch.setattr("eventide.profiler._options._warned", set())
    with pytest.warns(UserWarning, match=rf"^et.profile ignores {name}=, an option of torch.profiler: ") as caught:
        prof = et.profile(**{name: object()})
    with prof, et.span("x"):
        pass
    assert [each.filename for each in caught] == [__file__]
    assert prof.result.trace.spans["name"].to_pylist() == ["x"]
    et.profile(**{name: object()})  # a second warning would be an error here


@pytest.mark.parametrize("name", IGNORED)
def test_the_default_of_an_option_without_effect_does_not_warn(name, monkeypatch) -> None:
    monkeypatch.setattr("eventide.profiler._options._warned", set())
    et.profile(**{name: None})
    et.profile(**{name: False})


def test_each_option_is_a_parameter_that_help_shows() -> None:
    parameters = inspect.signature(et.profile).parameters
    edge = ["report_input_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "perf_counters"]
    assert list(parameters)[:9] == ["module", "path", *edge, "adjust_timestamps"]  # the order of torch's edge profiler
    assert {*IGNORED, "m", "fname", "record_shapes", "events", "adjust_vulkan_timestamps"} <= set(parameters)
    assert {each.kind for each in list(parameters.values())[9:]} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "t.txt"}, r"the suffix of 't\.txt' is not that of a trace format; use one of \.pftrace"),
        ({"path": 3}, "path must be the path of a file, not int"),
        ({"perf_counters": "cycles"}, "perf_counters takes a list of names"),
        ({"perf_counters": [3]}, "the name of a perf counter is a string, not int"),
        ({"schedule": 3}, "schedule must be a function, not int"),
        ({"with_everything": True}, "unexpected keyword argument 'with_everything'"),
    ],
)
def test_invalid_arguments_are_refused(given, message) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        et.profile(**given)


def test_self_time_is_without_the_spans_inside_as_in_a_summary() -> None:
    trace = trace_of((0, "a", 0, 100, None), (0, "b", 10, 30, None), (0, "c", 15, 5, None), (0, "b", 50, 50, None))
    rows = ProfilerResult(trace).rows()
    assert [(row.name, row.self_time, row.total) for row in rows] == [("b", 75, 80), ("a", 20, 100), ("c", 5, 5)]
    assert [(row.name, row.self_time, row.total) for row in trace.summary().host] == [
        (row.name, row.self_time, row.total) for row in rows
    ]


def test_a_table_shows_names_as_they_are_and_counts_the_rows_that_it_leaves_out() -> None:
    result = ProfilerResult(
        trace_of(
            (0, "[red]bold\x1b</script>", 0, 3_000_000, '{"flops": 12000000, "Input Dims": [[2, 3]]}'),
            (0, "b", 4_000_000, 1_000, None),
            (0, "b", 5_000_000, 3_000, '{"Input Dims": [[4]]}'),
        )
    )
    assert [" ".join(line.split()) for line in str(result.table()).splitlines()] == [
        "Name kind self share total mean count flops",
        r"[red]bold\x1b</script> op 3.00 ms 99.9 % 3.00 ms 3.00 ms 1 12.0 M",
        "b op 4.00 us 0.1 % 4.00 us 2.00 us 2 0",
    ]
    short = result.table(sort_by="count", row_limit=1)
    assert [row.name for row in short.rows] == ["b"]
    assert str(short).splitlines()[-1].split()[:5] == ["1", "more", "name", "3.00", "ms"]
    by_shape = result.rows(group_by_input_shape=True)
    assert [(row.name, row.shapes) for row in by_shape] == [
        ("[red]bold\x1b</script>", "[[2, 3]]"),
        ("b", "[[4]]"),
        ("b", None),
    ]
    assert "[[2, 3]]" in str(result.key_averages(group_by_input_shape=True).table())


def host_and_device() -> ProfilerResult:
    builder = Builder()
    builder.span(builder.thread(), "many", 0, 10, args='{"flops": 5}')
    builder.span(builder.thread(), "many", 20, 30)
    builder.span(builder.thread(), "outer", 40, 90, args='{"flops": 7}')
    builder.span(builder.thread(), "inner", 40, 85)
    builder.work("kernel", 0, 80)
    return ProfilerResult(builder.trace())


@pytest.mark.parametrize(
    ("sort_by", "names"),
    [
        ("self_time", ["kernel", "inner", "many", "outer"]),
        ("total_time", ["kernel", "outer", "inner", "many"]),
        ("mean_time", ["kernel", "outer", "inner", "many"]),
        ("count", ["many", "kernel", "inner", "outer"]),
        ("flops", ["outer", "many", "kernel", "inner"]),
        ("name", ["inner", "kernel", "many", "outer"]),
        ("self_cpu_time_total", ["inner", "many", "outer", "kernel"]),
        ("cpu_time_total", ["outer", "inner", "many", "kernel"]),
        ("cpu_time", ["outer", "inner", "many", "kernel"]),
        ("key", ["inner", "kernel", "many", "outer"]),
        ("device_time_total", ["kernel", "inner", "many", "outer"]),
        ("self_cuda_time_total", ["kernel", "inner", "many", "outer"]),
    ],
)
def test_a_table_is_sorted_by_what_the_name_says(sort_by, names) -> None:
    assert [row.name for row in host_and_device().table(sort_by=sort_by).rows] == names


def test_other_names_to_sort_by_are_refused_with_those_that_exist() -> None:
    listed = "self_time, total_time, mean_time, count, flops, memory, self_memory, name, self_cpu_time_total"
    with pytest.raises(et.UsageValueError, match=f"a table cannot be sorted by 'colour'; use one of {listed}, "):
        host_and_device().table(sort_by="colour")


def test_the_report_of_a_profile_is_that_of_eventide_report(tmp_path, capsys) -> None:
    path = tmp_path / "t.pftrace"
    with et.profile(path) as prof, et.span("outer"), et.span("inner"):
        pass
    assert main(["report", str(path)]) == 0
    assert capsys.readouterr().out == prof.result.report(tmp_path / "r.txt", title="t.pftrace")
    assert (tmp_path / "r.txt").read_text("utf-8") == prof.result.report(title="t.pftrace")
    assert "inner" in prof.result.report()


def test_the_files_of_later_cycles_are_numbered() -> None:
    assert [numbered("a/t.json.gz", number) for number in range(3)] == ["a/t.json.gz", "a/t.2.json.gz", "a/t.3.json.gz"]


@given(
    offset=st.integers(-(10**15), 10**15),
    events=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1),
    looks=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 100), st.integers(0, 100))),
)
def test_the_offset_of_a_clock_is_within_its_stated_error(offset, events, looks) -> None:
    """Times of the truth: the profile starts at 0; a backend's clock shows the host's time minus the offset."""
    reported = [(start - offset, start + took - offset, start + took + late) for start, took, late in events]
    pairs = [(at - before, at - offset, at + after) for at, before, after in looks]
    model = fit(0, reported, pairs)
    assert model.consistent
    assert model.error is not None
    assert abs(model.offset - offset) <= model.error


def test_a_clock_without_samples_has_no_error_bound() -> None:
    assert fit(0, []).error is None


def test_a_clock_without_a_consistent_offset_is_reported() -> None:
    model = fit(0, [(0, 10, 20)], [(1000, 0, 1001)])
    assert not model.consistent
    assert model.error is None
