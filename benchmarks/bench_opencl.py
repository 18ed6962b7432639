"""What do record + wait + query, and a submission, cost on our `opencl` device, against the same calls of raw PyOpenCL?

Both on PoCL, with profiling queues. Ours: an Event recorded on one stream, waited for by another, queried. Theirs:
`enqueue_marker`, a flush, `enqueue_barrier(wait_for)`, `command_execution_status`. A submission of nothing is our call,
a marker behind it and its Future; theirs is the marker. What we add is Python around three calls of the driver.
"""

from __future__ import annotations

from contextlib import closing
from time import perf_counter
from typing import TYPE_CHECKING, Any

import eventide as et
from benchmarks._harness import Missing, Options, Round, Row, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def timed(number: int, call: Callable[[], object], after: Callable[[], object]) -> Round:
    """Nanoseconds a call, in a loop that leaves nothing pending."""

    def measure() -> float:
        start = perf_counter()
        for _ in range(number):
            call()
        cost = (perf_counter() - start) / number * 1e9
        after()
        return cost

    return measure


def ours(one: et.Stream, two: et.Stream) -> Callable[[], object]:
    event = et.Event("opencl")

    def call() -> None:
        event.record(one)
        event.wait(two)
        event.query()

    return call


def theirs(cl: Any, one: Any, two: Any) -> Callable[[], object]:
    def call() -> None:
        event = cl.enqueue_marker(one)
        one.flush()
        cl.enqueue_barrier(two, wait_for=[event])
        two.flush()
        event.command_execution_status  # noqa: B018  a property that queries the driver

    return call


def rows(options: Options) -> Iterator[Row]:
    number = options.number(2_000)
    try:
        import pyopencl as cl

        with closing(et.Stream("opencl")) as one, closing(et.Stream("opencl")) as two:
            against = f"PyOpenCL {cl.VERSION_TEXT}"
            properties = cl.command_queue_properties.PROFILING_ENABLE
            context = et.Device("opencl").native
            a, b = (cl.CommandQueue(context, one.native.device, properties=properties) for _ in range(2))

            def drain() -> None:
                one.synchronize()
                two.synchronize()

            def finish() -> None:
                a.finish()
                b.finish()

            mine = timed(number, ours(one, two), drain)
            peer = timed(number, theirs(cl, a, b), finish)
            yield compare("record + wait + query, opencl", against, mine, peer, options)
            mine = timed(number, lambda: one.submit(int), drain)
            peer = timed(number, lambda: (cl.enqueue_marker(a), a.flush()), finish)
            yield compare("submit of nothing, opencl", f"{against}, a marker", mine, peer, options)
    except Exception as error:  # noqa: BLE001  drivers fail in many ways
        missing = Missing(f"the opencl device does not start ({error})")
        yield compare("record + wait + query, opencl", "PyOpenCL", lambda: 0.0, missing, options)
