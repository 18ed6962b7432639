"""The OpenCL devices of this machine, probed in a child process: a driver can abort its process or hang in it.

PoCL without a linker on the PATH calls abort() at its first kernel; Oclgrind never returns from some waits. The parent
reads one JSON line a device; if the child dies, that device is marked as faulty and the next child continues after it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 120.0  # seconds for all devices that one child probes: the first kernel is compiled
KERNEL = "__kernel void probe(__global int *x) { x[get_global_id(0)] += 1; }"


@dataclass(frozen=True)
class Found:
    """One device of one platform, by their places in pyopencl's lists; ``fault`` says why it cannot be used."""

    platform: int
    device: int
    name: str
    fault: str = ""
    host_timer: bool = False
    user_events: bool = False
    concurrent: bool = False
    clock: str = "unknown"


def find_devices() -> list[Found]:
    """Every device of every platform, including those that do not work."""
    found: list[Found] = []
    while True:
        lines, failure = _run_child(len(found))
        begun: dict[str, Any] | None = None
        for line in lines:
            if "fault" in line:
                found.append(Found(**line))
                begun = None
            else:
                begun = line
        if begun is None:
            if failure and not lines:
                raise OSError(f"the search for OpenCL devices {failure}")
            return found
        found.append(Found(**begun, fault=f"its driver {failure}"))


def _run_child(skip: int) -> tuple[list[dict[str, Any]], str]:
    """What a child printed about the devices after `skip`, and how it failed, if it did."""
    # By path, not by module: eventide itself is not needed there.
    command = [sys.executable, "-P", "-W", "ignore", str(Path(__file__).resolve()), str(skip)]
    try:
        done = subprocess.run(  # noqa: S603 - our own file
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT, stdin=subprocess.DEVNULL
        )
        out, stderr, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        out = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        return _lines(out), f"did not respond within {TIMEOUT:g} s"
    if code == 0:
        return _lines(out), ""
    last = stderr.strip().splitlines()[-1:] or ["without a message"]
    how = f"killed its process with signal {-code}" if code < 0 else f"ended its process with code {code}"
    return _lines(out), f"{how}: {last[0]}"


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


# --- in the child ----------------------------------------------------------------------------------------------------


def main(skip: int) -> None:
    """Print a line before and one after each device."""
    import pyopencl as cl

    number = -1
    for p, platform in enumerate(cl.get_platforms()):
        for d, device in enumerate(platform.get_devices()):
            number += 1
            if number < skip:
                continue
            version = platform.version.split("  ")[0].split(",")[0].strip()
            name = f"{device.name.strip()}, {platform.name.strip()} ({version})"
            _print({"platform": p, "device": d, "name": name})
            try:
                found = _probe(cl, platform, device, Found(p, d, name))
            except Exception as error:  # noqa: BLE001 - drivers raise anything
                found = Found(p, d, name, fault=f"{type(error).__name__}: {error}")
            _print(asdict(found))


def _print(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _probe(cl: Any, platform: Any, device: Any, found: Found) -> Found:
    context = cl.Context([device])
    queue = cl.CommandQueue(context, device, properties=cl.command_queue_properties.PROFILING_ENABLE)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 256)
    kernel = cl.Kernel(cl.Program(context, KERNEL).build(), "probe")
    kernel(queue, (64,), None, buffer).wait()
    marker = cl.enqueue_marker(queue)
    marker.wait()
    simulator = "oclgrind" in platform.name.lower()
    return Found(
        found.platform,
        found.device,
        found.name,
        host_timer=_has_host_timer(device),
        user_events=not simulator and _has_user_events(cl, context, queue),
        concurrent=not simulator and device.max_compute_units > 1 and not device.name.startswith("basic"),
        clock=_clock_like(marker.profile.end),
    )


def _has_host_timer(device: Any) -> bool:
    try:
        return bool(device.device_and_host_timer()[0])
    except Exception:  # noqa: BLE001 - LogicError where the driver has none, AttributeError before OpenCL 2.1
        return False


def _has_user_events(cl: Any, context: Any, queue: Any) -> bool:
    """Whether the host can hold a queue."""
    gate = cl.UserEvent(context)
    cl.enqueue_barrier(queue, wait_for=[gate])
    marker = cl.enqueue_marker(queue)
    queue.flush()
    held = marker.command_execution_status != cl.command_execution_status.COMPLETE
    gate.set_status(cl.command_execution_status.COMPLETE)
    deadline = time.monotonic() + TIMEOUT / 4
    while marker.command_execution_status != cl.command_execution_status.COMPLETE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0005)
    return bool(held)


def _clock_like(now: int) -> str:
    """The clock of the machine with about this time; only for display, since it is measured in any case."""
    names = ("CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW", "CLOCK_REALTIME")
    ages = {name: time.clock_gettime_ns(getattr(time, name)) - now for name in names}
    near = {name: age for name, age in ages.items() if 0 <= age < 1_000_000_000}
    return min(near, key=lambda name: near[name]) if near else "its own"


if __name__ == "__main__":
    main(int(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # exit handlers of drivers may crash
