"""What does handing Python work to a stream cost: n submits and one synchronize, and one submit with its result?

Against `ThreadPoolExecutor(1)`: n submits and a wait for the last, and `submit().result()`. Two threads take part, so
nothing is pinned. Native work, which takes no GIL, is compared with Python work too. Two rows have no peer: what submit
costs the caller alone, while the worker is held; and how much processor time an idle stream takes.
"""

from __future__ import annotations

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, Any

import eventide as et
from benchmarks._harness import Options, Round, Row, compare, hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PEER = "ThreadPoolExecutor(1)"


def noop() -> None:
    pass


def throughput(submit: Callable[..., Any], finish: Callable[[], object], number: int, *arguments: object) -> Round:
    def measure() -> float:
        start = perf_counter()
        for _ in range(number):
            submit(*arguments)
        finish()
        return (perf_counter() - start) / number * 1e6

    return measure


def round_trip(submit: Callable[..., Any], number: int) -> Round:
    def measure() -> float:
        start = perf_counter()
        for _ in range(number):
            submit(noop).result()
        return (perf_counter() - start) / number * 1e6

    return measure


def caller_only(stream: et.Stream, number: int) -> Round:
    """The submits alone: the worker is held by a gate, so it neither takes the GIL nor the other core."""

    def measure() -> float:
        gate, submit = threading.Event(), stream.submit
        hold(submit, gate)
        start = perf_counter()
        for _ in range(number):
            submit(noop)
        cost = (perf_counter() - start) / number * 1e6
        gate.set()
        stream.synchronize()
        return cost

    return measure


def native_noop() -> Any:
    """`free(NULL)`: a C function of one pointer that does nothing, on every machine."""
    address = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address or 0)


def idle(stream: et.Stream) -> Round:
    """What the whole process uses while its stream idles, after the worker has stopped spinning."""

    def measure() -> float:
        stream.submit(noop).result()
        sleep(0.02)
        start, used = perf_counter(), process_time()
        sleep(0.1)
        return (process_time() - used) / (perf_counter() - start) * 1e6

    return measure


def rows(options: Options) -> Iterator[Row]:
    number, trips = options.number(20_000), options.number(2_000)
    with ThreadPoolExecutor(1) as executor, closing(et.Stream("cpu")) as stream:
        submit_n = throughput(stream.submit, stream.synchronize, number, noop)
        peer_of_n = throughput(executor.submit, lambda: executor.submit(noop).result(), number, noop)
        yield compare("submit n Python no-ops, synchronize", PEER, submit_n, peer_of_n, options, bar=1 / 15, unit="us")
        ours, peer = round_trip(stream.submit, trips), round_trip(executor.submit, trips)
        yield compare("submit(noop).result()", PEER, ours, peer, options, bar=1 / 1.3, unit="us")
        yield compare("submit(noop), the caller's part", "-", caller_only(stream, number), None, options, unit="us")
        native = throughput(stream.submit_native, stream.synchronize, number, native_noop())
        yield compare("submit_native n no-ops, synchronize", PEER, native, peer_of_n, options, bar=1 / 15, unit="us")
        yield compare("submit_native n no-ops, synchronize", "submit", native, submit_n, options, bar=1, unit="us")
        yield compare("processor time of an idle stream, per second", "-", idle(stream), None, options, unit="us")
