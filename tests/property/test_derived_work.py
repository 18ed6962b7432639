"""Work, edges and levels of a recording are those of the plain-Python reader, whatever was lost or given up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import eventide as et
from eventide import _native
from eventide.analysis import critical_path, idle, syncs
from eventide.analysis._host_calls import blocking_of
from eventide.analysis._view import view_of
from eventide.trace import Trace
from eventide.trace.formats.eventide import _reader
from eventide.trace.formats.eventide._columns import Names, Stacks, texts
from eventide.trace.formats.eventide._tracks import Tracks
from eventide.trace.formats.eventide._work import Work
from tests.reference import derived_work as reference
from tests.reference.derived_work import ABSENT, SYNCS

KINDS = {
    **dict.fromkeys(("hook", "end", "outcome", "thread", "device", "name", "group", "stack"), np.int32),
    **dict.fromkeys(("time", "stream", "event", "version", "work", "start", "finish", "cpu"), np.int64),
    **dict.fromkeys(("handle", "bytes"), np.uint64),
}
HOOKS = ["other", "work_submission", "work_completion", "event_record", "event_wait", *SYNCS, "stream_creation",
         "memory_allocation", "memory_deallocation"]  # fmt: skip
WORDS = ["cpu:0", "opencl:0", "copy", "work", "kernel"]


def pair(words: list[str]) -> Any:
    data = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, data)]).astype(np.int64)
    return ends, np.frombuffer(b"".join(data), np.uint8)


def rows_of(columns: dict[str, Any], hooks: list[str]) -> list[dict[str, Any]]:
    lists = {name: column.tolist() for name, column in columns.items() if not name.startswith("access_")}
    rows = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    return [{**row, "hook": hooks[row["hook"]]} for row in rows]


def compare(table: Any, expected: list[dict[str, Any]], stacks: dict[int, int]) -> None:
    """Equal rows in every column that the reference fills."""
    found = table.to_pylist()
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        stack = {"stack": stacks.get(theirs["stack"])} if "stack" in theirs else {}
        assert mine == {**{name: theirs.get(name) for name in mine}, **stack}


def whole(least: int, most: int) -> Any:
    return st.integers(least, most)


times = st.one_of(st.just(ABSENT), whole(0, 60))
operation = st.fixed_dictionaries(
    {
        "hook": whole(0, len(HOOKS) - 1),
        "end": whole(0, 1),
        "outcome": whole(0, 4),
        "thread": whole(0, 2),
        "device": whole(0, 2),
        "name": whole(0, len(WORDS)),
        "group": whole(0, 4),
        "stack": whole(0, 3),
        "time": whole(0, 60),
        "stream": whole(0, 4),
        "event": whole(0, 2),
        "version": whole(-1, 2),
        "work": whole(0, 8),
        "start": times,
        "finish": whole(0, 60),
        "cpu": times,
        "handle": whole(0, 2),
        "bytes": whole(0, 9),
    }
)


@settings(max_examples=200)
@given(st.lists(operation, max_size=60))
def test_any_operations_give_what_the_reference_gives(program: list[dict[str, int]]) -> None:
    program = sorted(program, key=lambda row: row["time"])
    columns = {name: np.array([row[name] for row in program], kind) for name, kind in KINDS.items()}
    names = Names(pair(WORDS), False)
    frames = {"number": np.array([1, 3], np.int32), "offsets": np.zeros(3, np.int32)}
    stacks = Stacks({**frames, **{name: np.zeros(0, np.int32) for name in ("file", "function", "line")}}, names)
    threads = ['{"kind": "thread", "name": "one", "tid": 1}', '{"kind": "thread", "name": "two", "tid": 2}']
    ours, theirs = Tracks(threads, {}), Tracks(threads, {})
    work = Work(columns, HOOKS, names, ours, 7)
    expected = reference.Work(rows_of(columns, HOOKS), names, theirs, 7)
    made = Trace({"spans": work.spans(stacks), "edges": work.edges(), "instants": work.failures(stacks),
                  "counters": work.memory_levels()})  # fmt: skip
    compare(made.spans, expected.spans, {1: 0, 3: 1})
    compare(made.edges, expected.edges, {})
    compare(made.instants, expected.failures(), {1: 0, 3: 1})
    compare(made.counters, expected.memory_levels(), {})
    assert ours.table() == theirs.table()
    every = reference.Work(rows_of(columns, HOOKS), names, Tracks(threads, {}), 7, every_stream=True).edges
    padding = Trace({"spans": {"track": [0] * 7, "name": ["x"] * 7, "category": ["span"] * 7, "start": [0] * 7}})
    spans = pa.concat_tables([padding.spans, made.spans]).unify_dictionaries()
    same_blocking(Trace({"spans": spans, "edges": made.edges, "tracks": ours.table()}), every)


def same_blocking(trace: Trace, every: list[dict[str, Any]]) -> Trace:
    """The trace with all edges of synchronizations, where the analysis must find what it finds without most of them."""
    columns = {name: [row[name] for row in every] for name in trace.edges.column_names}
    full = trace.replace(edges=columns)
    view = view_of(trace)
    mine, theirs = blocking_of(view), blocking_of(view_of(full))
    assert mine.rows.tolist() == theirs.rows.tolist()
    for ours, all_of_them in zip(mine.source.tolist(), theirs.source.tolist(), strict=True):
        # Work without an end ends with the trace, and so may other work: then either of them bounds the wait.
        tied = ours >= 0 and all_of_them >= 0 and view.unfinished[ours] and view.end[ours] == view.end[all_of_them]
        assert ours == all_of_them or tied
    return full


def check_file(file: Path) -> Trace:
    """The trace in a file of our recorder, compared with what the reference makes of its operations."""
    # Before the times of a simulation are put on its clock: tests/unit/test_what_if_sim.py is about that.
    with patch.object(_reader, "on_virtual_clock", lambda trace: trace):
        trace = et.open_trace(file)
        trace.check()
    raw = _native.load_trace(str(file)).columns()
    head = json.loads(raw["head"])
    names, tracks = Names(raw["texts"], False), Tracks(texts(raw["tracks"]), head)
    order = sorted(range(len(raw["hooks"]["time"])), key=raw["hooks"]["time"].tolist().__getitem__)
    hooks = {name: column[order] for name, column in raw["hooks"].items() if not name.startswith("access_")}
    hooks["thread"] = tracks.rows(hooks["thread"])
    own = len(raw["spans"]["start"])
    operations = rows_of(hooks, head["hooks"])
    expected = reference.Work(operations, names, tracks, own)
    numbers = {number: row for row, number in enumerate(raw["stacks"]["number"].tolist())}
    compare(trace.spans.slice(own), expected.spans, numbers)
    compare(trace.edges.slice(len(raw["edges"]["kind"])), expected.edges, {})
    compare(trace.instants.slice(len(raw["instants"]["time"])), expected.failures(), numbers)
    compare(trace.counters.slice(len(raw["counters"]["time"])), expected.memory_levels(), {})
    assert trace.tracks.to_pylist() == Trace({"tracks": tracks.table()}).tracks.to_pylist()
    every = reference.Work(operations, names, tracks, own, every_stream=True)
    full = same_blocking(trace, every.edges)
    for analysis in (syncs, critical_path, idle):
        assert analysis(trace) == analysis(full)
    return trace


class Boom(Exception):
    pass


def fail() -> None:
    raise Boom


class Program:
    """Acts on streams of two devices; an act that finds an error left by failed work continues."""

    def __init__(self) -> None:
        self.streams = [et.Stream("cpu", name="first"), et.Stream("cpu"), et.Stream("sim"), et.Stream("sim:1")]
        self.events = [et.Event("cpu"), et.Event("sim")]

    def act(self, verb: str, first: int, second: int) -> None:
        stream, event = self.streams[first % len(self.streams)], self.events[second % 2]
        try:
            if verb == "submit":
                stream.submit(int)
            elif verb == "nested":
                other = self.streams[second % 2]
                self.streams[0].submit(lambda: other.submit(int).done()).result(60)
            elif verb == "fail":
                stream.submit(fail)
            elif verb == "record" and stream.device_type == ("cpu", "sim")[second % 2]:
                event.record(stream)
            elif verb == "wait":  # of another device as well
                stream.wait_event(event)
            elif verb == "event":
                event.synchronize(60)
            elif verb == "stream":
                stream.synchronize(60)
            elif verb == "device":
                et.synchronize("sim" if second else "cpu")
            elif verb == "drop":
                self.streams[first % len(self.streams)] = et.Stream(stream.device_type)
        except (Boom, et.StreamError):  # the second: work behind one that failed
            pass

    def end(self) -> None:
        """Clear the errors of all streams. One that was dropped is kept by its error where the frame of the work leads
        back to it (docs/decisions/0002-errors.md), and a later et.synchronize, in another test, would raise it.
        """
        for number in range(len(self.streams)):
            self.act("stream", number, 0)
        for device in ("cpu", "sim", "sim:1"):
            while True:
                try:
                    et.synchronize(device, 60)
                    break
                except (Boom, et.StreamError):
                    continue


verbs = st.sampled_from(["submit", "submit", "nested", "fail", "record", "wait", "event", "stream", "device", "drop"])


@settings(max_examples=25)
@given(st.lists(st.tuples(verbs, whole(0, 3), whole(0, 1)), max_size=40), st.booleans())
def test_real_programs_give_what_the_reference_gives(tmp_path_factory: Any, acts: list[Any], stacks: bool) -> None:
    file: Path = tmp_path_factory.mktemp("program") / "a.eventide"
    with et.Recorder(file, stacks=stacks):
        program = Program()
        for verb, first, second in acts:
            program.act(verb, first, second)
        for last in (0, 1):
            program.act("device", 0, last)
        program.end()
    check_file(file)


def test_a_program_leaves_no_error_for_the_next_test() -> None:
    program = Program()
    for verb in ("fail", "drop"):
        program.act(verb, 3, 0)
    program.end()
    et.synchronize("sim:1", 60)  # waits for a stream that was dropped, and would raise its error


def test_a_ring_that_lost_its_oldest_gives_what_the_reference_gives(tmp_path: Path) -> None:
    file = tmp_path / "a.eventide"
    with et.Recorder(file, ring=True, buffer=1 << 20) as recorder:
        streams = [et.Stream("cpu"), et.Stream("cpu")]
        for n in range(12_000):
            streams[n % 2].submit(int)
            if n % 100 == 0:
                streams[0].wait_event(streams[1].record_event())
            if n % 1000 == 0:
                et.synchronize("cpu")
        for stream in streams:
            stream.synchronize()
    assert recorder.trace.metadata["account"]["dropped"]["operations"] > 0
    trace = check_file(file)
    assert any(name.startswith("work ") for name in trace.spans.column("name").to_pylist())
