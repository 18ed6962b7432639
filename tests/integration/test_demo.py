"""The demo as users start it: the program alone, and `eventide demo` around it."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import eventide as et
from eventide.cli import main
from eventide.cli.demo import _program

ROOT = Path(__file__).parents[2]
TIMEOUT = 100  # seconds


def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "80", **environment}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False)


@pytest.fixture(scope="module")
def program():
    return _program.load_program()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(folder):
    done = start("-m", "eventide", "demo", "--runs", "2", "--json", "-o", str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def spans(demo, row):
    return [span for span in demo["timeline"] if span["row"] == row]


def test_the_program_by_itself_prints_a_line_for_each_variant():
    done = start("examples/prefetch.py", "--drop-wait")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("same weights in 10 of 10 runs")


def test_check_finds_the_race_of_the_deleted_wait_with_both_lines_and_the_fix():
    done = start("-m", "eventide", "check", "--json", "examples/prefetch.py", "--drop-wait")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    (race,) = document["findings"]
    source = (ROOT / "examples" / "prefetch.py").read_text("utf-8").splitlines()
    lines = [source[side["place"]["line"] - 1].strip() for side in (race["first"], race["second"])]
    assert lines == ["loss = train.submit(step, slot, labels, w1, w2)", "load.submit(fill, packed, slot)"]
    assert (race["kind"], race["certainty"]) == ("race", "certain")
    assert race["count"] >= 22 * 10  # in every run, whatever its weights
    assert (race["fix"]["action"], race["fix"]["recorded"]) == ("wait", True)
    assert document["coverage"]["known"] == document["coverage"]["works"] == 3 * 10 * 48


def test_check_finds_nothing_when_every_wait_is_present():
    done = start("-m", "eventide", "check", "--json", "examples/prefetch.py")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "clean"


def test_with_events_the_weights_are_those_of_the_serial_run(demo):
    serial, events, _broken = demo["outcomes"]
    assert serial["identical"] == events["identical"] == 2


def test_every_hook_is_counted(demo):
    counts = demo["callbacks"]
    assert tuple(counts) == et.hooks.HOOKS
    assert counts["work_submission"] == counts["work_completion"] == counts["event_wait"] == 48  # 24 loads, 24 steps
    assert counts["event_record"] == 50  # and both slots free at the start
    assert counts["event_creation"] == 4
    assert counts["stream_creation"] == counts["stream_deletion"] == 2
    assert counts["memory_allocation"] == counts["memory_deallocation"] == 2
    assert counts["collective_launch"] == 0


def test_the_demo_ends_with_the_findings_of_the_sanitizer(demo):
    said = demo["sanitizer"]
    assert (said["kind"], said["first"]["work"], said["second"]["work"]) == ("race", "train", "load")
    assert said["first"]["code"] == "loss = train.submit(step, slot, labels, w1, w2)"
    assert said["second"]["code"] == "load.submit(fill, packed, slot)"
    assert said["found"] == said["runs"] >= 2
    assert said["count"] >= 22 * said["runs"]
    assert "recorded after 'train' already" in said["fix"]
    assert said["others"] == "clean: 96 of 96 work items had known accesses"


def test_the_timeline_keeps_the_order_of_the_events(demo):
    loads, steps = spans(demo, "load"), spans(demo, "train")
    assert len(loads) == len(steps) == 24
    assert sorted(span["shard"] for span in loads) == list(range(24))
    assert [span["shard"] for span in loads] == [span["shard"] for span in steps]
    assert all(step["start"] >= load["end"] for load, step in zip(loads, steps, strict=True))
    assert all(load["start"] >= step["end"] for load, step in zip(loads[2:], steps[:-2], strict=True))


def test_the_text_fits_80_columns_without_colour_and_in_ascii(tmp_path):
    done = start("-m", "eventide", "demo", "--runs", "1", "-o", str(tmp_path), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert done.stdout.isascii()
    assert max(len(line) for line in lines if not line.startswith("The program:")) <= 80
    assert any(line.startswith("two streams, events") and line.endswith("1 of 1") for line in lines)


def test_without_the_wait_a_slot_can_be_overwritten_while_it_is_in_use(program, monkeypatch):
    """The race by force: the first step only begins once its slot was filled again."""
    shards = program.module.make_shards()[-4:]
    serial, _events, broken = program.variants
    right = program.run(serial, shards)
    filled, step = [], program.module.step
    again = threading.Event()

    def fill(packed, slot):
        program.module.inflate(packed, slot)
        filled.append(packed)
        if len(filled) == 3:
            again.set()

    def late_step(*args):
        assert again.wait(TIMEOUT)
        return step(*args)

    monkeypatch.setattr(program.module, "step", late_step)
    assert program.run(broken, shards, fill=fill).digest != right.digest


def test_the_demo_saves_what_it_recorded_twice_and_both_open(demo, folder):
    native, view = (et.open_trace(folder / name) for name in ("demo.eventide", "demo.pftrace"))
    assert demo["recorded"]["files"] == [str(folder / f"demo.{suffix}") for suffix in ("eventide", "pftrace", "html")]
    for trace in (native, view):
        trace.check()
        names = trace.spans.column("name").to_pylist()
        assert (names.count("load"), names.count("train")) == (24, 24)
    assert demo["recorded"]["dropped"] == 0


def test_the_demo_requests_one_blas_thread_before_numpy_is_imported(demo):
    assert not [note for note in demo["notes"] if "numpy was imported" in note]


def test_without_a_folder_for_the_recording_nothing_runs(capsys):
    assert main(["demo", "-o", "no/such/folder"]) == 2
    assert "no/such/folder is not a directory; create it first" in capsys.readouterr().err
