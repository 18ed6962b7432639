"""The adapter of pyopencl: programs that do not import Eventide, on PoCL."""

from __future__ import annotations

import json

import pytest

import eventide as et
from eventide.analysis import memory
from tests.integration.pyopencl_programs import END, ORDERED, SOURCE, START, eventide

cl = pytest.importorskip("pyopencl", reason="needs pyopencl")
np = pytest.importorskip("numpy")
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600), pytest.mark.usefixtures("opencl")]


def test_a_run_has_tracks_times_waits_syncs_builds_and_memory(tmp_path):
    (tmp_path / "program.py").write_text(START + ORDERED["wait_for"] + "\n" + END)
    done = eventide("run", "-q", "-o", "t.eventide", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
    trace = et.open_trace(tmp_path / "t.eventide")
    tracks = trace.tracks.to_pylist()
    spans = trace.spans.to_pylist()
    work = [span for span in spans if span["category"] in {"work", "copy"}]
    assert [(span["name"], span["category"]) for span in work] == [
        ("fill", "work"),
        ("twice", "work"),
        ("read buffer", "copy"),
    ]
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
    allocated = [row for row in operations if row["hook"] == "memory_allocation"]
    assert [row["bytes"] for row in allocated if row["device"] is not None] == [4096, 4096]
    (held,) = memory(trace).devices  # the lifetime of the array that was read is the sanitizer's, not a device's
    assert (held.device, held.peak) == (allocated[0]["device"], 8192)


def test_a_killed_process_keeps_the_category_of_each_command(tmp_path):
    kernel = "fill(one, (1024,), None, a, np.float32(3))\ncl.enqueue_fill_buffer(one, b, np.float32(1), 0, 64)\n"
    end = "cl.enqueue_copy(one, out, a)\nimport os\nos.kill(os.getpid(), 9)\n"
    (tmp_path / "program.py").write_text(START + kernel + end)
    done = eventide("run", "-q", "-o", "t.eventide", "program.py", cwd=tmp_path)
    assert done.returncode == -9, done.stderr
    spans = et.open_trace(tmp_path / "t.eventide").spans.to_pylist()
    assert [(span["name"], span["category"]) for span in spans if span["work"]] == [
        ("fill", "work"),
        ("fill buffer", "copy"),
        ("read buffer", "copy"),
    ]


@pytest.fixture
def adapter():
    from eventide.integrations import pyopencl

    pyopencl.install()
    yield pyopencl
    pyopencl.uninstall()


@pytest.fixture
def context():
    return cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])


def names(module: object) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if not name.startswith("__") or name == "__call__"}


def test_uninstall_leaves_pyopencl_as_it_was():
    from eventide.integrations import pyopencl

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
    (span,) = (one for one in recorder.trace.spans.to_pylist() if one["category"] == "copy")
    assert span["outcome"] == "ok"
    assert "(host times)" in recorder.trace.tracks["name"].to_pylist()[span["track"]]


def test_errors_of_pyopencl_come_through_and_the_work_has_failed(adapter, context):
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    with et.Recorder() as recorder, pytest.raises(cl.Error):
        cl.enqueue_copy(queue, np.zeros(64, np.float32), buffer)
    (span,) = (one for one in recorder.trace.spans.to_pylist() if one["category"] == "copy")
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


def test_the_queues_of_our_own_opencl_device_are_not_traced_twice(adapter):
    stream = et.Stream("opencl:0")
    with et.Recorder() as recorder:
        stream.submit(lambda: None).result()
        stream.synchronize()
    assert [one["category"] for one in recorder.trace.spans.to_pylist()].count("work") == 1
    stream.close()


def test_pointers_to_const_are_known_with_and_without_argument_information(context):
    from eventide.integrations.pyopencl._memory import constant_arguments

    source = (
        "kernel void f(global const int *a, /* const */ global int *b, constant int *c, __global int const *restrict d,"
        " const int n) { b[0] = a[0] + c[0] + d[0] + n; }"
    )
    for options in ([], ["-cl-kernel-arg-info"]):
        found = constant_arguments(cl.Program(context, source).build(options).f)
        assert {0, 3} <= found
        assert 1 not in found
