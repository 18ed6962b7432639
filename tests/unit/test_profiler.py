"""et.profile: what it records, and that it always stops."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import weakref

import pytest

import eventide as et
from eventide.compiling import CallbackTrigger, callback_handler
from tests.helpers import TIMEOUT
from tests.unit.profiles import in_thread, names, now_us


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


def test_all_threads_are_profiled() -> None:
    def work() -> None:
        with et.span("in a thread"):
            pass

    with et.profile() as prof:
        for _ in range(3):
            in_thread(work)
    assert names(prof.result) == ["in a thread"] * 3


def test_profiles_nest_and_each_has_its_own_time_range() -> None:
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


def test_an_exception_in_the_block_propagates_and_the_trace_is_available(tmp_path) -> None:
    path = tmp_path / "t.pftrace"
    with pytest.raises(KeyError, match="mine"), et.profile(path=path) as prof, et.span("x"):
        raise KeyError("mine")
    assert et.current_profiler() is None
    assert names(prof.result) == ["x"]
    assert path.exists()


def test_a_save_that_fails_does_not_hide_the_error_of_the_block(tmp_path, caplog) -> None:
    path = tmp_path / "t.json"
    with pytest.raises(KeyError, match="mine"), et.profile(path=path) as prof:
        path.mkdir()  # now it cannot be written
        raise KeyError("mine")
    assert "could not be saved" in caplog.text
    assert et.current_profiler() is None
    assert prof.result is not None
    path.rmdir()
    with pytest.raises(ValueError, match="is a directory"), et.profile(path=path):
        path.mkdir()
    assert et.current_profiler() is None


def test_saving_explicitly_and_at_the_end_of_the_scope_both_work(tmp_path) -> None:
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


def test_calls_in_the_wrong_state_of_a_profile_are_errors() -> None:
    prof = et.profile()
    assert not prof.record_backend_event(1, 2, 3, "early", "npu")
    assert prof.dropped == {"before start": 1}
    with pytest.raises(et.UsageError, match="there is no result yet: this profile is new; start it, and stop it"):
        prof.export_chrome_trace("t.json")
    with pytest.raises(et.UsageError, match="this profile was not started; start it first"):
        prof.stop()
    with prof, pytest.raises(et.UsageError, match="this profile is running; make a new one"):
        prof.start()
    with pytest.raises(et.UsageError, match="this profile is stopped; make a new one"):
        prof.start()
    with pytest.raises(et.UsageError, match="it can step only while it runs"):
        prof.step()


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
def test_an_object_that_cannot_be_profiled_is_refused_with_the_remedy(what, message) -> None:
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


def test_a_forked_child_profiles_nothing() -> None:
    with et.profile() as prof:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                with pytest.raises(et.UsageError, match="this profile is of the parent process"):
                    prof.stop()
                state = f"{et.current_profiler()} {prof}"
                with et.profile() as own, et.span("child"):
                    pass
                os.write(write, f"{state} {names(own.result)}".encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
    assert os.read(read, 1000) == b"None <profile, of the parent process, step 0> ['child']"
    os.close(read)
    os.close(write)
    assert prof.result is not None


@pytest.mark.parametrize("name", ["t.pftrace", "t.eventide"])
def test_a_killed_process_leaves_its_recording(tmp_path, name) -> None:
    code = f"""
import os, signal, eventide as et
with et.profile({str(tmp_path / name)!r}) as prof:
    with et.span("before the end"): pass
    start = et._native.now_ns() // 1000
    prof.record_backend_event(start, start, 0, "conv", "npu")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    (left,) = [path for path in tmp_path.iterdir() if path.suffix == ".eventide"]
    trace = et.open_trace(left)
    assert {"before the end", "conv"} <= set(trace.spans["name"].to_pylist())


def test_saving_as_eventide_keeps_the_recording_and_other_formats_leave_no_second_file(tmp_path) -> None:
    with et.profile(tmp_path / "t.eventide") as outer, et.profile(tmp_path / "inner.eventide"), et.span("x"):
        pass
    with et.profile(tmp_path / "t.pftrace"), et.span("y"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inner.eventide", "t.eventide", "t.pftrace"]
    assert et.open_trace(tmp_path / "t.eventide").spans["name"].to_pylist() == ["x"]
    assert et.open_trace(tmp_path / "inner.eventide").spans["name"].to_pylist() == ["x"]
    assert names(outer.result) == ["x"]


def test_a_program_that_ends_inside_a_profile_still_writes_its_file(tmp_path) -> None:
    path = tmp_path / "t.json"
    code = (
        f"import eventide as et; et.profile({str(path)!r}).start(); et.span('x').__enter__().__exit__(None, None, None)"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert et.open_trace(path).spans["name"].to_pylist() == ["x"]


def test_a_function_that_raises_leaves_no_span_open() -> None:
    @et.span("decorated")
    def fails() -> None:
        raise KeyError

    with et.profile() as prof:
        for _ in range(2):
            with pytest.raises(KeyError):
                fails()
    assert names(prof.result) == ["decorated", "decorated"]
    assert prof.result.trace.spans["duration"].null_count == 0


def test_recorded_and_dropped_counts_are_reported_zero_included() -> None:
    with et.profile() as prof:
        for _ in range(100):
            with et.span("x"):
                pass
    account = prof.result.trace.metadata["account"]
    assert account["dropped"]["spans"] == 0
    assert account["recorded"]["spans"] == 100 == len(names(prof.result))
    assert repr(prof.result).endswith("dropped: nothing>")


def test_a_profile_inside_a_recording_is_a_part_of_it() -> None:
    with et.Recorder() as recorder:
        with et.span("before"):
            pass
        with et.profile() as prof, et.span("inside"):
            prof.record_backend_event(now_us(), now_us(), 0, "conv", "npu")
    assert sorted(names(prof.result)) == ["conv", "inside"]
    assert sorted(recorder.trace.spans["name"].to_pylist()) == ["before", "conv", "inside"]
