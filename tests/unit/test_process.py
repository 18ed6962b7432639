"""The registry of the process life cycle: after fork and at exit."""

import os
from pathlib import Path

from eventide._util import process
from tests.meta._project import PACKAGE, run_python

PROGRAM = """
from eventide._util import process
say = lambda text: lambda: print(text, flush=True)
first, second, last = say("first"), say("second"), say("last")
process.at_exit(last, last=True)
process.at_exit(first)
process.at_exit(second)
process.at_exit(first)
"""


def test_exit_callbacks_run_from_the_latest_registration_and_last_ones_after_them():
    assert run_python("-c", PROGRAM).split() == ["first", "second", "last"]


def test_a_cancelled_exit_callback_does_not_run():
    program = PROGRAM + "process.cancel_at_exit(first); process.cancel_at_exit(last); process.cancel_at_exit(last)"
    assert run_python("-c", program).split() == ["second"]


def test_last_runs_after_the_streams_are_drained():
    program = """
import eventide as et
from eventide._util import process
stream = et.Stream()
process.at_exit(lambda: print("last", flush=True), last=True)
stream.submit(print, "work", flush=True)
"""
    assert run_python("-c", program).split() == ["work", "last"]


def test_a_callback_that_raises_after_a_fork_does_not_stop_the_others(monkeypatch, capfd):
    monkeypatch.setattr(process, "_after_fork", [])
    process.after_fork(lambda: 1 / 0)
    process.after_fork(lambda: os.write(1, b"second"))
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    out, err = capfd.readouterr()
    assert out == "second"
    assert "ZeroDivisionError" in err


def test_no_other_module_registers_with_the_interpreter_itself():
    others = [path for path in PACKAGE.rglob("*.py") if path != Path(process.__file__)]
    calls = ("register_at_fork", "atexit.register", "atexit.unregister")
    assert [path.name for path in others if any(call in path.read_text("utf-8") for call in calls)] == []
