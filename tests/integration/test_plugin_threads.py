"""The worker threads of a device in C++, under load: Python and native work, waits, many streams; exit while busy."""

from __future__ import annotations

import ctypes
import random
import threading
from typing import Any

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, eventually, hook_calls
from tests.integration.plugin_devices import example_library, native_function, threads_device
from tests.integration.processes import run, run_many, say

STREAMS, ITEMS, EVENTS = 8, 2000, 16


class Item(ctypes.Structure):
    """What one work item wrote; see plugins/turns.cpp."""

    _fields_ = (("began", ctypes.c_int64), ("ended", ctypes.c_int64), ("runs", ctypes.c_int64))


class Program:
    """Items on streams with waits drawn from a seed, and which item must come after which."""

    def __init__(self, seed: int, streams: list[et.Stream], items: int) -> None:
        self.random = random.Random(seed)
        self.streams = streams
        self.items = (Item * items)()
        self.turn = native_function("take_turn")
        self.futures: list[Any] = []
        self.after: list[tuple[int, int]] = []  # (earlier, later)
        self.last = [-1] * len(streams)  # the newest item of each stream
        self.waited: list[list[int]] = [[] for _ in streams]  # what each stream waited for since its newest item
        self.events = [et.Event(streams[0].device.type) for _ in range(EVENTS)]
        self.recorded = [-1] * EVENTS  # the newest item before the newest record of each event
        self.natives = 0

    def run(self) -> None:
        for number in range(len(self.items)):
            stream, event = self.random.randrange(len(self.streams)), self.random.randrange(EVENTS)
            if self.random.random() < 0.4:
                self.streams[stream].wait_event(self.events[event])
                self.waited[stream].append(self.recorded[event])
            self._submit(stream, number)
            if self.random.random() < 0.4:
                event = self.random.randrange(EVENTS)
                self.events[event].record(self.streams[stream])
                self.recorded[event] = number

    def _submit(self, stream: int, number: int) -> None:
        item = self.items[number]
        if self.random.random() < 0.5:
            self.natives += 1
            future = self.streams[stream].submit_native(self.turn, ctypes.byref(item), keep=self.items)
        else:
            future = self.streams[stream].submit(self._python, item, number)
        self.futures.append(future)
        self.after += [(earlier, number) for earlier in (self.last[stream], *self.waited[stream]) if earlier >= 0]
        self.last[stream], self.waited[stream] = number, []

    def _python(self, item: Item, number: int) -> int:
        self.turn(ctypes.byref(item))
        return number

    def check(self) -> None:
        results = [future.result(TIMEOUT) for future in self.futures]
        assert [number for number, result in enumerate(results) if result not in (None, number)] == []
        assert results.count(None) == self.natives
        assert [number for number, item in enumerate(self.items) if item.runs != 1] == []
        wrong = [pair for pair in self.after if self.items[pair[0]].ended >= self.items[pair[1]].began]
        assert wrong == []


def make_streams(count: int = STREAMS) -> list[et.Stream]:
    kind = threads_device().type
    return [et.Stream(et.Device(kind, number % 2), name=f"hard {number}") for number in range(count)]


def close(streams: list[et.Stream]) -> None:
    for stream in streams:
        stream.close(TIMEOUT)


@pytest.mark.parametrize("seed", range(3))
def test_order_and_counts_of_2000_items_on_8_streams(seed: int) -> None:
    streams = make_streams()
    program = Program(seed, streams, ITEMS)
    with hook_calls("work_submission", "threads") as submitted, hook_calls("work_completion", "threads") as completed:
        program.run()
        et.synchronize("threads:0", TIMEOUT)
        et.synchronize("threads:1", TIMEOUT)
        assert all(future.done() for future in program.futures)
    program.check()
    assert len(submitted) == ITEMS
    assert sorted(work for work, _start, _end in completed) == sorted(work for _stream, work, *_ in submitted)
    assert all(start <= end for _work, start, end in completed)
    assert [stream.pending for stream in streams] == [0] * STREAMS
    assert len(program.after) > ITEMS
    say(f"{len(program.after)} orders checked, {program.natives} items native")
    close(streams)


def test_four_host_threads_share_the_streams() -> None:
    streams = make_streams()
    programs = [Program(100 + number, streams, ITEMS // 4) for number in range(4)]
    for background in [Background(program.run) for program in programs]:
        background.result()
    for program in programs:
        program.check()
    close(streams)


def test_streams_with_a_small_limit_run_all_work() -> None:
    streams = [et.Stream(threads_device(), max_pending=4) for _ in range(4)]
    program = Program(7, streams, 600)
    program.run()
    program.check()
    close(streams)


def test_every_event_calls_back_once_when_it_completes() -> None:
    streams = make_streams(4)
    notified: list[int] = []
    for number in range(300):
        stream = streams[number % 4]
        stream.submit(int)
        stream.record_event().notify(lambda event, number=number: notified.append(number))  # type: ignore[misc]
    eventually(lambda: len(notified) >= 300, "every callback was called")
    close(streams)
    assert sorted(notified) == list(range(300))


def test_work_may_submit_to_its_own_stream_and_query_it() -> None:
    (stream,) = make_streams(1)
    depths: list[int] = []
    over = threading.Event()

    def deeper(depth: int) -> None:
        depths.append(depth)
        assert et.current_stream() == stream
        assert not stream.query()
        if depth < 50:
            stream.submit(deeper, depth + 1)
            assert not stream.record_event().query()
        else:
            over.set()

    stream.submit(deeper, 0)
    over.wait(TIMEOUT)
    stream.close(TIMEOUT)
    assert depths == list(range(51))


def test_queued_work_of_a_dropped_stream_still_runs() -> None:
    ran: list[int] = []
    for number in range(200):
        et.Stream(threads_device()).submit(ran.append, number)
    eventually(lambda: len(ran) == 200, "everything has run")
    assert sorted(ran) == list(range(200))


KINDS = ("python", "native", "spin", "waiting", "gated", "notify", "many", "blocked")


def test_a_process_exits_while_the_threads_of_the_plug_in_are_busy() -> None:
    programs = [(example_library(), kind) for kind in KINDS]
    for child in run_many("plugin_exit", programs, EVENTIDE_EXIT_TIMEOUT="0.1"):
        child.check(0)
        assert child.out == "leaving\n", str(child)
        lines = child.err.splitlines()
        assert len(lines) <= 1 and all("abandoned at exit" in line for line in lines), str(child)
        assert child.seconds < 20.0, str(child)  # half a second, on a machine that is not busy


def test_a_process_exits_in_many_short_runs() -> None:
    """That a thread acquires the GIL at the wrong time is rare: many short runs."""
    for child in run_many("plugin_exit", [(example_library(), "many")] * 12, EVENTIDE_EXIT_TIMEOUT="0.02"):
        child.check(0)


def test_after_a_fork_both_sides_use_the_device() -> None:
    child = run("plugin_fork", example_library()).check(0)
    refused, *rest = child.out.splitlines()
    assert "before fork" in refused
    assert rest == ["child 323400", "child ended with 0", "parent 323400"]
