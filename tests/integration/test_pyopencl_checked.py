"""Programs that only use pyopencl, judged by the sanitizer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.integration.pyopencl_programs import END, FINE, ORDERED, RACES, START, eventide

pytest.importorskip("pyopencl", reason="needs pyopencl")
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600), pytest.mark.usefixtures("opencl")]


def check(tmp_path: Path, body: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    (tmp_path / "program.py").write_text(START + body + "\n" + END)
    done = eventide("check", "--json", "program.py", cwd=tmp_path)
    assert "failed, the program continues" not in done.stderr, done.stderr
    assert "ended" in done.stderr, done.stderr
    return done, [finding["kind"] for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("how", ORDERED)
def test_a_program_that_orders_its_queues_is_clean(how, tmp_path):
    done, kinds = check(tmp_path, ORDERED[how])
    assert "race" not in kinds, done.stdout
    assert set(kinds) <= {"redundant-wait", "redundant-sync"}, done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize("how", FINE)
def test_a_program_without_fault_has_no_finding(how, tmp_path):
    done, kinds = check(tmp_path, FINE[how])
    assert kinds == [], done.stdout


@pytest.mark.parametrize("how", RACES)
def test_a_missing_wait_between_two_queues_is_found(how, tmp_path):
    done, kinds = check(tmp_path, RACES[how])
    assert kinds.count("race") == 1, done.stdout
    assert done.returncode == 1


def test_the_finding_names_kernels_queues_and_the_lines_of_the_program(tmp_path):
    (tmp_path / "program.py").write_text(START + RACES["kernels"] + "\n" + END)
    done = eventide("check", "program.py", cwd=tmp_path)
    text = " ".join(done.stdout.split())
    assert "possible race: 'twice' on stream 2 'queue 2 on" in text
    assert "reads 4,096 bytes that 'fill' on stream 1 'queue 1 on" in text
    lines = (tmp_path / "program.py").read_text().splitlines()
    assert f"(above program.py:{lines.index(RACES['kernels'].splitlines()[1]) + 1})" in text


def test_a_second_finish_is_still_too_much_although_the_queue_is_left(tmp_path):
    body = "with cl.CommandQueue(context) as queue:\n    fill(queue, (1024,), None, b, np.float32(3))\n"
    done, kinds = check(tmp_path, body + "    queue.finish()\n    queue.finish()")
    assert kinds == ["redundant-sync"], done.stdout
    assert done.returncode == 0


def test_what_hangs_on_a_user_event_is_not_judged(tmp_path):
    body = (
        "gate = cl.UserEvent(context)\nevent = fill(one, (1024,), None, a, np.float32(3))\n"
        "later = twice(two, (1024,), None, a, b, wait_for=[gate])\n"
        "event.wait()\ngate.set_status(cl.command_execution_status.COMPLETE)\nlater.wait()"
    )
    done, kinds = check(tmp_path, body)
    assert kinds == [], done.stdout


def test_the_verdict_says_that_accesses_of_the_host_are_not_covered(tmp_path):
    body = (
        "import pyopencl\nhost = np.zeros(1024, np.float32)\n"
        "fill(one, (1024,), None, a, np.float32(3))\ncl.enqueue_copy(one, host, a, is_blocking=False)\n"
        "host[0] = 1\none.finish()"
    )
    done, kinds = check(tmp_path, body)
    text = (
        "not covered: host reads and writes of the arrays that OpenCL queues copy, unless et.host_access declares them"
    )
    assert text in json.loads(done.stdout)["summary"]
    assert "race" not in kinds


def test_a_program_whose_queues_copy_no_array_has_nothing_that_is_not_covered(tmp_path):
    (tmp_path / "program.py").write_text(START + "fill(one, (1024,), None, a, np.float32(3))\none.finish()\n")
    done = eventide("check", "--json", "program.py", cwd=tmp_path)
    assert json.loads(done.stdout)["summary"] == "clean: 1 of 1 work item had known accesses"
