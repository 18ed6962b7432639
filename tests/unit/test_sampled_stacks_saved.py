"""The sampled stacks of a trace as collapsed stacks and as a file of speedscope."""

import json

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


@pytest.mark.parametrize("name", ["t.collapsed", "t.speedscope.json"])
def test_a_trace_without_samples_is_refused_and_leaves_no_file(name, tmp_path):
    with pytest.raises(et.UsageValueError, match="has no sampled stacks; record with eventide run, without --sample 0"):
        et.Trace({}).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
