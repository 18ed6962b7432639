"""et.profile: what it hears, and that it always stops."""

from __future__ import annotations

import gc
import json
import logging
import os
import threading
import weakref

import pytest

import eventide as et
from eventide.compiling import CallbackTrigger, callback_handler
from tests.helpers import TIMEOUT


def names(result, category=None) -> list[str]:
    """Names of the spans in order of their start."""
    spans = result.trace.spans.sort_by("start").to_pylist()
    return [span["name"] for span in spans if category in (None, span["category"])]


def in_thread(act) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join(TIMEOUT)


def now_us() -> int:
    return et._native.now_ns() // 1000


def test_a_profile_records_spans_work_and_compiles() -> None:
    with et.profile() as prof, et.span("outer"):
        stream = et.Stream("cpu")
        stream.submit(et.work(int, name="some work")).result(TIMEOUT)
        stream.close()
        with callback_handler.install_callbacks(CallbackTrigger.OTHER, "0", name="f"):
            pass
    result = prof.result
    assert names(result, "span") == ["outer"]
    assert names(result, "work") == ["some work"]
    assert names(result, "compile") == ["f"]
    result.trace.check()


def test_all_threads_are_heard() -> None:
    def work() -> None:
        with et.span("in a thread"):
            pass

    with et.profile() as prof:
        for _ in range(3):
            in_thread(work)
    assert names(prof.result) == ["in a thread"] * 3


def test_profiles_nest_and_each_has_its_own_time() -> None:
    with et.profile() as outer:
        with et.span("before"):
            pass
        with et.profile() as inner:
            assert et.current_profiler() is inner
            with et.span("inside"):
                pass
        with et.span("after"):
            pass
        assert et.current_profiler() is outer
    assert names(inner.result) == ["inside"]
    assert names(outer.result) == ["before", "inside", "after"]
    assert et.current_profiler() is None


def test_profiles_may_end_in_any_order() -> None:
    first, second = et.profile().start(), et.profile().start()
    with et.span("both"):
        pass
    assert names(first.stop()) == ["both"]
    with et.span("second only"):
        pass
    assert names(second.stop()) == ["both", "second only"]
    assert et.current_profiler() is None


def test_without_a_file_name_nothing_is_saved_and_the_profiler_is_off(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with et.profile(path=""), et.span("x"):
        pass
    assert et.current_profiler() is None
    assert list(tmp_path.iterdir()) == []


def test_an_exception_inside_passes_through_and_the_trace_is_there(tmp_path) -> None:
    path = tmp_path / "t.pftrace"
    with pytest.raises(KeyError, match="mine"), et.profile(path=path) as prof, et.span("x"):
        raise KeyError("mine")
    assert et.current_profiler() is None
    assert names(prof.result) == ["x"]
    assert path.exists()


def test_a_save_that_fails_does_not_hide_the_error_of_the_block(tmp_path, caplog) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with pytest.raises(KeyError, match="mine"), et.profile(path=folder / "t.json"):
        folder.rmdir()
        raise KeyError("mine")
    assert "could not be saved" in caplog.text
    assert et.current_profiler() is None
    folder.mkdir()
    with pytest.raises(ValueError, match="there is no directory"), et.profile(path=folder / "t.json"):
        folder.rmdir()
    assert et.current_profiler() is None


def test_saving_by_hand_and_leaving_the_scope_are_both_fine(tmp_path) -> None:
    with et.profile(path=tmp_path / "scope.json") as prof:
        with et.span("x"):
            pass
        prof.disable_profiler()
        prof.result.save(tmp_path / "hand.json.gz")
        prof.export_chrome_trace(tmp_path / "torch.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hand.json.gz", "scope.json", "torch.json"]
    for path in tmp_path.iterdir():
        assert names(et.profiler.ProfilerResult(et.open_trace(path))) == ["x"]


def test_the_file_is_written_once_and_whole(tmp_path, monkeypatch) -> None:
    saved: list = []
    save = et.Trace.save

    def counted(trace, path):
        saved.append(path)
        return save(trace, path)

    monkeypatch.setattr(et.Trace, "save", counted)
    prof = et.profile(tmp_path / "t.pftrace").start()
    first = prof.stop()
    assert prof.stop() is first
    assert prof.disable_profiler() is prof.get_profiler_result() is first
    assert saved == [str(tmp_path / "t.pftrace")]
    assert [path.name for path in tmp_path.iterdir()] == ["t.pftrace"]


def test_after_disable_nobody_is_current_and_late_events_are_counted(caplog) -> None:
    with et.profile() as prof:
        assert prof.record_backend_event(now_us(), now_us(), 1, "in time", "npu")
        assert et.profiler.disable_profiler() is prof.result
        assert et.current_profiler() is None
        assert not prof.record_backend_event(1, 2, 3, "late", "npu")
        assert not prof.record_backend_memory_event(0, 1, 1, 1, "npu:0")
    assert prof.dropped == {"after disable": 2}
    assert prof.result.profiler["dropped"] == {"after disable": 2}
    assert [record.message for record in caplog.records if "after the profile was stopped" in record.message] != []
    assert "dropped: 2 after disable" in prof.result.report()
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


def test_times_that_cannot_be_are_refused() -> None:
    with et.profile() as prof:
        with pytest.raises(ValueError, match=r"'conv' of 'npu' ends before it starts: start_us=5, end_us=4"):
            prof.record_backend_event(5, 4, 0, "conv", "npu")
        with pytest.raises(TypeError, match="start_us must be a whole number, not float"):
            prof.record_backend_event(0.5, 4, 0, "conv", "npu")
        with pytest.raises(ValueError, match="is at no time that can be"):
            prof.record_backend_event(0, 10**17, 0, "conv", "npu")
        with pytest.raises(ValueError, match="totals cannot be negative"):
            prof.record_backend_memory_event(0, 1, -1, 0, "npu:0")


def test_events_on_another_clock_are_not_put_anywhere_but_counted_and_named() -> None:
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


def test_memory_events_are_recorded_when_asked_for_only() -> None:
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


def test_a_profile_is_started_once_and_says_so() -> None:
    prof = et.profile()
    assert not prof.record_backend_event(1, 2, 3, "early", "npu")
    assert prof.dropped == {"before start": 1}
    with pytest.raises(et.UsageError, match="there is no result yet: this profile is new; stop it first"):
        prof.export_chrome_trace("t.json")
    with prof, pytest.raises(et.UsageError, match="this profile is running; make a new one"):
        prof.start()
    with pytest.raises(et.UsageError, match="this profile is stopped; make a new one"):
        prof.start()
    with pytest.raises(et.UsageError, match="it can step only while it runs"):
        prof.step()


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


def test_a_callable_object_is_profiled_by_its_calls_and_held_weakly() -> None:
    class Model:
        def __call__(self, x):
            return x + 1

    model, other = Model(), Model()
    plain = Model.__call__
    prof = et.profile(model)
    with prof:
        assert model(1) == 2
        assert other(1) == 2
        with et.profile(model) as inner:
            model(2)
    assert Model.__call__ is plain
    assert names(prof.result) == ["Model", "Model"]
    assert names(inner.result) == ["Model"]
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert prof.module is None


@pytest.mark.parametrize(
    ("what", "message"), [(3, "must be something that is called"), (len, "decorate it with @et.span")]
)
def test_what_cannot_be_watched_is_refused_with_the_remedy(what, message) -> None:
    with pytest.raises(TypeError, match=message):
        et.profile(what)


def test_stack_and_modules_together_give_both() -> None:
    class Model:
        def __call__(self):
            with et.span("inside"):
                pass

    model = Model()
    with et.profile(model, with_stack=True, with_modules=True) as prof:
        model()
    assert names(prof.result) == ["Model", "inside"]
    stacks = prof.result.trace.stacks["frames"].to_pylist()
    for stack in prof.result.trace.spans["stack"].to_pylist():
        assert any(frame["function"] == "test_stack_and_modules_together_give_both" for frame in stacks[stack])


def test_a_schedule_records_its_cycles_and_tells_when_each_is_ready(tmp_path) -> None:
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


def test_perf_counters_that_the_kernel_refuses_are_one_warning_and_none_in_the_trace(caplog) -> None:
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
    told = prof.result.profiler["perf_counters"]
    refused = [name for name in asked if any(name in record.message for record in caplog.records)]
    assert sorted([*told, *refused]) == sorted(asked)
    assert {row["name"] for row in prof.result.trace.counters.to_pylist()} == set(told)
    assert all(value >= 0 for value in told.values())


def test_a_forked_child_profiles_nothing() -> None:
    with et.profile() as prof:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                with pytest.raises(et.UsageError, match="this profile is of the parent process"):
                    prof.stop()
                told = f"{et.current_profiler()} {prof}"
                with et.profile() as own, et.span("child"):
                    pass
                os.write(write, f"{told} {names(own.result)}".encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
    assert os.read(read, 1000) == b"None <profile, of the parent process, step 0> ['child']"
    os.close(read)
    os.close(write)
    assert prof.result is not None


def test_a_schedule_that_never_recorded_gives_an_empty_result_that_says_why() -> None:
    with et.profile(schedule=et.profiler.schedule(wait=5, warmup=1, active=1)) as prof, et.span("x"):
        prof.step()
    assert prof.result.trace.spans.num_rows == 0
    assert prof.result.trace.metadata["warnings"] == ["the schedule ended before it recorded anything"]
