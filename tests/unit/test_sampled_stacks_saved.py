"""The sampled stacks of a trace as collapsed stacks and as a file of speedscope."""

import json
from pathlib import Path

import pytest

import eventide as et

FRAMES = [
    [{"file": "a.py", "line": 3, "function": "inner;x"}, {"file": "a.py", "line": 9, "function": "<module>"}],
    [{"file": "a.py", "line": 9, "function": "<module>"}],
]


@pytest.fixture
def trace():
    tracks = {name: [None, None] for name in ("parent", "pid", "tid", "device", "stream", "rank")}
    tracks |= {"kind": ["process", "thread"], "name": ["p", "MainThread"]}
    instants = {"track": [1] * 4, "name": ["f"] * 4, "category": ["sample", "sample", "sample", "span"]}
    instants |= {"time": [30, 10, 20, 5], "stack": [1, 0, 0, 0], "args": [None] * 4}
    return et.Trace({"tracks": tracks, "instants": instants, "stacks": {"frames": FRAMES}})


def test_collapsed_stacks_have_a_line_for_each_stack_of_a_thread(trace, tmp_path):
    path = trace.save(tmp_path / "t.collapsed")
    assert path.read_text() == "MainThread;<module>;inner:x 2\nMainThread;<module> 1\n"


def test_speedscope_has_the_samples_of_each_thread_in_order(trace, tmp_path):
    document = json.loads(trace.save(tmp_path / "t.speedscope.json").read_text())
    (profile,) = document["profiles"]
    frames = document["shared"]["frames"]
    assert [[frames[one]["name"] for one in stack] for stack in profile["samples"]] == [
        ["<module>", "inner;x"],
        ["<module>", "inner;x"],
        ["<module>"],
    ]
    assert (profile["name"], profile["endValue"], profile["weights"]) == ("MainThread", 3, [1, 1, 1])


def of_processes(ranks):
    """A sample at which the main thread waited, of each process; the second stack is of Eventide."""
    own = {"file": str(Path(et.__file__).with_name("run") / "_child.py"), "line": 1, "function": "stop"}
    tracks = {"kind": ["other"] * 2, "name": ["samples of MainThread"] * 2, "pid": [7, 8]}
    instants = {"track": [0, 1, 1], "name": ["f"] * 3, "category": ["sample"] * 3, "time": [1, 2, 3]}
    instants |= {"stack": [0, 0, 1], "args": ['{"waiting": true}', '{"waiting": true}', None]}
    stacks = {"frames": [[*FRAMES[1], own], [own]]}
    processes = [{"pid": pid, "rank": rank} for pid, rank in zip((7, 8), ranks, strict=True)]
    return et.Trace({"tracks": tracks, "instants": instants, "stacks": stacks}, {"processes": processes})


def test_a_thread_has_the_name_of_its_process_and_time_that_it_waited_a_frame(tmp_path):
    path = of_processes([None, 0]).save(tmp_path / "t.collapsed")
    lines = ["MainThread of process 7;<module>;waiting 1\n", "MainThread of rank 0;<module>;waiting 1\n"]
    assert path.read_text() == "".join(lines)
    document = json.loads(of_processes([None, 0]).save(tmp_path / "t.speedscope.json").read_text())
    assert [one["name"] for one in document["profiles"]] == ["MainThread of process 7", "MainThread of rank 0"]
    assert [one["samples"] for one in document["profiles"]] == [[[0, 1]], [[0, 1]]]


def test_lines_of_one_function_are_one_collapsed_stack(tmp_path):
    frames = [[{"file": "a.py", "line": line, "function": "f"}] for line in (3, 4)]
    instants = {"track": [0, 0], "name": ["f"] * 2, "category": ["sample"] * 2, "time": [1, 2], "stack": [0, 1]}
    trace = et.Trace(
        {"tracks": {"kind": ["thread"], "name": ["m"]}, "instants": instants, "stacks": {"frames": frames}}
    )
    assert trace.save(tmp_path / "t.collapsed").read_text() == "m;f 2\n"


@pytest.mark.parametrize("name", ["t.collapsed", "t.speedscope.json"])
def test_a_trace_without_samples_is_refused_and_leaves_no_file(name, tmp_path):
    with pytest.raises(et.UsageValueError, match="has no sampled stacks; record with eventide run, without --sample 0"):
        et.Trace({}).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
