"""Several devices of a type, several types, and the description of a device."""

from __future__ import annotations

import dataclasses

from eventide.errors import UsageValueError
from eventide.runtime import Device, Stream, default_stream, devices, synchronize
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import CheckSkippedError, equal, expect, raises


@check("device-identity")
def a_device_is_listed_named_and_describes_itself(bench: Bench) -> None:
    device = Device(bench.device)
    expect(device in devices(), "devices() lists it")
    equal(str(device), bench.device, "its name")
    expect(bool(device.name), "it has a description")
    capabilities = device.capabilities
    equal(capabilities, bench.capabilities, "its capabilities, read twice")
    for field in dataclasses.fields(capabilities):
        kind = str if field.name == "clock" else bool
        expect(isinstance(getattr(capabilities, field.name), kind), f"'{field.name}' is a {kind.__name__}")


@check("device-identity")
def an_index_that_does_not_exist_is_a_value_error(bench: Bench) -> None:
    count = sum(device.type == bench.kind for device in devices())
    raises(UsageValueError, lambda: bench.stream(f"{bench.kind}:{count}"), "one more than there are", bench.kind)


@check("wait-across-devices")
def any_device_of_a_type_waits_for_any_other(bench: Bench) -> None:
    there = bench.another_index()

    def wait(first: Stream, second: Stream) -> None:
        log = list[str]()
        hold = bench.hold(first)
        first.submit(log.append, "first")
        second.wait_event(first.record_event())
        future = second.submit(log.append, "second")
        bench.stays(lambda: not future.done(), "work behind a wait for another device of the type is pending")
        hold.release()
        future.result(bench.timeout)
        equal(log, ["first", "second"], "the order over two devices")

    wait(bench.stream(), bench.stream(there))
    wait(bench.stream(there), bench.stream())


@check("wait-across-devices")
def devices_of_a_type_are_apart(bench: Bench) -> None:
    there = bench.another_index()
    stream, other = bench.stream(), bench.stream(there)
    expect(stream.device != other.device, "streams of two devices say so")
    defaults = {default_stream(name).stream_id for name in (bench.device, there)}
    equal(len(defaults), 2, "default streams of two devices")
    hold = bench.hold(stream)
    pending = stream.submit(int)
    other.submit(int)
    synchronize(there, timeout=bench.timeout)
    expect(not pending.done(), "synchronizing one device does not wait for another")
    hold.release()


@check("wait-across-types", "gate")
def a_stream_waits_for_an_event_of_another_device_type(bench: Bench) -> None:
    foreign = bench.stream(bench.another_type())
    stream, log = bench.stream(), list[str]()
    hold = bench.hold(foreign)
    foreign.submit(log.append, "first")
    stream.wait_event(foreign.record_event())
    future = stream.submit(log.append, "second")
    if foreign.device.capabilities.concurrent:  # where time is virtual, waiting advances it
        bench.stays(lambda: not future.done(), "work behind a wait for another device type is pending")
    hold.release()
    foreign.synchronize(timeout=bench.timeout)
    future.result(bench.timeout)
    # An immediate device runs the function inside submit; what it enqueues waits.
    order = ["first", "second"] if bench.capabilities.deferred else ["second", "first"]
    equal(log, order, "the order over two device types")


@check("wait-across-types", "gate")
def a_failure_on_another_device_type_fails_the_stream_that_waits(bench: Bench) -> None:
    foreign, stream = bench.stream(bench.another_type()), bench.stream()
    hold = bench.hold(foreign)
    foreign.submit(int, "no number")
    stream.wait_event(foreign.record_event())
    skipped = stream.submit(int)
    hold.release()
    raises(ValueError, lambda: foreign.synchronize(timeout=bench.timeout), "the stream that failed")
    expect(skipped.exception(bench.timeout) is not None, "work behind the wait fails")


@check("wait-across-types")
def without_a_gate_a_wait_for_another_device_type_is_a_value_error(bench: Bench) -> None:
    foreign = bench.stream(bench.another_type())
    if bench.capabilities.gate:
        raise CheckSkippedError("it has a 'gate'")
    hold = bench.hold(foreign)
    event = foreign.record_event()
    stream = bench.stream()
    raises(ValueError, lambda: stream.wait_event(event), "a wait for another device type", bench.kind)
    hold.release()
    equal(stream.submit(int, "3").result(bench.timeout), 3, "work of the stream afterwards")
