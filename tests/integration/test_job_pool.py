"""The process pool of an import: the same ranks whatever is killed, and no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eventide.jobs import import_job
from eventide.jobs._pool import Pool
from tests.reference.jobs import Plan, write_job

pytestmark = pytest.mark.heavy


@pytest.fixture
def traces(tmp_path):
    write_job(tmp_path / "traces", Plan(ranks=4))
    return tmp_path / "traces"


def test_one_process_or_many_and_files_in_any_order_give_the_same_digest(traces, tmp_path):
    one = import_job([traces], tmp_path / "one", processes=1)
    files = sorted(traces.iterdir(), reverse=True)
    assert import_job(files, tmp_path / "other", processes=2).digest == one.digest
    assert import_job(files[1:], tmp_path / "fewer", processes=2).digest != one.digest


class KilledOnce(Pool):
    """Kills the process of its second task when it has received it, and again while `times` are left."""

    times, task = 1, 1

    def _give(self, worker, task):
        super()._give(worker, task)
        if task["order"] == self.task and self.times:
            self.times -= 1
            worker.send_signal(signal.SIGKILL)


def test_a_killed_process_changes_nothing(traces, tmp_path, monkeypatch):
    whole = import_job(traces, tmp_path / "whole", processes=2)
    monkeypatch.setattr("eventide.jobs._import.Pool", KilledOnce)
    done = import_job(traces, tmp_path / "job", processes=2)
    assert (done.digest, done.left_out) == (whole.digest, ())


def test_a_file_that_kills_its_process_each_time_is_left_out(traces, tmp_path, monkeypatch):
    monkeypatch.setattr(KilledOnce, "times", 99)
    monkeypatch.setattr("eventide.jobs._import.Pool", KilledOnce)
    done = import_job(traces, tmp_path / "job", processes=2)
    assert done.ranks == 3
    assert done.left_out[0][1].startswith("the process that imported it was killed by signal 9, 3 times")


def test_modules_in_the_current_directory_do_not_replace_those_of_the_library(traces, tmp_path, monkeypatch):
    for name in ("queue", "json", "typing"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)", "utf-8")
    monkeypatch.chdir(tmp_path)
    done = import_job(traces, tmp_path / "job", processes=2)
    assert (done.ranks, done.left_out) == (4, ())


DRIVER = """
import os, sys
from eventide.jobs import import_job
def progress(done, total, latest):
    print(done, flush=True)
import_job(sys.argv[1], sys.argv[2], processes=2, progress=progress)
"""


def test_a_killed_import_leaves_no_process_and_continues_where_it_was(tmp_path):
    folder = tmp_path / "traces"
    write_job(folder, Plan(ranks=12))
    command = [sys.executable, "-c", DRIVER, str(folder), str(tmp_path / "job")]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    while int(driver.stdout.readline()) < 4:
        pass
    driver.kill()
    driver.wait()
    driver.stdout.close()
    _wait_until_gone(driver.pid)
    finished = len(list((tmp_path / "job").glob("rank=*")))
    assert 4 <= finished <= 12
    done = import_job(folder, tmp_path / "job", processes=1)
    assert (done.ranks, done.repeated) == (12, 12 - finished)
    assert done.digest == import_job(folder, tmp_path / "whole", processes=1).digest


def test_control_c_ends_the_import_at_once_in_silence(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    write_job(folder, Plan(ranks=40))
    command = [sys.executable, "-m", "eventide", "job", "import", str(folder), "-o", str(tmp_path / "job")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--processes", "2"], start_new_session=True, **pipes) as driver:
        while not list((tmp_path / "job").glob("rank=*")):
            assert driver.poll() is None
            time.sleep(0.01)
        os.killpg(driver.pid, signal.SIGINT)  # as a terminal sends it: to the processes of the pool as well
        assert driver.communicate() == (b"", b"")
    assert driver.returncode == 130
    _wait_until_gone(driver.pid)
    finished = len(list((tmp_path / "job").glob("rank=*")))
    assert import_job(folder, tmp_path / "job", processes=2).repeated == 40 - finished > 0


def _wait_until_gone(session, seconds=10.0):
    """No process of the session is left."""
    end = time.monotonic() + seconds
    while left := [each for each in Path("/proc").glob("[0-9]*") if _session(int(each.name)) == session]:
        assert time.monotonic() < end, left
        time.sleep(0.01)


def _session(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return None
