"""Names and arguments of spans: all kinds of values are read back, or what was cut is reported."""

from __future__ import annotations

import eventide as et
from tests.helpers import Boom
from tests.unit.recordings import args, recorded

ARGUMENTS = {
    "whole": -3,
    "huge": 2**100,
    "real": 0.1,
    "yes": True,
    "no": False,
    "none": None,
    "text": 'quotes " and \\ and </script> and é and \x00 and \n and 🌊',
    "list": [1, {"a": [None]}, (2, 3)],
    "key with é": 1,
}


def test_arguments_are_read_back_unchanged() -> None:
    trace = recorded(lambda: et.span("s", **ARGUMENTS).__enter__())
    assert args(trace) == {**ARGUMENTS, "list": [1, {"a": [None]}, [2, 3]]}


def test_arguments_that_are_not_json_are_recorded_by_repr() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise Boom

    values = {"nan": float("nan"), "inf": -float("inf"), "bytes": b"abc", "type": int, "rude": Rude(), "sur": "\ud800"}
    trace = recorded(lambda: et.span("s", **values).__enter__())
    assert args(trace) == {
        "nan": "nan",
        "inf": "-inf",
        "bytes": "<3 bytes>",
        "type": "<class 'int'>",
        "rude": "<Rude: its repr raised Boom>",
        "sur": "\\ud800",
    }


def test_arguments_that_are_too_long_are_cut_and_counted() -> None:
    trace = recorded(lambda: et.span("s", text="é" * 20_000, after=1).__enter__())
    assert args(trace) == {"text": "é" * 4096, "after": 1}
    assert trace.metadata["account"]["truncated"]["spans"] == 1


def test_an_argument_may_record_spans_in_its_repr() -> None:
    class Nosy:
        def __repr__(self) -> str:
            with et.span("inside"):
                return "nosy"

    trace = recorded(lambda: et.span("outside", value=Nosy()).__enter__())
    assert sorted(trace.spans.column("name").to_pylist()) == ["inside", "outside"]


NAMES = ['"quotes"', "new\nline", "nul\x00nul", "🌊", "\ud800 lone", "</script>", "m" * 1_000_000, "", "\\"]


def test_any_name_is_kept() -> None:
    def run() -> None:
        for name in NAMES:
            with et.span(name):
                et.instant(name)
                et.counter(name, 1)

    trace = recorded(run)
    expected = [name.replace("\ud800", "\\ud800") for name in NAMES]
    assert trace.spans.column("name").to_pylist() == expected
    assert trace.instants.column("name").to_pylist() == expected
    assert trace.counters.column("name").to_pylist() == expected
