"""Compile callbacks over threads and nesting, against the model of tests/reference."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

from hypothesis import given
from hypothesis import strategies as st

from eventide.compiling import CallbackTrigger, CompilationCallbackHandler, CompileRecord
from tests.reference.compile_model import CompileModel

THREADS = ("a", "b", "c")
STEPS = st.lists(st.tuples(st.sampled_from(THREADS), st.sampled_from(["enter", "leave", "fail"])), max_size=40)


class Boom(Exception):
    pass


class Real:
    """The handler under test, with one real thread for each name and what its callbacks received."""

    def __init__(self, resources: ExitStack) -> None:
        self.received: list[tuple[str, str]] = []
        self.records: list[tuple[str, str, int, bool | None]] = []
        self.handler = CompilationCallbackHandler()
        self.handler.register_start_callback(lambda args: self.received.append(("start", args.compile_id)))
        self.handler.register_end_callback(lambda args: self.received.append(("end", args.compile_id)))
        self.pools = {name: resources.enter_context(ThreadPoolExecutor(1)) for name in THREADS}
        self.names = {self.pools[name].submit(threading.get_native_id).result(): name for name in THREADS}
        self.open: dict[str, list] = {name: [] for name in THREADS}
        resources.enter_context(closing(self.handler.on_each_compile(self.receive)))

    def receive(self, record: CompileRecord) -> None:
        self.records.append((record.id, self.names[record.thread], record.depth, record.ok))

    def enter(self, thread: str, compile_id: str) -> None:
        block = self.handler.install_callbacks(CallbackTrigger.OTHER, compile_id)
        self.pools[thread].submit(block.__enter__).result()
        self.open[thread].append(block)

    def leave(self, thread: str, *, ok: bool) -> None:
        error = None if ok else Boom()
        try:
            self.pools[thread].submit(self.open[thread].pop().__exit__, None if ok else Boom, error, None).result()
        except Boom as same:
            assert same is error  # the block's own error passes through


@given(STEPS)
def test_any_nesting_over_any_threads_is_reported_as_in_the_model(steps) -> None:
    model = CompileModel()
    with ExitStack() as resources:
        real = Real(resources)
        todo = list(enumerate(steps))
        for number, (thread, act) in todo:
            if act == "enter":
                model.enter(thread, str(number))
                real.enter(thread, str(number))
            elif model.stacks.get(thread):
                model.leave(thread, ok=act == "leave")
                real.leave(thread, ok=act == "leave")
            assert real.handler.statistics()["running"] == model.running
            assert real.received == model.received
            assert real.records == model.records
        for thread in THREADS:
            while model.stacks.get(thread):
                model.leave(thread, ok=True)
                real.leave(thread, ok=True)
        assert real.received == model.received
        assert real.records == model.records
        assert real.handler.statistics()["running"] == 0


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 2))
def test_threads_that_compile_freely_receive_starts_and_ends_alternately(depths, broken) -> None:
    handler = CompilationCallbackHandler()
    received: list[tuple[str, str]] = []
    inside: list[int] = []

    def callback(what: str):
        def receive(args) -> None:
            inside.append(1)
            assert len(inside) == 1  # never two at a time
            received.append((what, args.compile_id))
            inside.pop()
            if broken:
                raise Boom

        return receive

    handler.register_start_callback(callback("start"))
    handler.register_end_callback(callback("end"))
    records: list[CompileRecord] = []

    def compile_nested(name: str, depth: int) -> None:
        with handler.install_callbacks(CallbackTrigger.OTHER, f"{name}.{depth}"):
            if depth:
                compile_nested(name, depth - 1)

    import logging

    logging.disable(logging.ERROR)  # broken callbacks are logged; that has its own test
    try:
        with handler.on_each_compile(records.append), ThreadPoolExecutor(3) as pool:
            for done in [pool.submit(compile_nested, str(number), depth) for number, depth in enumerate(depths)]:
                done.result()
    finally:
        logging.disable(logging.NOTSET)
    assert [what for what, _ in received] == ["start", "end"] * (len(received) // 2)
    assert [name for _, name in received[::2]] == [name for _, name in received[1::2]]  # end gets what start got
    assert len(records) == sum(depth + 1 for depth in depths)
    stats = handler.statistics()
    assert stats["running"] == 0
    assert stats["errors"] == (len(received) if broken else 0)
