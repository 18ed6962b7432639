"""Streams and events on `sim`: what a user sees of virtual time."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
import threading
from contextlib import closing

import pytest

import eventide as et
from eventide.backends import Sim
from tests.helpers import TIMEOUT, Background, Gate, boom, hook_calls, run_loop

numbers = itertools.count()


def fresh(**options: int | None) -> tuple[Sim, str]:
    """Devices with a clock that begins at 0, and their name."""
    sim, name = Sim(**options), f"fresh_sim_{next(numbers)}"  # type: ignore[arg-type]
    et.Device.register(sim, name=name)
    return sim, name


def lasting(seconds, fn=int):
    return et.work(fn, duration=seconds)


def recorded(stream):
    event = et.Event(enable_timing=True)
    event.record(stream)
    return event


def run(program):
    code = "import os, eventide as et\nfrom eventide.backends import configure_sim\n" + textwrap.dedent(program)
    quiet = ["-W", "ignore:This process:DeprecationWarning"]  # since 3.12 Python warns of a fork beside any thread
    ended = subprocess.run(
        [sys.executable, *quiet, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_eight_sim_devices_exist_without_registration():
    assert [device for device in et.devices() if device.type == "sim"] == [et.Device("sim", n) for n in range(8)]
    with pytest.raises(et.UsageValueError, match="no device 'sim:8'; that type has 8"):
        et.Stream("sim:8")


def test_the_number_of_sim_devices_is_configurable():
    out = run(
        """
        configure_sim(devices=64, host_cost=0)
        s = et.Stream("sim:63")
        s.submit(et.work(int, duration=2.0)).result()
        e = s.record_event(et.Event(enable_timing=True))
        e.synchronize()
        print(sum(device.type == "sim" for device in et.devices()), e.completed_at)
        """
    )
    assert out.split() == ["64", "2000000000"]


def test_elapsed_time_is_exactly_what_the_work_between_declares():
    _, name = fresh()
    with closing(et.Stream(name)) as stream:
        stream.submit(lasting(1.0))  # the stream is busy while all this is queued
        start = recorded(stream)
        stream.submit(lasting(0.0015))
        end = recorded(stream)
        end.synchronize(TIMEOUT)
        assert start.elapsed_time(end) == 1.5


def test_synchronize_advances_the_host_to_the_end_of_the_work_and_no_further():
    sim, name = fresh(host_cost=0)
    with closing(et.Stream(name)) as stream:
        stream.submit(lasting(5.0))
        stream.synchronize(TIMEOUT)
        assert sim.now(0) == 5_000_000_000
        stream.submit(lasting(5.0)).result(TIMEOUT)
        assert sim.now(0) == 10_000_000_000


def test_the_same_program_has_the_same_times_again():
    def program(name):
        streams = [et.Stream(f"{name}:{index}") for index in (0, 0, 1)]
        events = []
        for turn in range(60):
            stream, other = streams[turn % 3], streams[(turn + 1) % 3]
            stream.submit(lasting(turn % 7 * 1e-6))
            events.append(recorded(stream))
            other.wait_event(events[-1])
            other.submit(events[turn // 2].query)
            if turn % 10 == 0:
                streams[0].synchronize(TIMEOUT)
        for stream in streams:
            stream.close(TIMEOUT)
        return [event.completed_at for event in events]

    times = []
    for _ in range(2):
        sim, name = fresh(limit=1)
        times.append((program(name), sim.now(0)))
    assert times[0] == times[1]


def test_completion_hooks_carry_virtual_times():
    _, name = fresh(host_cost=0)
    with closing(et.Stream(name)) as stream, hook_calls("work_completion", device=name) as spans:
        first, second = stream.submit(lasting(0.25)), stream.submit(lasting(0.5))
        stream.synchronize(TIMEOUT)
    assert spans == [(first.work_id, 0, 250_000_000), (second.work_id, 250_000_000, 750_000_000)]


def test_a_copy_runs_beside_work_where_only_one_work_item_may_run():
    _, name = fresh(limit=1, host_cost=0, duration=2e-6)
    target, source = et.empty(8, name), et.empty(8, name)
    memoryview(source)[:] = b"virtual!"
    with closing(et.Stream(name)) as busy, closing(et.Stream(name)) as stream, closing(et.Stream(name)) as other:
        busy.submit(lasting(1.0))
        stream.copy(target, source)
        copied = recorded(stream)
        other.submit(lasting(1.0))
        worked = recorded(other)
        et.synchronize(name, TIMEOUT)
    assert bytes(target) == b"virtual!"
    assert (copied.completed_at, worked.completed_at) == (2000, 2_000_000_000)


def test_work_may_block_on_another_stream():
    _, name = fresh(host_cost=0)
    with closing(et.Stream(name)) as stream, closing(et.Stream(name)) as other:
        future = other.submit(lasting(1.0, lambda: "other"))
        assert stream.submit(lasting(0.5, lambda: future.result(TIMEOUT))).result(TIMEOUT) == "other"
        end = recorded(stream)
        end.synchronize(TIMEOUT)
    assert end.completed_at == 1_000_000_000


def test_submit_to_a_full_stream_waits_until_there_is_space():
    sim, name = fresh(host_cost=0)
    with closing(et.Stream(name, max_pending=1)) as stream:
        stream.submit(lasting(1.0))  # starts at once
        stream.submit(lasting(1.0))
        assert sim.now(0) == 0
        stream.submit(lasting(1.0))
        assert sim.now(0) == 1_000_000_000


def test_an_error_in_work_is_raised_and_the_stream_heals():
    _, name = fresh()
    with closing(et.Stream(name)) as stream:
        stream.submit(boom)
        with pytest.raises(Exception, match="boom"):
            stream.synchronize(TIMEOUT)
        assert stream.submit(lambda: 7).result(TIMEOUT) == 7


def test_a_stream_waits_for_an_event_of_the_cpu():
    _, name = fresh()
    gate = Gate()
    with closing(et.Stream("cpu")) as real, closing(et.Stream(name)) as stream:
        gate.hold(real)
        stream.wait_event(real.record_event())
        future = stream.submit(lasting(1.0, lambda: "late"))
        with pytest.raises(TimeoutError):
            stream.synchronize(0.001)
        gate.open()
        assert future.result(TIMEOUT) == "late"


def test_the_cpu_waits_for_an_event_of_a_stream_that_is_not_queried():
    _, name = fresh()
    with closing(et.Stream("cpu")) as real, closing(et.Stream(name)) as stream:
        stream.submit(lasting(1.0))
        real.wait_event(stream.record_event())
        assert real.submit(lambda: "late").result(TIMEOUT) == "late"


def test_callbacks_come_without_queries_or_waits():
    _, name = fresh()
    notified = threading.Event()
    with closing(et.Stream(name)) as stream:
        stream.submit(lasting(1.0))
        stream.record_event().notify(lambda _: notified.set())
        assert notified.wait(TIMEOUT)


def test_a_loop_may_await_work_that_takes_long():
    _, name = fresh()

    async def main():
        with closing(et.Stream(name)) as stream:
            value = await stream.submit(lasting(3600.0, lambda: "an hour"))
            await stream
            return value

    assert run_loop(main()) == "an hour"


def test_a_thread_may_open_what_another_waits_for():
    _, name = fresh()
    gate = Gate()
    with closing(et.Stream(name)) as stream:
        holding = Background(lambda: stream.submit(gate).result(TIMEOUT))  # a function of sim runs in a host thread
        gate.reached()
        waiting = Background(lambda: stream.submit(lambda: "behind").result(TIMEOUT))
        gate.open()
        holding.result()
        assert waiting.result() == "behind"


def test_queued_work_runs_before_the_process_ends():
    out = run(
        """
        s = et.Stream("sim")
        for n in range(3):
            s.submit(et.work(lambda n=n: print(n), duration=3600.0))
        """
    )
    assert out.split() == ["0", "1", "2"]


def test_a_forked_child_runs_no_work_of_the_parent():
    out = run(
        """
        s = et.Stream("sim")
        s.submit(et.work(int, duration=1.0))
        s.submit(lambda: os.write(1, b"parent "))
        child = os.fork()
        if not child:
            t = et.Stream("sim")
            t.submit(et.work(lambda: os.write(1, b"child "), duration=2.0)).result(10)
            os._exit(0)
        os.waitpid(child, 0)
        s.synchronize(10)
        """
    )
    assert out.split() == ["child", "parent"]
