"""`make machines`: what can be checked of it without a machine."""

from __future__ import annotations

import pytest

from tests.machines import __main__ as machines


def test_a_suite_that_it_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(SystemExit, match="unknown suites: trixy; known are bookworm, trixie, sid, noble"):
        machines.main(["sid", "trixy"])


def test_a_machine_gets_the_settings_of_pip_and_nothing_else() -> None:
    environment = {"PIP_CERT": "ca.crt", "PIP_FIND_LINKS": "wheels", "LANG": "C", "CI": "true"}
    assert machines.pip_settings(environment) == {"PIP_CERT": "ca.crt"}


def test_the_mirror_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR", "http://debian.example")
    monkeypatch.setenv("UBUNTU_MIRROR", "http://ubuntu.example")
    assert [machines.mirror(suite) for suite in ("sid", "noble")] == ["http://debian.example", "http://ubuntu.example"]
    monkeypatch.delenv("UBUNTU_MIRROR")
    with pytest.raises(SystemExit, match="noble is a suite of Ubuntu; set UBUNTU_MIRROR"):
        machines.mirror("noble")


def test_a_result_says_what_pytest_counted_and_that_a_command_failed() -> None:
    assert str(machines.Result(passed=True, seconds=61.4, tests="")) == "passed; 61 s"
    assert str(machines.Result(passed=True, seconds=61.4, tests="9 passed, 1 skipped")) == "9 passed, 1 skipped; 61 s"
    assert str(machines.Result(passed=False, seconds=2.0, tests="1 failed")) == "FAILED 1 failed; 2 s"
    assert str(machines.Result(passed=False, seconds=2.0, tests="")) == "FAILED; 2 s"
