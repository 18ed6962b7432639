"""A device that breaks while work runs: `plugin_fault.py LIBRARY FAULT`. Prints the result of each verb, as JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable

import eventide as et
from tests.helpers import root_cause

LIMIT = 5.0  # seconds


def outcome(call: Callable[[], object]) -> str:
    """The result as text; of an error the first cause."""
    try:
        return str(call())
    except et.EventideError as error:
        return str(root_cause(error))


def wait_for_cpu(cpu: et.Stream, fault: str) -> None:
    """A gate holds the stream until the cpu has completed its work."""
    held, stream = threading.Event(), et.Stream("faulty")
    cpu.submit(held.wait, LIMIT)
    try:
        stream.wait_stream(cpu)
    finally:
        held.set()
    cpu.synchronize(LIMIT)
    deadline = time.monotonic() + LIMIT
    while fault == "open_gate throws" and time.monotonic() < deadline:  # on the notifier's thread, a little later
        stream.synchronize(LIMIT)
    stream.close(LIMIT)


def main(library: str, fault: str) -> None:
    os.environ["PLUGIN_FAULT"] = fault
    et.Device.load(library, "faulty")
    stream = et.Stream("faulty")
    entered, opened = threading.Event(), threading.Event()

    def hold() -> str:
        entered.set()
        opened.wait(LIMIT)
        return "held"

    futures = []
    said = {"submit of what runs": outcome(lambda: futures.append(stream.submit(hold)))}
    entered.wait(LIMIT)
    for number in range(3):
        said[f"submit {number}"] = outcome(lambda: futures.append(stream.submit(int, "7")))
    said["query"] = outcome(stream.query)
    opener = threading.Timer(0.1, opened.set)  # the device is polled while the work runs
    opener.start()
    said["result of what ran"] = outcome(lambda: futures[0].result(LIMIT)) if futures else said["submit of what runs"]
    for number, future in enumerate(futures[1:]):
        said[f"result {number}"] = outcome(lambda: future.result(LIMIT))  # noqa: B023 - called at once
    said["record"] = outcome(lambda: stream.record_event().version)
    said["synchronize"] = outcome(lambda: stream.synchronize(LIMIT))
    said["close"] = outcome(lambda: stream.close(LIMIT))
    opener.join()
    cpu = et.Stream("cpu")
    said["wait for the cpu"] = outcome(lambda: wait_for_cpu(cpu, fault))
    said["memory"] = outcome(lambda: et.empty(64, device="faulty").free())
    said["cpu"] = outcome(lambda: cpu.submit(sum, (1, 2)).result(LIMIT))
    sys.stdout.write(json.dumps(said))


main(*sys.argv[1:])
