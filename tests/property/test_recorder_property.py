"""What is recorded is read back: by our reader, and by one in plain Python that uses only the format."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import eventide as et
from eventide import _native
from tests.reference import eventide_file

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), names)
arguments = st.dictionaries(names.filter(bool), values, max_size=5)
numbers = st.floats(allow_nan=False)
times = st.integers(-(2**62), 2**62)
acts = st.one_of(
    st.tuples(st.just("enter"), names, arguments),
    st.tuples(st.just("leave"), st.integers(0, 5), st.none()),
    st.tuples(st.just("instant"), names, arguments),
    st.tuples(st.just("counter"), names, numbers),
    st.tuples(st.just("span"), times, st.integers(0, 2**62 - 1)),  # the end is a time of 64 bits
)


def same(a: Any, b: Any) -> bool:
    return a == b and math.copysign(1, a) == math.copysign(1, b)


class RandomRecording:
    """Records, and keeps what should be in the trace."""

    def __init__(self) -> None:
        self.open: list[tuple[et.span, int]] = []
        self.spans: list[list[Any]] = []  # name, arguments, has ended
        self.instants: list[tuple[str, dict[str, Any]]] = []
        self.counters: list[tuple[str, float]] = []
        self.finished: list[tuple[int, int]] = []

    def act(self, verb: str, first: Any, second: Any) -> None:
        if verb == "enter":
            span = et.span(first, **second)
            span.__enter__()
            self.open.append((span, len(self.spans)))
            self.spans.append([first, second, False])
        elif verb == "leave" and self.open:
            span, row = self.open.pop(first % len(self.open))  # in any order, as coroutines do
            span.__exit__(None, None, None)
            self.spans[row][2] = True
        elif verb == "instant":
            et.instant(first, **second)
            self.instants.append((first, second))
        elif verb == "counter":
            et.counter(first, second)
            self.counters.append((first, second))
        elif verb == "span":
            _native.record_span("elsewhere", "given", "other", first, first + second)
            self.finished.append((first, first + second))

    def compare(self, trace: et.Trace) -> None:
        rows = trace.spans.to_pylist()
        entered = [row for row in rows if row["name"] != "given" or row["category"] != "other"]
        assert [[row["name"], json.loads(row["args"] or "{}"), row["duration"] is not None] for row in entered] == (
            self.spans
        )
        given_rows = [row for row in rows if row["category"] == "other"]
        assert [(row["start"], row["start"] + row["duration"]) for row in given_rows] == self.finished
        instants = trace.instants.to_pylist()
        assert [(row["name"], json.loads(row["args"] or "{}")) for row in instants] == self.instants
        counters = trace.counters.to_pylist()
        assert [row["name"] for row in counters] == [name for name, _ in self.counters]
        assert all(same(row["value"], value) for row, (_, value) in zip(counters, self.counters, strict=True))

    def compare_with(self, file: eventide_file.File) -> None:
        text = lambda number: file.texts.get(number, "")  # noqa: E731
        begun = file.of(eventide_file.BEGIN)
        assert [(text(t.name), file.arguments(t.payload)) for t in begun] == [(n, a) for n, a, _ in self.spans]
        ended = {(t.b, t.a) for t in file.of(eventide_file.ENDED)}
        assert [(t.track, t.a) in ended for t in begun] == [over for _, _, over in self.spans]
        instants = file.of(eventide_file.INSTANT)
        assert [(text(t.name), file.arguments(t.payload)) for t in instants] == self.instants
        assert [(text(t.name), t.a) for t in file.of(eventide_file.COUNTER)] == self.counters
        assert [(t.a, t.b) for t in file.of(eventide_file.SPAN)] == self.finished


@settings(max_examples=30)
@given(st.lists(acts, max_size=40))
def test_everything_recorded_is_read_back(tmp_path_factory: Any, program: list[Any]) -> None:
    folder: Path = tmp_path_factory.mktemp("recorded")
    recording = RandomRecording()
    with ExitStack() as stack:
        recorder = stack.enter_context(et.Recorder(folder / "a.eventide", buffer=1 << 20))
        for verb, first, second in program:
            recording.act(verb, first, second)
    for span, _ in recording.open:
        span.__exit__(None, None, None)
    recorder.trace.check()
    recording.compare(recorder.trace)
    file = eventide_file.read(folder / "a.eventide")
    assert file.account is not None
    recording.compare_with(file)


def test_stacks_and_hooks_are_where_the_format_specifies(tmp_path: Path) -> None:
    with et.Recorder(tmp_path / "a.eventide", stacks=True) as recorder:
        with et.span("s"):
            pass
        stream = et.Stream("cpu", name="worker")
        stream.submit(int).result(60)
        stream.close()
    file = eventide_file.read(tmp_path / "a.eventide")
    [begun] = file.of(eventide_file.BEGIN)
    files = [file.texts[frame[0]] for frame in file.stacks[begun.b]]
    assert files[0] == __file__
    notified = [file.head["hooks"][thing.a & 255] for thing in file.of(eventide_file.HOOK)]
    assert sorted(notified) == sorted(recorder.trace.operations.column("hook").to_pylist())
    assert file.tracks[begun.track]["name"] == "MainThread"
    assert len(file.anchors) >= 2
