"""torch's tests of compile callbacks, with its trigger and ids, on compiling.callback_handler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from eventide.compiling import CallbackArgs, CallbackTrigger, CompilationCallbackHandler
from tests.peers.ported import ported

FILE = "dynamo/test_callback.py"
ID = "0/0"  # str(CompileId(0, 0))


class Callbacks:
    """A handler with one callback of each kind, and what they were called with."""

    def __init__(self) -> None:
        self.handler = CompilationCallbackHandler()
        self.called: list[tuple[str, Any]] = []
        self.handler.register_start_callback(lambda args: self.called.append(("start", args)))
        self.handler.register_end_callback(lambda args: self.called.append(("end", args)))

    @property
    def running(self) -> int:
        return self.handler.statistics()["running"]


@pytest.fixture
def callbacks() -> Iterator[Callbacks]:
    made = Callbacks()
    yield made
    made.handler.clear()


@ported(FILE, "test_callbacks_with_duplicate_prevention")
def test_nested_compiles_call_each_callback_once(callbacks):
    install, args = callbacks.handler.install_callbacks, CallbackArgs(CallbackTrigger.DYNAMO, ID)
    with install(CallbackTrigger.DYNAMO, ID), install(CallbackTrigger.DYNAMO, ID):
        assert callbacks.called == [("start", args)]
    assert callbacks.called == [("start", args), ("end", args)]


@ported(FILE, "test_counter")
def test_the_number_of_running_compiles_returns_to_zero(callbacks):
    with callbacks.handler.install_callbacks(CallbackTrigger.DYNAMO, ID):
        assert callbacks.running == 1
    assert callbacks.running == 0


@ported(FILE, "test_counter_assertion")
def test_an_end_without_a_start_cannot_make_the_number_negative(callbacks):
    compile_ = callbacks.handler.begin(CallbackTrigger.DYNAMO, ID)
    for _ in range(3):
        compile_.stop()
    assert callbacks.running == 0
    assert [what for what, _ in callbacks.called] == ["start", "end"]


@ported(FILE, "test_triggers")
def test_callbacks_get_the_trigger_and_the_id_of_each_compile(callbacks):
    triggers = [
        (CallbackTrigger.DYNAMO, "0/0"),
        (CallbackTrigger.DYNAMO, "1/0"),
        (CallbackTrigger.LAZY_BACKWARD, "1/0"),
        (CallbackTrigger.LAZY_BACKWARD, "0/0"),
        (CallbackTrigger.CUDAGRAPH_RECORDING, "0/0"),
    ]
    for trigger, number in triggers:
        with callbacks.handler.install_callbacks(trigger, number):
            pass
    expected = [(what, CallbackArgs(*one)) for one in triggers for what in ("start", "end")]
    assert callbacks.called == expected
    assert [trigger.value for trigger, _ in triggers] == [1, 1, 2, 2, 4]


def test_clear_while_a_compile_runs_removes_callbacks_and_raises_nothing(callbacks):
    """torch removes them as well, and then fails an assertion: docs/semantics.md, compile-clear, says why not here."""
    with callbacks.handler.install_callbacks(CallbackTrigger.DYNAMO, ID):
        callbacks.handler.clear()
        assert callbacks.running == 1
    assert [what for what, _ in callbacks.called] == ["start"]
    assert callbacks.running == 0
