"""Events of backends, schedules and perf counters in a profile."""

from __future__ import annotations

import json
import logging

import pytest

import eventide as et
from tests.unit.profiles import names, now_us


def test_after_disable_no_profiler_is_current_and_late_events_are_counted(caplog) -> None:
    with et.profile() as prof:
        assert prof.record_backend_event(now_us(), now_us(), 1, "in time", "npu")
        assert et.profiler.disable_profiler() is prof.result
        assert et.current_profiler() is None
        assert not prof.record_backend_event(1, 2, 3, "late", "npu")
        assert not prof.record_backend_memory_event(0, 1, 1, 1, "npu:0")
    assert prof.dropped == {"after disable": 2}
    assert prof.result.profiler["dropped"] == {"after disable": 2}
    assert [record.message for record in caplog.records if "after the profile was stopped" in record.message] != []
    assert "Events of backends that the profile dropped: 2 after disable." in prof.result.report()
    assert repr(prof.result).endswith("dropped: 2 after disable>")
    assert et.profiler.disable_profiler() is None


def test_a_backend_s_event_is_a_span_on_the_backend_s_track() -> None:
    with et.profile() as prof:
        start = now_us()
        prof.record_backend_event(start, start + 5, 42, "conv2d", "npu")
    (span,) = prof.result.trace.spans.to_pylist()
    assert (span["name"], span["category"], span["start"], span["duration"]) == (
        "conv2d",
        "backend",
        start * 1000,
        5000,
    )
    assert json.loads(span["args"])["debug_handle"] == 42
    assert prof.result.trace.tracks["name"].to_pylist()[span["track"]] == "npu"


def test_invalid_times_are_refused() -> None:
    with et.profile() as prof:
        with pytest.raises(ValueError, match=r"'conv' of 'npu' ends before it starts: start_us=5, end_us=4"):
            prof.record_backend_event(5, 4, 0, "conv", "npu")
        with pytest.raises(TypeError, match="start_us must be a whole number, not float"):
            prof.record_backend_event(0.5, 4, 0, "conv", "npu")
        with pytest.raises(ValueError, match="has an invalid timestamp"):
            prof.record_backend_event(0, 10**17, 0, "conv", "npu")
        with pytest.raises(ValueError, match="totals cannot be negative"):
            prof.record_backend_memory_event(0, 1, -1, 0, "npu:0")


def test_events_on_an_unknown_clock_are_counted_and_named_but_not_recorded() -> None:
    with et.profile() as prof:
        prof.record_backend_event(7, 9, 0, "conv", "npu")  # microseconds since the device was switched on
    assert names(prof.result) == []
    assert prof.dropped == {"outside the profile": 1}
    (warning,) = prof.result.trace.metadata["warnings"]
    assert "1 events of backend 'npu' lie outside the profile" in warning
    assert "use adjust_timestamps=True" in warning


def test_another_clock_is_mapped_onto_the_host_s_with_a_stated_error() -> None:
    offset = 5_000_000_000  # microseconds that the backend's clock is ahead
    with et.profile(adjust_timestamps=True) as prof:
        before = now_us()
        prof.record_backend_clock("npu", before, before + offset, before + 2)
        start = now_us()
        while now_us() < start + 3:
            pass  # a report comes after the event
        prof.record_backend_event(start + offset, start + offset + 1, 3, "conv", "npu")
    (span,) = prof.result.trace.spans.to_pylist()
    model = prof.result.profiler["clocks"]["npu"]
    assert model["consistent"]
    assert 0 <= model["error_ns"] <= 2000
    assert abs(model["offset_ns"] + offset * 1000) <= model["error_ns"]
    assert abs(span["start"] - start * 1000) <= model["error_ns"]
    assert (span["name"], span["duration"]) == ("conv", 1000)
    assert prof.result.trace.instants.num_rows == 1  # the clock's
    prof.result.trace.check()


def test_memory_events_are_recorded_only_on_request() -> None:
    with et.profile(profile_memory=True) as prof:
        prof.record_backend_memory_event(4096, 100, 100, 200, "npu:0")
        prof.record_backend_memory_event(4096, -100, 0, 200, "npu:0")
    trace = prof.result.trace
    counters = [(row["name"], row["value"]) for row in trace.counters.sort_by("time").to_pylist()]
    assert sorted(counters) == sorted(
        [("allocated bytes", 100), ("reserved bytes", 200), ("allocated bytes", 0), ("reserved bytes", 200)]
    )
    assert [json.loads(text)["Bytes"] for text in trace.instants["args"].to_pylist()] == [100, -100]
    assert "npu:0" in trace.tracks["device"].to_pylist()
    with et.profile() as prof:
        assert not prof.record_backend_memory_event(4096, 100, 100, 200, "npu:0")
    assert prof.dropped == {"memory not asked for": 1}
    assert prof.result.trace.counters.num_rows == 0


def test_names_of_any_kind_are_in_every_file(tmp_path) -> None:
    odd = ['"quoted"', "back\\slash", "line\nfeed", "nul\0", "emoji 🎉", "</script>", "x" * 100_000]
    with et.profile() as prof:
        for name in odd:
            with et.span(name):
                pass
            prof.record_backend_event(now_us(), now_us(), 0, name, name[:50])
    for suffix in ("json", "json.gz", "pftrace", "parquet"):
        prof.result.save(tmp_path / f"t.{suffix}")
    assert sorted(names(prof.result)) == sorted(odd * 2)
    assert {row["name"] for row in et.open_trace(tmp_path / "t.json").spans.to_pylist()} == set(odd)
    assert str(prof.result.table())


def test_a_schedule_records_its_cycles_and_calls_back_when_each_is_ready(tmp_path) -> None:
    ready: list = []
    plan = et.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with et.profile(
        path=tmp_path / "t.json", schedule=plan, on_trace_ready=lambda prof: ready.append(names(prof.result))
    ) as prof:
        for number in range(10):
            with et.span(f"work {number}"):
                pass
            prof.step()
    assert ready == [
        ["ProfilerStep#2", "work 2", "ProfilerStep#3", "work 3"],
        ["ProfilerStep#6", "work 6", "ProfilerStep#7", "work 7"],
    ]
    assert len(prof.results) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.2.json", "t.json"]
    assert et.current_profiler() is None


def test_events_outside_the_schedule_are_counted() -> None:
    with et.profile(schedule=et.profiler.schedule(wait=1, warmup=0, active=1)) as prof:
        assert not prof.record_backend_event(now_us(), now_us(), 0, "waiting", "npu")
        prof.step()
        assert prof.record_backend_event(now_us(), now_us(), 0, "active", "npu")
    assert names(prof.result, "backend") == ["active"]
    assert prof.dropped == {"outside the schedule": 1}


def test_perf_counters_that_the_kernel_refuses_are_one_warning_and_not_in_the_trace(caplog) -> None:
    with caplog.at_level(logging.WARNING), et.profile(perf_counters=["bananas"]) as prof:
        pass
    lines = [record.message for record in caplog.records if "perf counters" in record.message]
    assert len(lines) == 1
    assert (
        "perf counters bananas are not recorded: there is no such counter; there are cycles, instructions" in lines[0]
    )
    assert prof.result.trace.metadata["warnings"] == lines
    assert prof.result.trace.counters.num_rows == 0


def test_perf_counters_are_recorded_or_refused_and_never_both(caplog) -> None:
    asked = ["cycles", "instructions", "page-faults", "task-clock"]
    with et.profile(events=asked) as prof:
        sum(range(100_000))
    counted = prof.result.profiler["perf_counters"]
    refused = [name for name in asked if any(name in record.message for record in caplog.records)]
    assert sorted([*counted, *refused]) == sorted(asked)
    assert {row["name"] for row in prof.result.trace.counters.to_pylist()} == set(counted)
    assert all(value >= 0 for value in counted.values())


def test_a_schedule_that_never_recorded_gives_an_empty_result_with_the_reason() -> None:
    with et.profile(schedule=et.profiler.schedule(wait=5, warmup=1, active=1)) as prof, et.span("x"):
        prof.step()
    assert prof.result.trace.spans.num_rows == 0
    assert prof.result.trace.metadata["warnings"] == ["the schedule ended before it recorded anything"]
