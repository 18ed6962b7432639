"""Collectives that run on the host are spans of communication, with torch's own records of them as arguments."""

import json
import time

import pytest

import eventide as et
from eventide.recording import note, record_span

ARGS = {"Process Group Name": "0", "Seq": 7, "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float"}


def recorded(spans, records):
    """A recording of (name, category, start in ns) with these notes; times are relative to now."""
    with et.Recorder() as recorder:
        begin, unix = time.monotonic_ns(), time.time_ns()
        for name, category, start in spans:
            record_span(name, category, begin + start, begin + start + 1000)
        note(
            {"collectives": [{**one, "unix_ns": unix + one["unix_ns"]} if "unix_ns" in one else one for one in records]}
        )
    return recorder.trace.sql("select name, category, args from spans order by start").fetchall()


def test_records_are_put_on_the_span_of_their_name_that_starts_nearest():
    spans = [("gloo:all_reduce", "annotation", 0), ("gloo:barrier", "annotation", 10**6), ("mine", "annotation", 10**6)]
    spans += [("gloo:all_reduce", "annotation", 10**9)]
    rows = recorded(spans, [{"name": "gloo:all_reduce", "unix_ns": 10**9 + 5000, "args": ARGS}])
    assert [(name, category) for name, category, _ in rows] == [
        ("gloo:all_reduce", "communication"),
        ("gloo:barrier", "communication"),
        ("mine", "annotation"),
        ("gloo:all_reduce", "communication"),
    ]
    assert [args for _, _, args in rows[:3]] == [None] * 3
    assert json.loads(rows[3][2]) == {**ARGS, "bytes": 4000}


def test_a_record_far_from_every_span_is_ignored():
    ((_, category, args),) = recorded(
        [("gloo:all_reduce", "annotation", 0)], [{"name": "gloo:all_reduce", "unix_ns": 10**9, "args": ARGS}]
    )
    assert (category, args) == ("communication", None)


@pytest.mark.parametrize(
    "damaged", [{}, {"name": 3}, {"name": "gloo:barrier", "args": 1}, {"args": {}, "name": "gloo:barrier"}]
)
def test_damaged_records_are_ignored(damaged):
    assert recorded([("gloo:barrier", "annotation", 0)], [damaged]) == [("gloo:barrier", "communication", None)]


def test_the_launch_of_a_collective_of_a_device_remains_an_annotation():
    assert recorded([("nccl:all_reduce", "annotation", 0)], []) == [("nccl:all_reduce", "annotation", None)]
