"""`eventide run`: the program behaves as without it, and its trace can be read however it ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import eventide as et

PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT = 100


def alone(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=cwd, timeout=TIMEOUT, check=False
    )


def recorded(*command: str, cwd: Path, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    launcher = ("-m", "eventide", "run", "-o", "t.eventide", *options)
    return alone(*launcher, *command, cwd=cwd)


def same(*command: str, cwd: Path) -> tuple[subprocess.CompletedProcess[str], et.Trace]:
    """Both runs, which must agree in output and exit code; the trace of the second."""
    plain, watched = alone(*command, cwd=cwd), recorded(*command, cwd=cwd, options=("--quiet",))
    assert (watched.returncode, watched.stdout, watched.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    trace = et.open_trace(cwd / "t.eventide")
    trace.check()
    return watched, trace


@pytest.mark.heavy
@pytest.mark.parametrize("program", ["threads.py", "loop.py", "spawned.py"])
def test_a_program_that_does_not_use_eventide_runs_unchanged(tmp_path, program):
    done, trace = same(str(PROGRAMS / program), cwd=tmp_path)
    assert done.returncode == 0
    assert trace.tracks.num_rows > 0


def test_arguments_after_the_program_are_passed_to_the_program(tmp_path):
    done, _ = same(str(PROGRAMS / "threads.py"), "--fail", "--ring", "-o", "x", cwd=tmp_path)
    assert done.returncode == 3
    assert "['--fail', '--ring', '-o', 'x']" in done.stdout


def test_a_format_that_cannot_be_written_is_refused_before_the_program_runs(tmp_path):
    done = alone("-m", "eventide", "run", "-o", "t.docx", str(PROGRAMS / "threads.py"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'t.docx' has no suffix of a format that is written; use .pftrace" in done.stderr


def test_a_plain_program_is_reported_by_its_samples(tmp_path):
    """Threads have their names, memory is a counter, and the wall time is the run's."""
    done = recorded(str(PROGRAMS / "named_threads.py"), cwd=tmp_path, options=("--sample", "1"))
    assert done.returncode == 0, done.stderr
    trace = et.open_trace(tmp_path / "t.eventide")
    found = trace.samples()
    threads = {row.thread: row for row in found.threads}
    assert {"MainThread", "worker"} <= set(threads)
    assert threads["worker"].running > threads["worker"].waiting
    assert threads["MainThread"].waiting > threads["MainThread"].running
    assert next(row.function for row in found.functions if row.self_running) == "spin"
    assert set(trace.counters.column("name").to_pylist()) >= {"RSS"}
    run = trace.metadata["run"]
    assert trace.summary().wall == run["ended_ns"] - run["began_ns"] > found.wall
    assert "spin" in trace.report()


def test_a_module_runs_as_python_m_runs_it(tmp_path):
    (tmp_path / "a.json").write_text('{"b": [1, 2]}')
    done, _ = same("-m", "json.tool", "--compact", "a.json", cwd=tmp_path)
    assert done.stdout == '{"b":[1,2]}\n'


@pytest.mark.heavy
@pytest.mark.parametrize("how", ["exit", "text", "raise", "_exit", "interrupt", "SIGTERM", "SIGKILL", "SIGSEGV"])
def test_the_program_ends_as_without_eventide_and_the_trace_opens(tmp_path, how):
    done, trace = same(str(PROGRAMS / "ends.py"), how, cwd=tmp_path)
    assert done.stdout == "before\n"
    assert trace.tracks.num_rows > 0


def test_the_summary_goes_to_stderr_and_names_the_file(tmp_path):
    done = recorded(str(PROGRAMS / "threads.py"), cwd=tmp_path)
    assert done.stdout.startswith("__main__ []")
    assert "t.eventide" in done.stderr
    assert "dropped" in done.stderr
    assert len(done.stderr.splitlines()) <= 45


def test_the_summary_as_json(tmp_path):
    done = recorded(str(PROGRAMS / "ends.py"), "exit", cwd=tmp_path, options=("--json", "s.json", "-q"))
    assert done.stderr == ""
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["ended"]["code"] == 3
    assert summary["files"] == ["t.eventide"]


def test_a_kill_is_stated_in_the_summary_and_leaves_no_buffer_behind(tmp_path):
    done = recorded(str(PROGRAMS / "ends.py"), "SIGKILL", cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert "killed by SIGKILL" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.eventide"]
    pid = et.open_trace(tmp_path / "t.eventide").metadata["pid"]
    assert list(Path("/dev/shm").glob(f"eventide-{pid}-*")) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ((), "name the program to run"),
        (("nowhere.py",), "there is no file nowhere.py"),
        (("--start-on", "SIGNONE", "x.py"), "is not a signal that a program can handle"),
        (("--schedule", "1,x", "x.py"), "--schedule 1,x is not WAIT,WARMUP,ACTIVE"),
        (("-o", "no/such/folder/t.eventide", "x.py"), "no/such/folder"),
    ],
)
def test_invalid_options_are_one_line_and_nothing_runs(tmp_path, command, message):
    (tmp_path / "x.py").write_text("print('ran')")
    done = alone("-m", "eventide", "run", *command, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


WAITS = """
import os, signal, sys, time
print("ready", flush=True)
sys.stdin.readline()
print("done", flush=True)
"""


@pytest.mark.heavy
def test_a_signal_starts_the_recording_and_ends_it(tmp_path):
    (tmp_path / "waits.py").write_text(WAITS)
    command = [
        sys.executable,
        "-m",
        "eventide",
        "run",
        "-o",
        "t.eventide",
        "--start-on",
        "usr1",
        "--json",
        "s.json",
        "waits.py",
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=tmp_path, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        assert not (tmp_path / "t.eventide").exists()
        process.send_signal(signal.SIGUSR1)  # to eventide, which forwards it
        for _ in range(600):
            if (tmp_path / "t.eventide").exists():
                break
            process.poll()
            threading.Event().wait(0.1)
        out, err = process.communicate("go on\n", timeout=TIMEOUT)
    assert (process.returncode, out) == (0, "done\n")
    assert "written: t.eventide" in err
    assert json.loads((tmp_path / "s.json").read_text())["files"] == ["t.eventide"]


@pytest.mark.heavy
def test_a_signal_that_never_came_is_reported(tmp_path):
    done = recorded(str(PROGRAMS / "ends.py"), "exit", cwd=tmp_path, options=("--start-on", "SIGUSR1"))
    assert done.returncode == 3
    assert "nothing was recorded: SIGUSR1 was never received" in done.stderr


@pytest.mark.heavy
def test_a_page_is_written_beside_the_recording_and_changes_no_exit_code(tmp_path):
    program = str(PROGRAMS / "threads.py")
    done = recorded(program, "--fail", cwd=tmp_path, options=("-q", "--report", "page.html"))
    assert done.returncode == 3
    assert "eventide: the report is page.html" in done.stderr
    assert "<title>t.eventide - eventide</title>" in (tmp_path / "page.html").read_text("utf-8")
    done = recorded(program, cwd=tmp_path, options=("-q", "--report", "nowhere/page.html"))
    assert done.returncode == 0
    assert "eventide: no page was written: nowhere/page.html cannot be written: No such file" in done.stderr
    done = recorded(program, cwd=tmp_path, options=("--report", "page.txt"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--report writes a page, so 'page.txt' must end in .html" in done.stderr


def test_a_ring_and_another_format(tmp_path):
    done = alone("-m", "eventide", "run", "--ring", "-o", "t.parquet", str(PROGRAMS / "threads.py"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert et.open_trace(tmp_path / "t.parquet").tracks.num_rows > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet"]


@pytest.mark.heavy
def test_the_program_continues_after_the_recorded_seconds(tmp_path):
    code = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: sum(range(1000))\nprint('through')"
    (tmp_path / "busy.py").write_text(code)
    done = recorded("busy.py", cwd=tmp_path, options=("--seconds", "1", "--sample", "5", "--quiet"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "through\n", "")
    trace = et.open_trace(tmp_path / "t.eventide")
    assert trace.instants.num_rows > 0
    assert "sample" in trace.instants.column("category").to_pylist()


STEPS = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(9):
    import eventide as et
    et.instant(f"step {step}")
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""


@pytest.mark.heavy
def test_a_schedule_records_those_steps_of_the_optimizer_a_file_a_cycle(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "train.py").write_text(STEPS)
    done = recorded("train.py", cwd=tmp_path, options=("--schedule", "1,1,2,2", "--json", "s.json"))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "s.json").read_text())["files"] == ["t.eventide", "t-2.eventide"]
    marks = []
    for name in ("t.eventide", "t-2.eventide"):
        names = et.open_trace(tmp_path / name).instants.column("name").to_pylist()
        marks.append([name for name in names if name.startswith("step")])
    assert marks == [["step 2", "step 3"], ["step 6", "step 7"]]


STRICT = """
[tool.pytest.ini_options]
filterwarnings = ["error", "ignore:.*_editable_:pytest.PytestAssertRewriteWarning"]
"""
# What pytest does with the packages of an installed wheel that has a plug-in; an editable install does not list them.
AS_INSTALLED = """
def pytest_configure(config):
    config.pluginmanager.rewrite_hook.mark_rewrite("eventide")
"""
TESTS = """
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_it(n):
    assert n

class TestMore:
    def test_fails(self):
        assert False
"""


def test_pytest_runs_as_alone_with_warnings_as_errors_and_each_test_is_a_span(tmp_path):
    (tmp_path / "pyproject.toml").write_text(STRICT)
    (tmp_path / "conftest.py").write_text(AS_INSTALLED)
    (tmp_path / "test_a.py").write_text(TESTS)
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line")
    plain, watched = alone(*command, cwd=tmp_path), recorded(*command, cwd=tmp_path, options=("--quiet",))
    assert (watched.returncode, watched.stderr) == (plain.returncode, plain.stderr) == (1, "")
    assert watched.stdout.splitlines()[:-1] == plain.stdout.splitlines()[:-1]  # the last line has the duration
    names = et.open_trace(tmp_path / "t.eventide").spans.sort_by("start")["name"].to_pylist()
    assert names == ["test_a.py::test_it[1]", "test_a.py::test_it[2]", "test_a.py::TestMore::test_fails"]


TASKS = """
import asyncio

async def fetch(n):
    await asyncio.sleep(0.01 * n)
    return n

async def fails():
    raise ValueError("never retrieved")

async def main():
    tasks = [asyncio.create_task(fetch(n), name=f"fetch {n}") for n in (1, 2)]
    asyncio.create_task(fails(), name="bad")
    late = asyncio.create_task(fetch(100), name="late")
    print(await asyncio.gather(*tasks))
    late.cancel()
    asyncio.get_running_loop().create_task(fetch(0), name="on the loop")
    await asyncio.sleep(0.01)

asyncio.run(main())
"""


def test_tasks_of_asyncio_are_spans_under_their_names_and_errors_are_reported_as_alone(tmp_path):
    (tmp_path / "p.py").write_text(TASKS)
    done, trace = same("p.py", cwd=tmp_path)
    assert "Task exception was never retrieved" in done.stderr
    rows = {row["name"]: row for row in trace.spans.to_pylist()}
    ended = {name: json.loads(row["args"]).get("ended") for name, row in rows.items() if not name.startswith("Task-")}
    assert ended == {"fetch 1": None, "fetch 2": None, "bad": "ValueError", "late": "cancelled", "on the loop": None}
    assert json.loads(rows["fetch 1"]["args"])["coroutine"] == "fetch"
    assert rows["fetch 2"]["duration"] >= 20_000_000
    assert trace.tracks["name"][rows["late"]["track"]].as_py() == "asyncio tasks"
    tasks = {row.name: row for row in et.analysis.summary(trace).tasks}
    assert {"fetch 1", "bad", "late"} <= set(tasks)
    assert tasks["fetch 2"].total == rows["fetch 2"]["duration"]
    assert "Task " in (text := trace.report()) and "fetch 2 " in text
