"""What do record + wait + query cost, on idle streams and on streams with a queue in front, with one Python listener?

Against PyOpenCL on PoCL: `enqueue_marker` on one queue, `enqueue_barrier(wait_for)` on another, then
`command_execution_status`. Busy: both streams (queues) are held by a gate that opens after the clock is stopped. No
thread is pinned: both have workers. The listener subscribes to event_record; OpenCL has no hooks, so the peer has none.
The loop around the calls (10 ns) is in both figures. The rows without a peer are single verbs, the loop subtracted.
"""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import eventide as et
from benchmarks._harness import Missing, Options, Round, Row, compare, hold, pinned, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

POCL = "Portable Computing Language"
VERBS = ("event.record(one)", "event.wait(two)", "event.query()", "one.query()", "one.record_event()", "Event('cpu')")


def listener(event: int, stream: int) -> None:
    pass


def ours(one: et.Stream, two: et.Stream, number: int, busy: bool) -> Round:
    """One event, recorded again and again: each record is a new marker."""

    def measure() -> float:
        gate, event = threading.Event(), et.Event("cpu")
        if busy:
            hold(one.submit, gate)
            hold(two.submit, gate)
        start = perf_counter()
        for _ in range(number):
            event.record(one)
            event.wait(two)
            event.query()
        cost = (perf_counter() - start) / number * 1e9
        gate.set()
        one.synchronize()
        two.synchronize()
        return cost

    return measure


def pocl() -> tuple[Any, Any, str]:
    """pyopencl, a context on PoCL, and the peer's name for the table."""
    import pyopencl as cl

    platform = next((platform for platform in cl.get_platforms() if platform.name == POCL), None)
    if platform is None:
        raise LookupError(f"no OpenCL platform is named {POCL!r}")
    version = platform.version.split("PoCL", 1)[-1].split()[0]
    return cl, cl.Context(platform.get_devices()[:1]), f"PyOpenCL {cl.VERSION_TEXT}, PoCL {version}"


def theirs(cl: Any, context: Any, number: int, busy: bool) -> Round:
    one, two = cl.CommandQueue(context), cl.CommandQueue(context)
    marker, barrier = cl.enqueue_marker, cl.enqueue_barrier

    def measure() -> float:
        gate = cl.UserEvent(context)
        if busy:
            barrier(one, wait_for=[gate])
            barrier(two, wait_for=[gate])
        start = perf_counter()
        for _ in range(number):
            event = marker(one)
            barrier(two, wait_for=[event])
            event.command_execution_status  # noqa: B018  a property that queries the driver
        cost = (perf_counter() - start) / number * 1e9
        gate.set_status(cl.command_execution_status.COMPLETE)
        one.finish()
        two.finish()
        return cost

    return measure


def verbs(one: et.Stream, two: et.Stream, options: Options) -> Iterator[Row]:
    """Each verb alone on idle streams, no listener, an empty loop subtracted."""
    event = et.Event("cpu")
    event.record(one)
    one.synchronize()
    names = {"event": event, "one": one, "two": two, "Event": et.Event}
    with pinned():
        for code in VERBS:
            mine = statement(code, names, options.number(50_000))
            yield compare(f"{code}, idle, no listener", "-", mine, None, options)


def rows(options: Options) -> Iterator[Row]:
    number = options.number(3_000)
    many = replace(options, rounds=options.rounds * 3)  # short rounds of something that varies
    idle: Round | Missing
    held: Round | Missing
    try:
        cl, context, against = pocl()
        idle, held = theirs(cl, context, number, False), theirs(cl, context, number, True)
    except Exception as error:  # noqa: BLE001  drivers fail in many ways
        idle = held = Missing(f"PyOpenCL on PoCL does not start ({error})")
        against = "PyOpenCL, PoCL"
    with closing(et.Stream("cpu")) as one, closing(et.Stream("cpu")) as two:
        with et.hooks.on("event_record", listener):
            for name, busy, peer in (("idle", False, idle), ("busy", True, held)):
                what = f"record + wait + query, {name}, one listener"
                yield compare(what, against, ours(one, two, number, busy), peer, many, bar=1 / 20)
        yield from verbs(one, two, options)
