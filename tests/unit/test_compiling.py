"""Compile callbacks and records of compiles: what they receive, and what they cannot break."""

from __future__ import annotations

import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import eventide as et
from eventide.compiling import CallbackArgs, CallbackTrigger, CompilationCallbackHandler, CompileRecord
from tests.helpers import TIMEOUT

OTHER = CallbackTrigger.OTHER


@pytest.fixture
def handler() -> CompilationCallbackHandler:
    return CompilationCallbackHandler()


@pytest.fixture
def received(handler) -> list:
    """What start and end callbacks of `handler` receive, as (what, compile id)."""
    found: list = []
    handler.register_start_callback(lambda args: found.append(("start", args.compile_id)))
    handler.register_end_callback(lambda args: found.append(("end", args.compile_id)))
    return found


def boom(args) -> None:
    raise RuntimeError("boom")


def test_the_names_and_numbers_of_torch_are_kept() -> None:
    assert [(trigger.name, trigger.value) for trigger in CallbackTrigger][:4] == [
        ("DYNAMO", 1),
        ("LAZY_BACKWARD", 2),
        ("TRITON_AUTOTUNING", 3),
        ("CUDAGRAPH_RECORDING", 4),
    ]
    args = CallbackArgs(CallbackTrigger.DYNAMO, "0/0")
    assert (args.callback_trigger, args.compile_id) == (CallbackTrigger.DYNAMO, "0/0")
    assert et.compiling.CallbackArgs is CallbackArgs


def test_start_and_end_are_for_the_outermost_compile(handler, received) -> None:
    with handler.install_callbacks(OTHER, "outer"), handler.install_callbacks(OTHER, "inner"):
        assert received == [("start", "outer")]
    assert received == [("start", "outer"), ("end", "outer")]


def test_end_gets_the_arguments_that_start_got(handler) -> None:
    received: list = []
    handler.register_start_callback(received.append)
    handler.register_end_callback(received.append)
    first = handler.begin(CallbackTrigger.DYNAMO, "first")
    second = handler.begin(CallbackTrigger.LAZY_BACKWARD, "second")
    first.end()
    second.end()  # leaves last
    assert received == [CallbackArgs(CallbackTrigger.DYNAMO, "first")] * 2
    assert received[0] is received[1]


def test_an_end_callback_that_raises_leaves_nothing_behind(handler, received, caplog) -> None:
    handler.end_callbacks.insert(0, boom)
    for _ in range(2):
        with handler.install_callbacks(OTHER, "x"):
            pass
    assert received == [("start", "x"), ("end", "x")] * 2
    assert handler.statistics() == {"running": 0, "compiles": 2, "callbacks": 3, "errors": 2}
    assert "a compile end callback raised, the program continues" in caplog.text
    handler.clear()
    assert handler.statistics()["callbacks"] == 0


def test_a_start_callback_that_raises_does_not_skip_the_compile(handler, received, caplog) -> None:
    handler.start_callbacks.insert(0, boom)
    compiled = False
    with handler.install_callbacks(OTHER, "x"):
        compiled = True
    assert compiled
    assert received == [("start", "x"), ("end", "x")]
    assert handler.statistics()["errors"] == 1


@pytest.mark.parametrize("what", ["start", "end"])
def test_a_callback_may_compile(handler, received, what) -> None:
    records: list[CompileRecord] = []

    def compile_something(args) -> None:
        with handler.install_callbacks(OTHER, "of the callback"):
            pass

    getattr(handler, f"register_{what}_callback")(compile_something)
    with handler.on_each_compile(records.append), handler.install_callbacks(OTHER, "x"):
        pass
    assert received == [("start", "x"), ("end", "x")]
    assert [record.id for record in records] == ["of the callback", "x"]
    assert handler.statistics()["running"] == 0


def test_a_callback_may_wait_for_a_compile_in_another_thread(handler, received) -> None:
    def elsewhere() -> None:
        with handler.install_callbacks(OTHER, "elsewhere"):
            pass

    with ThreadPoolExecutor(1) as pool:
        once = [None]

        def wait_for_it(args) -> None:
            if once:
                once.pop()
                pool.submit(elsewhere).result(TIMEOUT)

        handler.register_end_callback(wait_for_it)
        with handler.install_callbacks(OTHER, "x"):
            pass
    assert received == [("start", "x"), ("end", "x"), ("start", "elsewhere"), ("end", "elsewhere")]


def test_a_callback_may_remove_itself(handler, received) -> None:
    def once(args) -> None:
        received.append("once")
        handler.remove_start_callback(once)

    handler.start_callbacks.insert(0, once)
    for _ in range(2):
        with handler.install_callbacks(OTHER, "x"):
            pass
    assert received == ["once", ("start", "x"), ("end", "x"), ("start", "x"), ("end", "x")]


def test_callbacks_without_arguments_work_as_documented(handler) -> None:
    received = []

    @handler.register_start_callback
    def my_start_callback():
        received.append("Starting compilation")

    @handler.register_end_callback
    def my_end_callback():
        received.append("Compilation complete")

    with handler.install_callbacks(OTHER, "x"):
        pass
    assert received == ["Starting compilation", "Compilation complete"]


def test_clear_while_something_compiles_is_allowed(handler, received) -> None:
    with handler.install_callbacks(OTHER, "x"):
        handler.clear()
    assert received == [("start", "x")]
    handler.register_start_callback(lambda args: received.append("again"))
    with handler.install_callbacks(OTHER, "y"):
        pass
    assert received == [("start", "x"), "again"]


def test_ctrl_c_in_a_callback_propagates_and_the_count_is_restored(handler, received) -> None:
    def interrupted(args) -> None:
        raise KeyboardInterrupt

    handler.register_start_callback(interrupted)
    with pytest.raises(KeyboardInterrupt), handler.install_callbacks(OTHER, "x"):
        pytest.fail("the compile must not run")
    handler.remove_start_callback(interrupted)
    assert received == [("start", "x"), ("end", "x")]
    with handler.install_callbacks(OTHER, "y"):
        pass
    assert received[2:] == [("start", "y"), ("end", "y")]


def test_a_callback_that_is_not_callable_is_refused(handler) -> None:
    with pytest.raises(TypeError, match="a compile start callback must be callable, not int"):
        handler.register_start_callback(3)
    with pytest.raises(TypeError, match="called with one CallbackArgs or with nothing"):
        handler.register_end_callback(lambda one, two: None)
    with pytest.raises(TypeError, match="must be callable, not NoneType"):
        handler.on_each_compile(None)
    with pytest.raises(ValueError, match="is not registered as a compile end callback"):
        handler.remove_end_callback(print)
    with pytest.raises(TypeError, match="a trigger is a CallbackTrigger, not int"):
        handler.begin(1, "x")


def test_the_module_s_functions_use_the_module_s_handler() -> None:
    compiling = et.compiling
    received: list = []
    records: list[CompileRecord] = []
    start, end = (lambda: received.append("start")), (lambda: received.append("end"))
    assert compiling.on_compile_start(start) is start
    assert compiling.on_compile_end(end) is end
    try:
        with compiling.on_each_compile(records.append), compiling.callback_handler.install_callbacks(OTHER, "x"):
            pass
    finally:
        compiling.callback_handler.remove_start_callback(start)
        compiling.callback_handler.remove_end_callback(end)
    assert received == ["start", "end"]
    assert len(records) == 1


def test_a_forked_child_does_not_wait_for_compiles_of_its_parent_s_threads() -> None:
    handler = et.compiling.callback_handler
    inside, leave = threading.Event(), threading.Event()

    def compile_there() -> None:
        with handler.install_callbacks(OTHER, "in another thread"):
            inside.set()
            leave.wait(TIMEOUT)

    thread = threading.Thread(target=compile_there)
    thread.start()
    assert inside.wait(TIMEOUT)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, str(handler.statistics()["running"]).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 10) == b"0"
    os.close(read)
    os.close(write)
    leave.set()
    thread.join(TIMEOUT)
    assert handler.statistics()["running"] == 0


def test_errors_are_logged_with_their_traceback(handler, caplog) -> None:
    handler.register_start_callback(boom)
    with caplog.at_level(logging.ERROR, "eventide"), handler.install_callbacks(OTHER, "x"):
        pass
    assert caplog.records[0].exc_info[1].args == ("boom",)


def test_the_error_of_the_block_propagates_and_is_in_the_record(handler, received) -> None:
    records: list[CompileRecord] = []
    with (
        handler.on_each_compile(records.append),
        pytest.raises(KeyError, match="missing"),
        handler.install_callbacks(OTHER, "x"),
    ):
        raise KeyError("missing")
    assert received == [("start", "x"), ("end", "x")]
    assert (records[0].ok, records[0].error) == (False, "KeyError: 'missing'")


def test_each_compile_is_reported_with_thread_depth_and_time(handler) -> None:
    records: list[CompileRecord] = []
    with (
        handler.on_each_compile(records.append) as subscription,
        handler.install_callbacks(OTHER, "outer", name="f", recompile=False),
        handler.install_callbacks(CallbackTrigger.NUMBA, "inner", cache_hit=True),
    ):
        pass
    assert subscription.closed
    with handler.install_callbacks(OTHER, "before"):
        pass
    inner, outer = records
    assert (inner.id, inner.depth, inner.trigger, inner.name, inner.cache_hit, inner.recompile) == (
        "inner",
        1,
        CallbackTrigger.NUMBA,
        None,
        True,
        None,
    )
    assert (outer.id, outer.depth, outer.name, outer.recompile) == ("outer", 0, "f", False)
    assert inner.thread == outer.thread == threading.get_native_id()
    assert outer.start_ns <= inner.start_ns <= inner.end_ns <= outer.end_ns


def test_a_callback_of_each_compile_that_compiles_does_not_receive_its_own_compile(handler) -> None:
    received: list = []

    def receive(record: CompileRecord) -> None:
        received.append(("first", record.id))
        with handler.install_callbacks(OTHER, "of the listener"):
            pass

    def receive_too(record: CompileRecord) -> None:
        received.append(("second", record.id))

    with handler.on_each_compile(receive), handler.on_each_compile(receive_too), handler.install_callbacks(OTHER, "x"):
        pass
    assert received == [("first", "x"), ("second", "of the listener"), ("second", "x")]


def test_a_callback_of_each_compile_that_raises_has_no_effect_on_others(handler, caplog) -> None:
    records: list[CompileRecord] = []
    subscriptions = handler.on_each_compile(boom), handler.on_each_compile(records.append)
    with subscriptions[0], subscriptions[1], handler.install_callbacks(OTHER, "x"):
        pass
    assert len(records) == 1
    assert handler.statistics()["errors"] == 1
    assert "a compile callback raised" in caplog.text


def test_a_compile_whose_end_only_is_reported_has_a_complete_record(handler, received) -> None:
    records: list[CompileRecord] = []
    with handler.on_each_compile(records.append):
        handler.report(
            CallbackTrigger.TRITON,
            "key",
            name="kernel",
            end_ns=1_000,
            duration_ns=400,
            cache_hit=False,
            stages_ns=(("ttir", 100),),
        )
    assert received == [("start", "key"), ("end", "key")]
    (record,) = records
    assert (record.name, record.start_ns, record.end_ns, record.cache_hit) == ("kernel", 600, 1_000, False)
    assert record.stages_ns == (("ttir", 100),)
    with pytest.raises(ValueError, match="a compile cannot take -1 ns"):
        handler.report(OTHER, "x", duration_ns=-1)


def test_details_that_come_after_the_end_are_in_the_record(handler, received) -> None:
    records: list[CompileRecord] = []
    with handler.on_each_compile(records.append):
        compile_ = handler.begin(OTHER, "x")
        compile_.stop()
        assert received[-1] == ("end", "x")
        assert records == []
        compile_.publish(name="f", reason="shapes changed", recompile=True)
        compile_.publish(name="again")
        compile_.end()
    assert [(record.name, record.reason, record.recompile) for record in records] == [("f", "shapes changed", True)]
