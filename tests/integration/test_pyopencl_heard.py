"""The adapter of pyopencl: programs that know nothing of Eventide, on the driver that pip brings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as et

cl = pytest.importorskip("pyopencl", reason="needs pyopencl: pip install 'pyopencl[pocl]'")
np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]
LIMIT = 240  # seconds

SOURCE = """
__kernel void fill(__global float *a, float v) { a[get_global_id(0)] = v; }
__kernel void twice(__global const float *a, __global float *b) { b[get_global_id(0)] = 2 * a[get_global_id(0)]; }
"""
START = f"""
import sys
import numpy as np
import pyopencl as cl

device = next(d for p in cl.get_platforms() for d in p.get_devices())
context = cl.Context([device])
one, two = cl.CommandQueue(context), cl.CommandQueue(context)
program = cl.Program(context, '''{SOURCE}''').build()
fill, twice = program.fill, program.twice
a = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
b = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
out = np.empty(1024, np.float32)
"""
END = "cl.enqueue_copy(two, out, b)\nassert out.shape == (1024,)\nprint('ended')\n"
# Ways to let `twice` on the second queue come after `fill` on the first.
ORDERED = {
    "wait_for": "event = fill(one, (1024,), None, a, np.float32(3))\ntwice(two, (1024,), None, a, b, wait_for=[event])",
    "barrier": (
        "event = fill(one, (1024,), None, a, np.float32(3))\ncl.enqueue_barrier(two, wait_for=[event])\n"
        "twice(two, (1024,), None, a, b)"
    ),
    "marker": (
        "fill(one, (1024,), None, a, np.float32(3))\nevent = cl.enqueue_marker(one)\n"
        "twice(two, (1024,), None, a, b, wait_for=[event])"
    ),
    "finish": "fill(one, (1024,), None, a, np.float32(3))\none.finish()\ntwice(two, (1024,), None, a, b)",
    "event.wait": "fill(one, (1024,), None, a, np.float32(3)).wait()\ntwice(two, (1024,), None, a, b)",
    "wait_for_events": (
        "cl.wait_for_events([fill(one, (1024,), None, a, np.float32(3))])\ntwice(two, (1024,), None, a, b)"
    ),
    "same queue": "two = one\nfill(one, (1024,), None, a, np.float32(3))\ntwice(two, (1024,), None, a, b)",
    "blocking copy": "cl.enqueue_copy(one, a, out)\ntwice(two, (1024,), None, a, b)",
    "dropped copy": "cl.enqueue_copy(one, a, out, is_blocking=False)\ntwice(two, (1024,), None, a, b)",
    "both read": (
        "cl.enqueue_copy(one, a, out)\nc = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)\n"
        "twice(one, (1024,), None, a, c)\ntwice(two, (1024,), None, a, b)"
    ),
    "halves": (
        "cl.enqueue_fill_buffer(one, a, np.float32(1), 0, 2048)\n"
        "cl.enqueue_fill_buffer(two, a, np.float32(1), 2048, 2048)\n"
        "cl.enqueue_copy(two, b, b, byte_count=16, src_offset=0, dst_offset=64)"
    ),
}
RACES = {
    "kernels": "fill(one, (1024,), None, a, np.float32(3))\ntwice(two, (1024,), None, a, b)",
    "set_args": (
        "fill.set_args(a, np.float32(3))\ncl.enqueue_nd_range_kernel(one, fill, (1024,), None)\n"
        "twice.set_arg(0, a)\ntwice.set_arg(1, b)\ncl.enqueue_nd_range_kernel(two, twice, (1024,), None)"
    ),
    "kept copy": (
        "kept = cl.enqueue_copy(one, a, np.ones(1024, np.float32), is_blocking=False)\ntwice(two, (1024,), None, a, b)"
    ),
    "fills": (
        "cl.enqueue_fill_buffer(one, a, np.float32(1), 0, 2052)\n"
        "cl.enqueue_fill_buffer(two, a, np.float32(1), 2048, 2048)"
    ),
    "sub-buffer": (
        "part = a.get_sub_region(2048, 2048)\ncl.enqueue_fill_buffer(one, part, np.float32(1), 0, 2048)\n"
        "twice(two, (1024,), None, a, b)"
    ),
}


def eventide(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eventide", *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)


def check(tmp_path: Path, body: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    (tmp_path / "program.py").write_text(START + body + "\n" + END)
    done = eventide("check", "--json", "program.py", cwd=tmp_path)
    assert "failed, the program goes on" not in done.stderr, done.stderr
    assert "ended" in done.stderr, done.stderr
    return done, [finding["kind"] for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("how", ORDERED)
def test_a_program_that_orders_its_queues_is_clean(how, tmp_path):
    done, kinds = check(tmp_path, ORDERED[how])
    assert "race" not in kinds, done.stdout
    assert done.returncode == (1 if kinds else 0)


@pytest.mark.parametrize("how", RACES)
def test_a_missing_wait_between_two_queues_is_found(how, tmp_path):
    done, kinds = check(tmp_path, RACES[how])
    assert kinds.count("race") == 1, done.stdout
    assert done.returncode == 1


def test_the_finding_names_kernels_queues_and_the_lines_of_the_program(tmp_path):
    (tmp_path / "program.py").write_text(START + RACES["kernels"] + "\n" + END)
    done = eventide("check", "program.py", cwd=tmp_path)
    text = " ".join(done.stdout.split())
    assert "possible race: 'twice' on stream 2 'queue 2 on" in text
    assert "reads 4,096 bytes that 'fill' on stream 1 'queue 1 on" in text
    lines = (tmp_path / "program.py").read_text().splitlines()
    assert f"(above program.py:{lines.index(RACES['kernels'].splitlines()[1]) + 1})" in text


def test_what_hangs_on_a_user_event_is_not_judged(tmp_path):
    body = (
        "gate = cl.UserEvent(context)\nevent = fill(one, (1024,), None, a, np.float32(3))\n"
        "later = twice(two, (1024,), None, a, b, wait_for=[gate])\n"
        "event.wait()\ngate.set_status(cl.command_execution_status.COMPLETE)\nlater.wait()"
    )
    done, kinds = check(tmp_path, body)
    assert kinds == [], done.stdout


def test_a_run_has_tracks_times_waits_syncs_builds_and_memory(tmp_path):
    (tmp_path / "program.py").write_text(START + ORDERED["wait_for"] + "\n" + END)
    done = eventide("run", "-q", "-o", "t.eventide", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
    trace = et.open_trace(tmp_path / "t.eventide")
    tracks = trace.tracks.to_pylist()
    spans = trace.spans.to_pylist()
    work = [span for span in spans if span["category"] == "work"]
    assert [span["name"] for span in work] == ["fill", "twice", "read buffer"]
    assert [tracks[span["track"]]["name"][:7] for span in work] == ["queue 1", "queue 2", "queue 2"]
    assert all(tracks[span["track"]]["device"].startswith("opencl:") for span in work)
    assert all(span["outcome"] == "ok" and span["submit"] <= span["start"] for span in work)
    ends = [span["start"] + span["duration"] for span in work]
    error = 2_000_000  # ns: of two readings of clocks, on a machine that may be busy
    assert ends[0] <= work[1]["start"] + error
    assert ends[1] <= work[2]["start"] + error
    (wait,) = (edge for edge in trace.edges.to_pylist() if edge["kind"] == "wait")
    assert (spans[wait["from_span"]]["name"], spans[wait["to_span"]]["name"]) == ("fill", "twice")
    (sync,) = (span for span in spans if span["category"] == "sync")
    assert ends[2] <= sync["start"] + sync["duration"] + error
    (build,) = (span for span in spans if span["category"] == "compile")
    assert build["name"] == "fill, twice"
    assert json.loads(build["args"])["trigger"] == "OPENCL"
    assert not any(trace.metadata["account"]["dropped"].values())
    operations = trace.operations.to_pylist()
    allocated = [row["bytes"] for row in operations if row["hook"] == "memory_allocation"]
    assert allocated == [4096, 4096]


@pytest.fixture
def adapter():
    from eventide.adapters import pyopencl

    pyopencl.install()
    yield pyopencl
    pyopencl.uninstall()


@pytest.fixture
def context():
    return cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])


def names(module: object) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if not name.startswith("__") or name == "__call__"}


def test_uninstall_leaves_pyopencl_as_it_was():
    from eventide.adapters import pyopencl

    places = (cl, cl._cl, cl.Event, cl.CommandQueue, cl.Kernel, cl.MemoryObject, cl.Program)
    before = [names(place) for place in places]
    pyopencl.install()
    pyopencl.install()
    assert names(cl) != before[0]
    pyopencl.uninstall()
    pyopencl.uninstall()
    assert [names(place) for place in places] == before
    assert not pyopencl.installed()


def test_the_classes_are_still_classes_to_the_program(adapter, context):
    old = cl._cl.CommandQueue(context)
    new = cl.CommandQueue(context)
    assert isinstance(old, cl.CommandQueue)
    assert isinstance(new, cl.CommandQueue)
    assert issubclass(type(new), cl.CommandQueue)
    assert not isinstance(3, cl.Buffer)
    assert cl.CommandQueue.from_int_ptr(new.int_ptr) == new

    class Mine(cl.Buffer):
        pass

    assert isinstance(Mine(context, cl.mem_flags.READ_WRITE, 16), cl.Buffer)
    assert cl.Buffer | None == cl._cl.Buffer | None


def test_a_queue_gets_timestamps_unless_asked_not_to(adapter, context):
    flag = cl.command_queue_properties.PROFILING_ENABLE
    assert cl.CommandQueue(context).properties & flag
    adapter.uninstall()
    adapter.install(profiling=False)
    with et.Recorder() as recorder:
        queue = cl.CommandQueue(context)
        assert not queue.properties & flag
        cl.enqueue_copy(queue, cl.Buffer(context, cl.mem_flags.READ_WRITE, 64), np.zeros(16, np.float32))
    (span,) = (one for one in recorder.trace.spans.to_pylist() if one["category"] == "work")
    assert span["outcome"] == "ok"
    assert "(host times)" in recorder.trace.tracks["name"].to_pylist()[span["track"]]


def test_errors_of_pyopencl_come_through_and_the_work_has_failed(adapter, context):
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    with et.Recorder() as recorder, pytest.raises(cl.Error):
        cl.enqueue_copy(queue, np.zeros(64, np.float32), buffer)
    (span,) = (one for one in recorder.trace.spans.to_pylist() if one["category"] == "work")
    assert (span["name"], span["outcome"]) == ("read buffer", "failed")
    with et.Recorder() as recorder, pytest.raises(cl.Error):
        cl.Program(context, "this is no OpenCL").build()
    (span,) = (one for one in recorder.trace.spans.to_pylist() if one["category"] == "compile")
    assert span["outcome"] == "failed"


def test_thousands_of_commands_all_have_their_times(adapter, context):
    queue = cl.CommandQueue(context)
    kernel = cl.Program(context, SOURCE).build().fill
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    with et.Recorder() as recorder:
        for _ in range(3000):
            kernel(queue, (16,), None, buffer, np.float32(1))
        queue.finish()
    spans = [one for one in recorder.trace.spans.to_pylist() if one["category"] == "work"]
    assert len(spans) == 3000
    assert {span["outcome"] for span in spans} == {"ok"}
    starts = [span["start"] for span in spans]
    assert starts == sorted(starts)


def test_the_queues_of_our_own_opencl_device_are_not_heard_twice(adapter):
    stream = et.Stream("opencl:0")
    with et.Recorder() as recorder:
        stream.submit(lambda: None).result()
        stream.synchronize()
    assert [one["category"] for one in recorder.trace.spans.to_pylist()].count("work") == 1
    stream.close()


def test_pointers_to_const_are_known_with_and_without_argument_information(context):
    from eventide.adapters._pyopencl_memory import constant_arguments

    source = (
        "kernel void f(global const int *a, /* const */ global int *b, constant int *c, __global int const *restrict d,"
        " const int n) { b[0] = a[0] + c[0] + d[0] + n; }"
    )
    for options in ([], ["-cl-kernel-arg-info"]):
        found = constant_arguments(cl.Program(context, source).build(options).f)
        assert {0, 3} <= found
        assert 1 not in found
