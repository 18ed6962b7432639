"""Each verb on a device, once for each of its allocations, which fails: then everything works as before."""

import contextlib
import ctypes
import sys

import eventide as et
from tests.soak.devices import prepare

faults = ctypes.CDLL(sys.argv[1])
faults.fail_after.argtypes = [ctypes.c_long]
device = prepare(sys.argv[2])
WAIT = 20.0
stream, other, cpu, small = et.Stream(device), et.Stream(device), et.Stream("cpu"), et.Stream(device, max_pending=1)
event = et.Event(device, enable_timing=True)
event.record(stream)


def query():
    stream.query()
    event.query()


def synchronize():
    stream.submit(int)
    stream.synchronize(WAIT)


def synchronize_event():
    event.record(stream)
    event.synchronize(WAIT)


def synchronize_device():
    stream.submit(int)
    et.synchronize(device)


VERBS = {
    "submit": lambda: stream.submit(int),
    "submit to a stream of one": lambda: small.submit(int),
    "record": lambda: event.record(stream),
    "record a new event": stream.record_event,
    "wait": lambda: other.wait_event(event),
    "wait on cpu": lambda: cpu.wait_event(event),
    "query": query,
    "synchronize": synchronize,
    "synchronize an event": synchronize_event,
    "synchronize the device": synchronize_device,
    "copy": lambda: cpu.copy(bytearray(64), bytes(64)).result(WAIT),
}


def check(verb, number):
    """All streams are idle, count no work that is not there, and run more."""
    for each in (stream, other, cpu, small):
        with contextlib.suppress(et.DeviceError, et.StreamError):  # the device could not make a marker
            each.synchronize(WAIT)
        value = each.submit(int, "7").result(WAIT)
        each.synchronize(WAIT)
        if (value, each.pending, each.query()) != (7, 0, True):
            sys.exit(f"{verb}, allocation {number}: {each} has {each.pending} pending, idle: {each.query()}")


def fails(verb, act, number):
    """Whether the verb has so many allocations."""
    faults.fail_after(number)
    error = None
    try:
        act()
    except (MemoryError, et.DeviceError) as caught:
        error = caught
    failed = faults.end_failing()
    if isinstance(error, et.DeviceError) and "bad_alloc" not in str(error):
        sys.exit(f"{verb}, allocation {number}: {error!r}")
    check(verb, number)
    return failed > 0


for name, act in VERBS.items():
    allocations = 0
    while fails(name, act, allocations):
        allocations += 1
    sys.stdout.write(f"{name}: {allocations}\n")
