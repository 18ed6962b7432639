"""The `opencl` device on PoCL, and what happens where a driver is missing or broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import eventide as et
from eventide.testing import conformance

cl = pytest.importorskip("pyopencl", reason="needs pyopencl")
pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("opencl")]
TIMEOUT = 120.0
ROOT = Path(__file__).parents[2]

# Generous: the check itself takes milliseconds, but a machine may be busy with something else.
test_conformance_of_opencl = conformance.pytest_test("opencl:0", limit=240)

SLOW = """__kernel void slow(__global float *x, int rounds)
{ float v = x[get_global_id(0)]; for (int i = 0; i < rounds; ++i) v = v * 0.999f + 0.001f; x[get_global_id(0)] = v; }"""


@pytest.fixture(scope="module")
def device() -> et.Device:
    return et.Device("opencl:0")


@pytest.fixture(scope="module")
def slow(device):
    return cl.Kernel(cl.Program(device.native, SLOW).build(), "slow")


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=settings, check=False, timeout=TIMEOUT * 2)


def test_every_device_is_listed_by_name_and_says_what_it_lacks(device):
    assert "Portable Computing Language" in " ".join(d.name for d in et.devices() if d.type == "opencl")
    capabilities = device.capabilities
    assert not capabilities.deferred
    assert not capabilities.host_visible
    assert capabilities.timing
    assert capabilities.clock.startswith("OpenCL's (")


def test_work_enqueues_on_the_queue_of_the_current_stream(device, slow):
    stream, other = et.Stream(device), et.Stream(device)
    buffer, back = et.empty(4 * 64, device), bytearray(4 * 64)
    assert isinstance(stream.native, cl.CommandQueue)
    assert stream.native_handle == stream.native.int_ptr != other.native_handle

    def launch() -> str:
        slow(et.current_stream(device).native, (64,), None, buffer.native, cl.cltypes.int(1000))
        return "value"

    stream.copy(buffer, bytes(4 * 64))
    future = stream.submit(launch)
    other.wait_stream(stream)
    other.copy(back, buffer).result(TIMEOUT)
    assert future.result(TIMEOUT) == "value"
    assert any(back)


def test_times_of_work_are_the_kernel_s_own_on_the_trace_s_clock(device, slow):
    stream, received = et.Stream(device), []
    buffer = et.empty(4 * 64, device)
    events: list[cl.Event] = []

    def launch() -> None:
        events.append(slow(et.current_stream(device).native, (64,), None, buffer.native, cl.cltypes.int(200_000)))

    with et.hooks.on("work_completion", lambda work, start, end: received.append((work, start, end)), device=device):
        before = time.monotonic_ns()
        future = stream.submit(launch)
        stream.synchronize(TIMEOUT)
        after = time.monotonic_ns()
    ((work, start, end),) = received
    assert work == future.work_id
    error = device.clock.error_ns + 100_000
    assert before - error <= start <= end <= after + error
    assert end - start + 2 * error >= events[0].profile.end - events[0].profile.start


def test_work_bracketed_by_host_marks_lands_between_them_on_every_driver():
    for device in (d for d in et.devices() if d.type in ("opencl", "cpu")):
        stream = et.Stream(device)
        for _ in range(20):
            event = et.Event(device, enable_timing=True)
            before = time.monotonic_ns()
            stream.submit(int)
            event.record(stream)
            event.synchronize(TIMEOUT)
            after = time.monotonic_ns()
            error = device.clock.error_ns + (after - before) // 1000 + 20_000
            assert before - error <= event.completed_at <= after + error, device.name
        stream.close(TIMEOUT)


def test_a_queue_that_exists_already_is_wrapped(device, slow):
    properties = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(device.native, properties=properties)
    buffer = cl.Buffer(device.native, cl.mem_flags.READ_WRITE, 256)
    stream = et.Stream.wrap(queue, name="mine")
    assert stream.native is queue
    assert (stream.device, stream.name) == (device, "mine")
    assert et.Stream.wrap(stream) is stream
    mine = slow(queue, (64,), None, buffer, cl.cltypes.int(1_000_000))  # behind Eventide's back
    stream.synchronize(TIMEOUT)
    assert mine.command_execution_status == cl.command_execution_status.COMPLETE
    assert stream.submit(int, "3").result(TIMEOUT) == 3
    stream.close(TIMEOUT)
    cl.enqueue_marker(queue).wait()  # it is still its owner's


def test_a_queue_of_another_context_is_ordered_through_the_host(device, slow):
    elsewhere = cl.Context([device.native.devices[0]])
    queue = cl.CommandQueue(elsewhere, properties=cl.command_queue_properties.PROFILING_ENABLE)
    stream, foreign = et.Stream(device), et.Stream.wrap(queue)
    gate, cpu = threading.Event(), et.Stream("cpu")
    cpu.submit(gate.wait, TIMEOUT)
    stream.wait_stream(cpu)
    foreign.wait_stream(stream)
    future = foreign.submit(int, "4")
    assert not future.done()
    gate.set()
    assert future.result(TIMEOUT) == 4


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (0, "the queue has no timestamps; create it with properties=cl.command_queue_properties.PROFILING_ENABLE"),
        (3, "an out-of-order queue cannot be a stream"),
    ],
)
def test_a_queue_that_cannot_be_a_stream_is_refused_with_the_remedy(device, properties, words):
    with pytest.raises(et.UsageValueError, match=words):
        et.Stream.wrap(cl.CommandQueue(device.native, properties=properties))


def test_a_failing_launch_fails_the_stream_and_names_the_driver_s_error(device, slow):
    stream = et.Stream(device)
    future = stream.submit(lambda: slow(stream.native, (64,), (7,), None, cl.cltypes.int(1)))
    assert isinstance(future.exception(TIMEOUT), cl.Error)
    assert isinstance(stream.submit(int).exception(TIMEOUT), et.StreamError)
    with pytest.raises(cl.Error):
        stream.synchronize(TIMEOUT)


def test_many_copies_of_host_memory_do_not_block_the_host(device):
    stream, cpu, gate = et.Stream(device), et.Stream("cpu"), threading.Event()
    cpu.submit(gate.wait, TIMEOUT)
    stream.wait_stream(cpu)
    buffers = [et.empty(1 << 16, device) for _ in range(50)]
    out = [bytearray(1 << 16) for _ in buffers]
    for number, (buffer, back) in enumerate(zip(buffers, out, strict=True)):
        stream.copy(buffer, bytes([number]) * (1 << 16))
        stream.copy(back, buffer)
    assert not any(any(back) for back in out)
    gate.set()  # which is reached: nothing above waited for the device
    stream.synchronize(TIMEOUT)
    assert all(back == bytes([number]) * (1 << 16) for number, back in enumerate(out))


def test_copies_between_two_arrays_of_the_host_go_in_the_order_of_the_stream(device):
    stream, back = et.Stream(device), bytearray(4)
    assert stream.copy(back, b"1234").result(TIMEOUT) is None
    assert back == b"1234"


def test_several_devices_of_one_platform_wait_for_each_other():
    code = """if True:
        import eventide as et
        a, b = et.Stream("opencl:0"), et.Stream("opencl:1")
        x, out = et.empty(8, "opencl:0"), bytearray(8)
        a.copy(x, b"together")
        b.wait_stream(a)
        b.copy(out, x)
        b.synchronize(120)
        print(len([d for d in et.devices() if d.type == "opencl"]), bytes(out).decode())
        """
    done = run_python(code, POCL_DEVICES="pthread pthread")
    assert done.stdout.split() == ["2", "together"], done.stderr


def test_a_driver_that_kills_its_process_is_one_line_and_the_rest_works(tmp_path):
    # PoCL without a linker on the PATH calls abort() at the first kernel; an empty cache makes it look for one.
    code = """if True:
        import eventide as et
        from eventide.backends.opencl import _probe
        print([d.type for d in et.devices() if d.type in ("cpu", "sim", "opencl")][0])
        try:
            et.Device("opencl")
        except et.DeviceError as error:
            print("no OpenCL device can be used here" in str(error), "signal 6" in str(error))
        else:
            print("usable")
        print(et.Stream("cpu").submit(int, "3").result(120))
        """
    done = run_python(code, PATH=str(tmp_path), POCL_CACHE_DIR=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("cpu", "3")
    if lines[1] != "usable":  # a PoCL that brings its own linker is one that works
        assert lines[1] == "True True"
        assert done.stderr.count("device type 'opencl' is not available") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise ImportError('a library of the driver is missing')", "pyopencl cannot be used: ImportError: a library"),
        ("raise RuntimeError('of another world')", "pyopencl cannot be used: RuntimeError: of another world"),
        ("VERSION = (0,)", "pyopencl cannot be used: AttributeError: module 'pyopencl' has no attribute"),
    ],
)
def test_a_pyopencl_that_is_broken_or_of_another_version_is_one_line(tmp_path, text, words):
    (tmp_path / "pyopencl.py").write_text(text)
    done = run_python("from eventide.cli import main; main(['devices', '--json'])", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert {one["device"] for one in json.loads(done.stdout)} >= {"cpu:0", "sim:0"}
    (line,) = [line for line in done.stderr.splitlines() if "opencl" in line]
    assert words in line


def test_the_example_runs():
    done = run_python(
        "import runpy; runpy.run_path('examples/opencl_vector_add.py', run_name='__main__')", PYTHONPATH=str(ROOT)
    )
    assert done.returncode == 0, done.stderr
    assert "sums are right" in done.stdout


def test_a_process_that_leaves_a_gate_closed_still_ends():
    code = """if True:
        import threading, eventide as et
        cpu, s = et.Stream("cpu"), et.Stream("opencl:0")
        cpu.submit(threading.Event().wait)
        s.wait_stream(cpu)
        s.submit(int)
        print("left")
        """
    done = run_python(code, EVENTIDE_EXIT_TIMEOUT="0.2")
    assert done.stdout == "left\n"
    assert done.returncode == 0, done.stderr


def test_after_fork_the_child_is_reported():
    code = """if True:
        import os, eventide as et
        et.Stream("opencl:0").submit(int).result(120)
        if (pid := os.fork()) == 0:
            try:
                et.Stream("opencl:0")
            except et.DeviceError as error:
                os._exit(0 if "do not survive a fork" in str(error) else 3)
            os._exit(4)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    done = run_python(code)
    assert done.returncode == 0, done.stderr
