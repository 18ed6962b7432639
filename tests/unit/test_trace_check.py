"""Trace.check: a sound trace says what it is made of, an unsound one which row is wrong."""

import dataclasses

import pytest

import eventide as et
from tests.reference.traces import odd_names_trace, small_trace


def spans(**columns):
    made = {"track": [0], "name": ["a"], "category": ["span"], "start": [0], "duration": [1]}
    return et.Trace({"tracks": {"kind": ["thread"]}, "spans": {**made, **columns}})


def test_check_of_a_valid_trace_counts_its_rows():
    checked = small_trace().check()
    assert checked.rows["spans"] == 5
    assert checked.unfinished == 1
    assert (checked.first, checked.last) == (1_000, 4_000)
    assert dataclasses.is_dataclass(checked)
    odd_names_trace().check()


def test_an_empty_trace_passes_the_check():
    checked = et.Trace({}).check()
    assert set(checked.rows.values()) == {0}
    assert (checked.unfinished, checked.first, checked.last) == (0, None, None)


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (spans(track=[7]), r"spans\[0\].track is 7, and there are 1 tracks"),
        (spans(track=[-1]), r"spans\[0\].track is -1, and there are 1 tracks"),
        (spans(track=[None]), r"spans\[0\].track is null"),
        (spans(start=[None]), r"spans\[0\].start is null"),
        (spans(name=[None]), r"spans\[0\].name is null"),
        (spans(stack=[0]), r"spans\[0\].stack is 0, and there are 0 stacks"),
        (spans(duration=[-5]), r"spans\[0\].duration is -5, which is negative"),
        (spans(cpu=[-5]), r"spans\[0\].cpu is -5, which is negative"),
        (spans(start=[2**62], duration=[2**62]), "so the end is beyond 63 bits of nanoseconds"),
        (spans(category=["kernal"]), r"spans\[0\].category is 'kernal', which is not one of span, op"),
        (spans(args=["[1]"]), r"spans\[0\].args is '\[1\]', which is not a JSON object"),
        (spans(args=["{"]), r"spans\[0\].args is '{', which is not a JSON object"),
        (et.Trace({"tracks": {"kind": ["street"]}}), r"tracks\[0\].kind is 'street', which is not one of process"),
        (et.Trace({"tracks": {"kind": ["thread"], "parent": [1]}}), r"tracks\[0\].parent is 1, and there are 1 tracks"),
        (et.Trace({"tracks": {"kind": ["other"] * 2, "parent": [1, 0]}}), r"tracks\[0\].parent leads back to itself"),
        (
            et.Trace({"edges": {"kind": ["knot"], "from_time": [0], "to_time": [0]}}),
            "'knot', which is not one of launch",
        ),
        (et.Trace({}, {"account": {"dropped": {"spans": -1}}}), r"\['account'\]\['dropped'\]\['spans'\] is -1"),
        (et.Trace({}, {"account": 7}), r"metadata\['account'\] is 7, not a dict"),
    ],
)
def test_check_of_an_invalid_trace_names_the_row(trace, words):
    with pytest.raises(et.UsageError, match=f"the trace is inconsistent: .*{words}"):
        trace.check()


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"to_span": [99]}, r"edges\[0\].to_span is 99, and there are 5 spans"),
        ({"from_span": [1], "from_track": [3]}, r"edges\[0\].from_track is 3, which is not the track of its from_span"),
    ],
)
def test_the_ends_of_edges_exist_and_lie_on_their_tracks(columns, words):
    edges = {"kind": ["wait"], "from_time": [0], "to_time": [0], **columns}
    with pytest.raises(et.UsageError, match=words):
        small_trace(edges=edges).check()


def test_many_problems_are_counted_not_listed():
    trace = spans(track=[7] * 9, name=[None] * 9, category=["x"] * 9, start=[None] * 9, duration=[-1] * 9, cpu=[-1] * 9)
    with pytest.raises(et.UsageError, match=r"\(and 8 rows more\); .*; and 1 more$"):
        trace.check()
