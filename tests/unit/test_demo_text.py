"""`eventide demo`: its text, exit code, timeline and program, from results that each test chooses."""

import dataclasses
import functools
import json
import os
import re
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from rich.console import Console

import eventide as et
from eventide._util.format import time
from eventide.cli import main
from eventide.cli.demo import _calibrate, _measure, _program
from eventide.cli.demo._check import Place, Verdict
from eventide.cli.demo._measure import DemoResult, Outcome
from eventide.cli.demo._record import Recorded, record
from eventide.cli.demo._text import conclusions, show_demo
from eventide.cli.demo._timeline import Span, draw, overlap
from tests.helpers import TIMEOUT

SPANS = (
    Span("load", 7, 0, 0.0, 4.0),
    Span("load", 12, 1, 4.0, 6.0),
    Span("train", 7, 0, 4.0, 7.0),
    Span("train", 12, 1, 7.0, 8.0),
)
READ = Place("train", "reads", "prefetch.py", 65, "loss = train.submit(step, slot, labels, w1, w2)")
WRITE = Place("load", "writes", "prefetch.py", 62, "load.submit(fill, packed, slot)")
VERDICT = Verdict("race", 44, 2, 2, 1, 0, READ, WRITE, "make stream 3 'load' wait for event 4", "clean: 96 of 96")


def outcome(variant: str, identical: int, **changes) -> Outcome:
    right = Outcome(variant, 100.0, 1.0, 1.0, runs=20, identical=identical, loss_off=())
    return dataclasses.replace(right, **changes)


def train() -> None:
    pass


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Recorded:
    """A real recording, of 24 work items and one synchronization."""

    def run() -> None:
        with et.Stream.open("cpu", name="train") as stream:
            for _ in range(24):
                stream.submit(train)
            stream.synchronize(timeout=TIMEOUT)

    return record(run, tmp_path_factory.mktemp("demo"))[1]


@pytest.fixture
def result(recorded):
    return functools.partial(make_result, recorded)


def make_result(recorded: Recorded, events: Outcome, broken: Outcome, **changes) -> DemoResult:
    made = DemoResult(
        seeds=tuple(range(20)),
        loader="zlib",
        notes=(),
        width=88,
        train_to_load=0.82,
        shards=24,
        outcomes=(outcome("one after the other", 20, milliseconds=175.0), events, broken),
        deleted="load.wait_event(free[k])",
        deleted_line=59,
        program="prefetch.py",
        callbacks=dict.fromkeys(et.hooks.HOOKS, 2),
        sanitizer=VERDICT,
        timeline=SPANS,
        recorded=recorded,
        seconds=11.96,
    )
    return dataclasses.replace(made, **changes)


RIGHT = outcome("two streams, events", 20, speedup=1.69, cores=1.7)
WRONG = outcome("one wait deleted", 7, speedup=1.77, cores=1.7, loss_off=(-0.0006, 0.002, 0.006))


def text(made: DemoResult, width: int, encoding: str = "utf-8") -> str:
    file = TextIOWrapper(BytesIO(), encoding)
    show_demo(made, Console(file=file, width=width, highlight=False, color_system=None))
    file.seek(0)
    return file.read()


def test_the_demo_prints_what_was_recorded_and_its_path(result, recorded):
    shown = text(result(RIGHT, WRONG), 1000)  # wider than any path of a temporary folder
    (row,) = recorded.work
    assert (row.name, row.count, recorded.dropped) == ("train", 24, 0)
    assert re.search(rf"^ *train +24 +{re.escape(time(row.total))} ", shown, re.MULTILINE)
    assert f"The host blocked {recorded.sync_count} times, {time(recorded.sync_time)} in all." in shown
    assert f" {recorded.records:,} records, 0 dropped." in shown
    native, view, page = recorded.files
    assert f"Saved as {native} (try: eventide report {native}), {page} (its report: open it in a browser)" in shown
    assert view in shown
    assert "<title>demo - eventide</title>" in Path(page).read_text("utf-8")


@pytest.mark.parametrize(("events", "code"), [(RIGHT, 0), (dataclasses.replace(RIGHT, identical=19), 1)])
def test_the_demo_is_code_1_only_when_a_run_with_every_wait_went_wrong(events, code, result, monkeypatch, capsys):
    monkeypatch.setattr(_measure, "demo", lambda runs, seed, folder, step: result(events, WRONG))
    assert main(["demo", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["outcomes"][1]["identical"] == events.identical


def test_conclusions_name_the_gain_the_deleted_line_and_the_damage(result):
    assert conclusions(result(RIGHT, WRONG)) == [
        "With events: 1.69x as fast, bit-identical weights in 20 of 20 runs.",
        "Without load.wait_event(free[k]), line 59: 13 of 20 runs end with other weights.",
        "No error was raised; their loss is off by 0.2 % (median; 0.06 % to 0.6 %).",
        "A test of the loss passes.",
    ]


def test_conclusions_do_not_claim_that_a_large_error_stays_hidden(result):
    loud = dataclasses.replace(WRONG, loss_off=(0.001, 3.0))
    expected = "No error was raised; their loss is off by 150 % (median; 0.1 % to 300 %)."
    assert conclusions(result(RIGHT, loud))[-1] == expected


def test_conclusions_say_when_nothing_went_wrong(result):
    lucky = dataclasses.replace(WRONG, identical=20, loss_off=())
    assert conclusions(result(RIGHT, lucky))[1:] == [
        "Without load.wait_event(free[k]), line 59: nothing went wrong this time.",
        "The wait is still missing.",
    ]


def test_conclusions_promise_no_gain_where_there_is_none(result):
    slow = dataclasses.replace(RIGHT, speedup=0.98)
    assert conclusions(result(slow, WRONG))[0].startswith("With events: no gain (0.98x), bit-identical weights")


def test_conclusions_report_wrong_runs_with_every_wait(result):
    bad = dataclasses.replace(RIGHT, identical=19)
    assert conclusions(result(bad, WRONG))[1] == "Every wait was there, so that is a bug of eventide: please report it."


@pytest.mark.parametrize("width", [80, 120])
def test_the_demo_fits_the_terminal(width, result):
    note = "the two streams got 1.00 of 2 cores (other programs or a CPU quota have the rest), so nothing overlaps"
    lines = text(result(RIGHT, WRONG, notes=(note,)), width).splitlines()
    assert max(map(len, lines)) <= width
    assert "two streams, events  100 ms  1.69x        1.70      20 of 20" in lines


def test_the_demo_is_plain_ascii_where_the_terminal_is(result):
    assert text(result(RIGHT, WRONG), 80, "ascii").isascii()


# --- eventide demo: the timeline


def test_the_timeline_shows_overlap_gaps_and_numbers():
    assert [line.plain for line in draw(SPANS, 39, ascii_only=True)] == [
        "ms     0                   5           ",
        "load   |7==============|12-----........",
        "train  ................|7==========|12-",
    ]


def test_the_timeline_is_cut_into_bands_when_the_numbers_do_not_fit():
    lines = [line.plain for line in draw(SPANS, 23, ascii_only=True)]
    assert lines == [
        "ms     0               ",
        "load   |7==============",
        "train  ................",
        "ms         5           ",
        "load   |12-----........",
        "train  |7==========|12-",
    ]


def test_a_bar_too_short_for_its_number_shows_none():
    spans = (Span("load", 10, 0, 0.0, 100.0), Span("train", 11, 1, 99.9, 100.0))
    joined = "\n".join(line.plain for line in draw(spans, 40))
    assert "10" in joined
    assert "11" not in joined


def test_no_spans_give_no_timeline():
    assert draw((), 80) == []


def test_overlap_is_the_time_in_which_both_rows_are_busy():
    assert overlap(SPANS) == 2.0


# --- eventide demo: the program and its calibration


def test_the_program_is_short_enough_to_read():
    path = _program._PLACES[-1]
    assert len(path.read_text().splitlines()) < 80
    assert path.read_text().count(_program.DELETED) == 1


def test_a_missing_program_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(_program, "_PLACES", (tmp_path / "prefetch.py",))
    with pytest.raises(et.errors.InternalError, match="install eventide again"):
        _program.load_program()


@pytest.mark.parametrize(
    ("cores", "words"), [({0}, "this process may use one core only"), ({0, 1}, "the two streams got 0.93 of 2 cores")]
)
def test_a_missing_gain_is_explained(cores, words, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: cores)
    assert _calibrate.why_no_gain(0.93).startswith(words)
