"""Those who receive each compile, and the records they get."""

from __future__ import annotations

import threading

import pytest

from eventide.compiling import CallbackTrigger, CompilationCallbackHandler, CompileRecord

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


def test_the_block_s_own_error_passes_through_and_is_in_the_record(handler, received) -> None:
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


def test_a_callback_of_each_compile_and_compiles_does_not_receive_itself(handler) -> None:
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


def test_a_callback_of_each_compile_and_raises_has_no_effect_on_others(handler, caplog) -> None:
    records: list[CompileRecord] = []
    subscriptions = handler.on_each_compile(boom), handler.on_each_compile(records.append)
    with subscriptions[0], subscriptions[1], handler.install_callbacks(OTHER, "x"):
        pass
    assert len(records) == 1
    assert handler.statistics()["errors"] == 1
    assert "a compile callback raised" in caplog.text


def test_a_compile_of_which_only_the_end_is_reported_is_reported_whole(handler, received) -> None:
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
