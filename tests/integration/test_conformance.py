"""The conformance kit: correct devices pass it, and each broken device is caught by the expected check."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import eventide as et
from eventide.cli import main
from eventide.testing import conformance
from eventide.testing.conformance import CHECKS, Check, Outcome, Report
from eventide.testing.conformance._expect import CheckFailedError, equal, expect, raises
from examples import tiny_device

ROOT = Path(__file__).parents[2]
BROKEN = Path(__file__).with_name("broken_devices.py")
# Class name -> the check that must fail. Read, not imported: a device stays registered until its process ends.
WAYS = dict(re.findall(r'(?ms)^class (\w+)\(Broken.*?caught_by = "(.+?)"$', BROKEN.read_text("utf-8")))

test_cpu = conformance.pytest_test("cpu")
test_sim = conformance.pytest_test("sim")
test_the_device_of_the_example = conformance.pytest_test(tiny_device.Tiny.type)
test_another_index_of_that_device = conformance.pytest_test("tiny:1")
PLUGIN = Path(tiny_device.__file__).parent / "threads_device" / "threads_device.cpp"
test_the_plug_in_of_the_example = conformance.pytest_test(str(et.Device.build("kit_threads", sources=[PLUGIN])))


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eventide", "conformance", *arguments]
    hurry = {**os.environ, "EVENTIDE_EXIT_TIMEOUT": "0.1"}  # do not wait for work that a broken device never runs
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=hurry, check=False, timeout=100)


# --- broken devices


def test_every_broken_device_names_a_check_and_there_are_at_least_twelve():
    assert len(WAYS) >= 12
    assert set(WAYS.values()) <= {check.name for check in CHECKS}


@pytest.mark.parametrize("way", WAYS)
def test_a_broken_device_is_caught_by_the_right_check(way):
    done = run_cli("--device", way.lower(), "--import", str(BROKEN), "--only", WAYS[way], "--limit", "4", "--json")
    assert done.returncode == 1, done.stderr
    (outcome,) = json.loads(done.stdout)["outcomes"]
    assert (outcome["status"], outcome["check"]) == ("failed", WAYS[way])
    assert outcome["why"]


# --- running checks


def check_of(function, *needs: str) -> Check:
    return Check("order-within-stream", function.__name__, needs, function)


def outcome_of(function, *needs: str, limit: float = 20.0, device: str = "cpu") -> Outcome:
    return conformance.run_check(check_of(function, *needs), device, limit)


def test_a_check_that_hangs_has_failed_and_its_gates_are_opened():
    freed = threading.Event()

    def hangs(bench):
        gate = bench.gate()
        bench.stream().submit(gate).add_done_callback(lambda _: freed.set())
        gate.reached()
        threading.Event().wait()

    outcome = outcome_of(hangs, limit=0.2)
    assert outcome.status == "failed"
    assert "still running after 0.2 s" in outcome.why
    assert freed.wait(10)


def test_a_check_that_raises_anything_has_failed_and_says_what():
    def interrupts(bench):
        raise KeyboardInterrupt("from a device")

    outcome = outcome_of(interrupts)
    assert (outcome.status, outcome.check) == ("failed", "interrupts")
    assert "KeyboardInterrupt: from a device" in outcome.why


def test_work_that_a_check_leaves_queued_is_a_failure():
    def leaves_work(bench):
        stream = bench.stream()
        stream.submit(release.wait)

    release = threading.Event()
    outcome = outcome_of(leaves_work, limit=1.0)
    release.set()
    assert outcome.status == "failed"
    assert "did not drain" in outcome.why


def test_the_death_of_a_thread_of_the_device_is_a_failure(monkeypatch):
    def kills(bench):
        thread = threading.Thread(target=int, args=["no number"])
        thread.start()
        thread.join()

    outcome = outcome_of(kills)
    assert outcome.status == "failed"
    assert "a thread of the device ended with: ValueError" in outcome.why


def test_subscriptions_of_a_check_are_closed():
    def listens(bench):
        bench.hook_calls("event_record")
        raise CheckFailedError("on purpose")

    before = et.hooks.EventRecordCallbacks.statistics()["callbacks"]
    assert outcome_of(listens).why.startswith("on purpose")
    assert et.hooks.EventRecordCallbacks.statistics()["callbacks"] == before


@pytest.mark.parametrize("capability", ["priorities", "default_stream_blocks"])
def test_a_check_is_skipped_with_the_name_of_what_is_missing(capability):
    outcome = outcome_of(lambda bench: None, "deferred", capability)
    assert (outcome.status, outcome.why) == ("skipped", f"no '{capability}'")


def test_a_device_without_capabilities_is_tested_for_what_is_left():
    class Modest(tiny_device.Tiny):
        """Says no to everything"""

        def capabilities(self, index):
            nothing = {field.name: False for field in dataclasses.fields(et.Capabilities)}
            return et.Capabilities(**{**nothing, "deferred": True, "clock": "CLOCK_MONOTONIC"})

    et.Device.register(Modest, name="modest")
    made = conformance.run("modest")
    assert made.failed == ()
    assert len(made.passed) > 40
    assert {f"no '{name}'" for name in ("timing", "gate", "copy", "host_visible", "concurrent", "heals")} <= set(
        made.skips
    )


def test_the_small_assertions_name_the_expected_and_the_actual_value():
    for call, words in (
        (lambda: expect([], "a list"), "a list"),
        (lambda: equal(1, 2, "a number"), "a number: expected 2, got 1"),
        (lambda: raises(ValueError, int, "int"), "int: expected ValueError, got 0"),
        (lambda: raises(KeyError, lambda: int("x"), "int"), "int: expected KeyError, got ValueError: invalid literal"),
        (lambda: raises(ValueError, lambda: int("x"), "int", "oops"), "int: the message lacks 'oops'"),
    ):
        with pytest.raises(CheckFailedError, match=re.escape(words)):
            call()


def test_every_check_is_a_sentence_and_needs_real_capabilities():
    capabilities = {field.name for field in dataclasses.fields(et.Capabilities)}
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert len(check.name.split()) >= 4, check
        assert set(check.needs) <= capabilities, check


# --- reports and the command line


def report(**changes) -> Report:
    outcomes = (
        Outcome("buffer", "a thing is so", "passed", "", 0.1),
        Outcome("copy", "another thing is so", "skipped", "no 'gate'", 0.0),
        Outcome("copy", "a third thing is so", "skipped", "no 'gate'", 0.0),
        Outcome("notify", "a last thing is so", "failed", "it is not", 0.1),
    )
    made = Report("mine:0", "a | device", "0.1.0", "2026-01-31", outcomes)
    return dataclasses.replace(made, **changes)


ROW = r"| mine:0 | a \| device | 0.1.0 | 2026-01-31 | 1 | 2 no 'gate' | notify: a last thing is so |"


def test_a_report_is_a_row_of_a_table():
    assert report().row() == ROW


def test_saving_makes_a_table_and_replaces_the_row_of_the_same_device(tmp_path):
    file = tmp_path / "verified.md"
    file.write_text("# Verified\n\nSome words.\n", "utf-8")
    report(date="2025-12-31").save(file)
    report(device="also:0", outcomes=()).save(file)
    report().save(file)
    assert file.read_text("utf-8").splitlines() == [
        "# Verified",
        "",
        "Some words.",
        "",
        "| device | what it is | eventide | date | passed | skipped | failed |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        r"| also:0 | a \| device | 0.1.0 | 2026-01-31 | 0 | - | - |",
        ROW,
    ]


def test_the_command_prints_and_saves_the_row(tmp_path, capsys):
    file = tmp_path / "verified.md"
    assert main(["conformance", "--device", "cpu", "--only", "never-recorded", "--save", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "2 passed, 0 skipped, 0 failed" in printed
    assert printed.splitlines()[-1] == file.read_text("utf-8").splitlines()[-1]


def test_the_command_imports_the_file_that_registers_the_device():
    done = run_cli("--device", "tiny:1", "--import", "examples/tiny_device.py", "--only", "never-recorded", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert (shown["device"], shown["description"]) == ("tiny:1", "A thread for each stream")
    assert [outcome["status"] for outcome in shown["outcomes"]] == ["passed", "passed"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device", "gpu"], "there is no device type 'gpu'"),
        (["--device", "cpu", "--only", "nonsense"], "no check has 'nonsense'"),
        (["--device", "cpu", "--import", "no_such_module"], "importing 'no_such_module' raised ModuleNotFoundError"),
        (["--device", "cpu", "--import", "nowhere.py"], "importing 'nowhere.py' raised FileNotFoundError"),
        (["--device", "cpu", "--import", "nowhere.so"], "importing 'nowhere.so' raised DeviceError"),
        (["--device", "cpu", "--only", "never-recorded", "--save", "."], ". is a directory"),
        (["--device", "cpu", "--only", "never-recorded", "--save", "no/v.md"], "cannot write no/v.md: No such file"),
        ([], "Missing option '--device'"),
    ],
)
def test_misuse_of_the_command_is_one_line_and_code_2(arguments, words, capsys):
    assert main(["conformance", *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
