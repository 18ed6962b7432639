"""JAX's profiles: our reader against JAX's own, and programs that profile themselves under a recording."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from tests.integration import perfetto

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]
LIMIT = 200  # seconds

PROFILES = """
import sys, jax
from jax.profiler import ProfileData
f = jax.jit(lambda x: (x @ x).sum())
x = jax.numpy.ones((128, 128))
with jax.profiler.trace(sys.argv[1]):
    for step in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            with jax.profiler.TraceAnnotation("mine", count=3, ratio=2.5, text="a"):
                f(x).block_until_ready()
"""
ORACLE = """
import json, sys
from jax.profiler import ProfileData
planes = [
    [plane.name, dict((k, v) for k, v in plane.stats if k != "profile_options"), [
        [line.name, [[e.name, e.start_ns, e.duration_ns, dict(e.stats)] for e in line.events]]
        for line in plane.lines]]
    for plane in ProfileData.from_file(sys.argv[1]).planes]
print(json.dumps(planes))
"""
TRACED = """
import sys, time, jax, eventide as et
from eventide.integrations import jax as adapter
f = jax.jit(lambda x: (x @ x).sum())
x = jax.numpy.ones((64, 64))
f(x).block_until_ready()
def marked(name):
    before = time.monotonic_ns()
    with jax.profiler.TraceAnnotation(name):
        f(x).block_until_ready()
    print(name, before, time.monotonic_ns())
plain = (jax.profiler.start_trace, jax.profiler.stop_trace)
adapter.install()
with et.Recorder(sys.argv[1]):
    marked("not profiled")
    with jax.profiler.trace(sys.argv[2]):
        marked("of the program")
    with adapter.profile():
        marked("of ours")
        jax.profiler.start_trace(sys.argv[2] + "/second")
        marked("of the program again")
        with adapter.profile():
            marked("inside")
        jax.profiler.stop_trace()
    with adapter.profile():
        try:
            jax.profiler.stop_trace()
        except RuntimeError as error:
            print("error", error)
    adapter.uninstall()
    assert (jax.profiler.start_trace, jax.profiler.stop_trace) == plain
    with jax.profiler.trace(sys.argv[2] + "/third"):
        marked("uninstalled")
"""


@pytest.fixture(scope="module", autouse=True)
def needs_jax() -> None:
    pytest.importorskip("jax", reason="jax is not installed")


def child(code: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def profiled(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    child(PROFILES, folder)
    return folder


def test_our_reader_and_jax_s_see_the_same_events(profiled):
    (file,) = profiled.glob("plugins/profile/*/*.xplane.pb")
    planes = json.loads(child(ORACLE, file).stdout.splitlines()[-1])
    trace = et.open_trace(profiled)
    trace.check()
    began = {name: stats for name, stats, _ in planes}["Task Environment"]["profile_start_time"]
    assert trace.metadata["clock"] == {"name": "unix", "unit": "ns", "base": began}
    assert trace.metadata["profile"] == {name: stats for name, stats, _ in planes if stats}
    lines = [(name, events) for _, _, lines in planes for name, events in lines]
    assert [row["name"] for row in trace.tracks.to_pylist()[: len(lines)]] == [name for name, _ in lines]
    ours: list[list[Any]] = [[] for _ in lines]
    for row in trace.spans.to_pylist():
        ours[row["track"]].append([row["name"], row["start"] - began, row["duration"], json.loads(row["args"] or "{}")])
    assert sum(map(len, ours)) > 100
    for mine, (_, theirs) in zip(ours, lines, strict=True):
        assert [(name, args) for name, _, _, args in mine] == [(name, args) for name, _, _, args in theirs]
        for (_, start, duration, _), (_, their_start, their_duration, _) in zip(mine, theirs, strict=True):
            assert abs(start - their_start) < 1  # theirs have picoseconds
            assert abs(start + duration - their_start - their_duration) < 1


def test_the_report_opens_the_directory_without_importing_jax(profiled):
    code = (
        "import sys; sys.modules['jax'] = sys.modules['jaxlib'] = None\n"
        "from eventide.cli import main; sys.exit(main(['report', sys.argv[1]]))"
    )
    shown = child(code, profiled).stdout
    assert "3 steps" in shown
    assert "torch.profiler" not in shown


def test_perfetto_sees_every_event_of_a_profile_and_loses_nothing(profiled, tmp_path):
    trace = et.open_trace(profiled)
    trace.save(tmp_path / "t.pftrace")
    with perfetto.trace_processor(tmp_path / "t.pftrace") as processor:
        assert perfetto.lost(processor) == []
        assert processor.query("select count(*) as n from slice") == [{"n": trace.spans.num_rows}]


@pytest.fixture(scope="module")
def traced(tmp_path_factory) -> tuple[et.Trace, dict[str, str], str]:
    folder = tmp_path_factory.mktemp("traced")
    done = child(TRACED, folder / "t.eventide", folder / "profile")
    reported = {line.rsplit(" ", 2)[0]: line for line in done.stdout.splitlines()}
    return et.open_trace(folder / "t.eventide"), reported, done.stderr


def test_profiles_are_recorded_on_the_trace_s_clock_between_the_host_s_marks(traced):
    trace, reported, _ = traced
    spans = {row["name"]: row for row in trace.spans.to_pylist()}
    reads = [json.loads(row["args"]) for row in trace.spans.to_pylist() if row["name"] == "read JAX's profile"]
    error = max(one["clock_error_ns"] for one in reads)
    assert error < 1_000_000
    for name in ("of the program", "of ours", "of the program again", "inside"):
        before, after = map(int, reported[name].split()[-2:])
        span = spans[name]
        assert before - error <= span["start"] <= span["start"] + span["duration"] <= after + error
        assert trace.tracks.to_pylist()[span["track"]]["name"].startswith("JAX ")
    assert not any(trace.metadata["account"]["dropped"].values())
    trace.check()


def test_code_outside_of_profiles_and_after_uninstall_is_not_recorded(traced):
    trace, _, _ = traced
    names = set(trace.spans.column("name").to_pylist())
    assert not {"not profiled", "uninstalled"} & names
    compiles = [row for row in trace.spans.to_pylist() if row["category"] == "compile"]
    assert {json.loads(row["args"])["trigger"] for row in compiles} <= {"JAX"}  # none is there twice


def test_the_program_sees_jax_as_it_is(traced):
    _, reported, err = traced
    assert any(line.startswith("error No profile") for line in reported.values())
    assert err.count("no profile of JAX is taken here: Profile has already been started") == 1
    assert "the program continues" not in err
