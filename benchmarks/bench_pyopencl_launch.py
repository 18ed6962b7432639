"""What does a kernel launch of pyopencl cost when it is traced, against the same launch without tracing?

CPU time of the thread that launches, on PoCL, on one in-order queue with profiling. The kernel runs for some 50 us, so
that the queue is never empty: else what is measured is how a sleeping driver thread is woken. Traced: the integration
is installed and a recording runs, so each launch is a submission, a record and a kept event and, when the queue is
finished, two timestamps that are read and mapped to the trace's clock; the row with `finish` holds all of that. Both
in one process, the integration uninstalled between.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Any

import eventide as et
from benchmarks._harness import Missing, Options, Round, Row, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = """__kernel void busy(__global int *a, int n) {
    int s = a[0];
    for (int i = 0; i < n; ++i) s = s * 1664525 + i;
    a[0] = s;
}"""
TURNS = 20_000


def program(cl: Any) -> tuple[Callable[[], object], Callable[[], object]]:
    """(launch, finish) of a queue."""
    device = next(device for platform in cl.get_platforms() for device in platform.get_devices())
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    kernel = cl.Program(context, SOURCE).build().busy
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    kernel.set_scalar_arg_dtypes([None, "int32"])
    return lambda: kernel(queue, (1,), None, buffer, TURNS), queue.finish


def launches(cl: Any, number: int, finished: bool) -> Round:
    """Nanoseconds a launch; the queue is empty before and after."""
    launch, finish = program(cl)
    launch()
    finish()

    def measure() -> float:
        start = thread_time()
        for _ in range(number):
            launch()
        if not finished:
            cost = thread_time() - start
        finish()
        if finished:
            cost = thread_time() - start
        return cost / number * 1e9

    return measure


def traced(untraced: Round, folder: Path, record: bool) -> Round:
    """The same round with the integration installed, and a recording if `record`."""
    from eventide.integrations import pyopencl as integration

    def measure() -> float:
        integration.install()
        try:
            if not record:
                return untraced()
            with et.Recorder(folder / "t.eventide"):
                return untraced()
        finally:
            integration.uninstall()

    return measure


def rows(options: Options) -> Iterator[Row]:
    number = options.number(1_000)
    try:
        import pyopencl as cl

        against = f"PyOpenCL {cl.VERSION_TEXT} alone"
        plain, whole = launches(cl, number, finished=False), launches(cl, number, finished=True)
    except Exception as error:  # noqa: BLE001  drivers fail in many ways
        missing = Missing(f"pyopencl does not start ({error})")
        yield compare("kernel launch, recorded", "PyOpenCL alone", lambda: 0.0, missing, options)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        installed = traced(plain, place, False)
        yield compare("kernel launch, integration installed, no recording", against, installed, plain, options)
        yield compare("kernel launch, recorded", against, traced(plain, place, True), plain, options)
        recorded = traced(whole, place, True)
        yield compare("kernel launch and finish, recorded", against, recorded, whole, options)
