"""`eventide run` records child processes too, each into a file of its own, without an effect on the program."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as et

TIMEOUT = 100


def alone(*command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=TIMEOUT,
        check=False,
        env={**os.environ, **variables},
    )


def same(program: str, cwd: Path, *options: str, **variables: str) -> list[et.Trace]:
    """Both runs, which must agree in output and exit code; the recordings of the second, the program's first."""
    (cwd / "program.py").write_text(program)
    plain = alone("program.py", cwd=cwd, **variables)
    run = alone("-m", "eventide", "run", "-q", *options, "program.py", cwd=cwd, **variables)
    assert (run.returncode, run.stdout, run.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    (made,) = (path for path in cwd.iterdir() if re.fullmatch(r"program-\d{8}-\d{6}(\.eventide)?", path.name))
    files = sorted(made.iterdir(), key=lambda file: not file.name.startswith("main-")) if made.is_dir() else [made]
    traces = [et.open_trace(file) for file in files]
    for trace in traces:
        trace.check()
        assert list(Path("/dev/shm").glob(f"eventide-{trace.metadata['pid']}-*")) == []
    return traces


def kinds(traces: list[et.Trace]) -> list[str]:
    return sorted(trace.metadata["process"]["kind"] for trace in traces)


def lives(trace: et.Trace) -> list[dict]:
    """The arguments of the spans of child processes, in order."""
    rows = trace.sql("select args from spans where category = 'process' order by start").fetchall()
    return [json.loads(row[0]) for row in rows]


def test_a_program_without_children_is_one_file_as_before(tmp_path):
    (trace,) = same("print('alone')", tmp_path)
    assert trace.metadata["process"]["kind"] == "main"
    assert lives(trace) == []


FORKS = """
import os
for code in (0, 3):
    pid = os.fork()
    if not pid:
        print("child", code, flush=True)
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
pid = os.fork()
if not pid:
    os.kill(os.getpid(), 9)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_forked_children_have_recordings_and_their_parent_has_how_they_ended(tmp_path):
    main, *children = traces = same(FORKS, tmp_path)
    assert kinds(traces) == ["fork", "fork", "fork", "main"]
    assert [life["code"] for life in lives(main)] == [0, 3, -9]
    for child in children:
        assert child.metadata["process"]["parent"] == main.metadata["pid"]


STARTS = """
import os, subprocess, sys
shown = "import os; e = os.environ; print(e.get('PYTHONPATH'), e.get('MARK'), [n for n in e if 'EVENTIDE' in n])"
run = [sys.executable, "-c", shown]
subprocess.run(run)
subprocess.run(run, env={**os.environ, "MARK": "2"})
subprocess.run(run, env={"PYTHONPATH": "/somewhere"}, close_fds=False)
os.environ["PYTHONPATH"] = "/elsewhere"
subprocess.run(run)
os.waitpid(os.posix_spawn(sys.executable, run, os.environ), 0)
os.system(f'MARK=3 "{sys.executable}" -c "{shown}"')
subprocess.run([sys.executable, "-I", "-c", "print('isolated')"])
subprocess.run(["true"])
print(os.environ.get("PYTHONPATH"), [n for n in os.environ if "EVENTIDE" in n])
pid = os.fork()
if not pid:
    os.execve(sys.executable, run, {**os.environ, "MARK": "4"})
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize("pythonpath", ["", "/first:/second"])
def test_programs_of_python_are_recorded_however_they_are_started_and_see_their_own_environment(tmp_path, pythonpath):
    main, *children = same(STARTS, tmp_path, **({"PYTHONPATH": pythonpath} if pythonpath else {}))
    assert kinds(children) == ["fork"] + ["python"] * 7
    recorded = {child.metadata["pid"] for child in children}
    missing = [life["command"] for life in lives(main) if life["pid"] not in recorded]
    assert len(missing) == 2
    assert "-I" in missing[0]
    assert missing[1] == "true"


def test_the_sitecustomize_of_the_environment_runs_in_children_too(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\nif '-m' not in sys.orig_argv: print('customized', flush=True)")
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1)'])"
    assert len(same(program, tmp_path, PYTHONPATH=str(site))) == 2


INTERRUPTED = """
import os, signal, subprocess, sys, threading
try:
    os.posix_spawn("/none", ["none"], os.environ)
except FileNotFoundError as error:
    print(error)
child = subprocess.Popen(["sleep", "60"])
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    child.wait()
finally:
    child.kill()
"""


def test_the_traceback_of_an_interrupted_wait_is_the_programs_own(tmp_path):
    (trace,) = same(INTERRUPTED, tmp_path)
    assert [life["command"] for life in lives(trace)] == ["sleep 60"]


POOLS = """
import multiprocessing as mp, os
from concurrent.futures import ProcessPoolExecutor

def work(n):
    return sum(range(n))

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with ProcessPoolExecutor(2, mp_context=mp.get_context(method)) as pool:
            print(method, list(pool.map(work, range(20))))
"""


@pytest.mark.heavy
def test_workers_of_pools_are_recorded_under_their_names(tmp_path):
    traces = same(POOLS, tmp_path)
    names = {(trace.metadata.get("ended") or {}).get("name") for trace in traces}
    for method in ("Fork", "Spawn", "ForkServer"):
        assert any(re.fullmatch(rf"{method}Process-\d+", name) for name in names if name), names


def test_children_are_not_recorded_on_request(tmp_path):
    (trace,) = same(FORKS, tmp_path, "--children", "no")
    assert lives(trace) == []


def test_one_merged_trace_in_another_format(tmp_path):
    (tmp_path / "program.py").write_text(FORKS)
    run = alone("-m", "eventide", "run", "-q", "-o", "t.pftrace", "program.py", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py", "t.pftrace"]
    trace = et.open_trace(tmp_path / "t.pftrace")
    trace.check()
    found = trace.sql("select count(*), count(distinct pid) from tracks where kind = 'process'").fetchall()
    assert found == [(4, 4)]
    assert [one["kind"] for one in trace.metadata["processes"]] == ["main", "fork", "fork", "fork"]


def test_the_summary_names_each_process_and_report_opens_the_directory(tmp_path):
    (tmp_path / "program.py").write_text(FORKS + "import subprocess\nsubprocess.run(['sleep', '0.01'])\n")
    run = alone("-m", "eventide", "run", "--json", "s.json", "program.py", cwd=tmp_path)
    rows = json.loads((tmp_path / "s.json").read_text())["processes"]["rows"]
    assert [row["code"] for row in rows] == [0, 0, 3, -9, 0]
    assert [bool(row["file"]) for row in rows] == [True] * 4 + [False]
    assert "5 processes" in run.stderr
    assert "killed by SIGKILL" in run.stderr
    assert "not recorded: sleep 0.01" in run.stderr
    done = alone("-m", "eventide", "report", cwd=tmp_path)
    assert re.match(r"eventide: opening program-\d+-\d+, the newest recording in this folder\n", done.stderr)
    assert "5 processes" in done.stdout


BUSY = """
import os, time

def work():
    while time.process_time() < 0.5:
        sum(range(1000))

pid = os.fork()
if not pid:
    work()
    os._exit(0)
os.waitpid(pid, 0)
"""


def test_the_summary_has_what_the_children_ran(tmp_path):
    (tmp_path / "program.py").write_text(BUSY)
    run = alone("-m", "eventide", "run", "--json", "s.json", "program.py", cwd=tmp_path)
    found = json.loads((tmp_path / "s.json").read_text())["summary"]
    assert found["samples"]["functions"][0]["function"] == "work"
    assert re.search(r"samples? in 2 processes", run.stderr)
    (made,) = (path for path in tmp_path.iterdir() if path.is_dir())
    memory = alone("-m", "eventide", "trace", "memory", made.name, cwd=tmp_path).stdout
    for recording in made.iterdir():
        pid = recording.stem.partition("-")[2]
        assert f"process {pid}, RSS (resident memory)" in memory


def test_a_folder_with_other_files_is_not_taken_for_the_children(tmp_path):
    (tmp_path / "program.py").write_text(FORKS)
    (tmp_path / "t-children").mkdir()
    (tmp_path / "t-children" / "mine.txt").write_text("keep")
    run = alone("-m", "eventide", "run", "-o", "t.eventide", "program.py", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "t-children holds 'mine.txt', and child processes would be recorded there" in run.stderr
