"""Sampled stacks as spans on the timeline of a page, and the links of findings to them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from eventide.analysis import View, samples, with_sampled_spans
from eventide.analysis import _sampled_spans as module
from eventide.report import gather
from eventide.report.page import make_page
from eventide.report.rules import findings
from tests.reference.page import read_page
from tests.unit.test_analysis_samples import IMPORT, MAIN, MS, NUMPY, F, G, trace_of
from tests.unit.test_page import trace_of as spans_of


def boxes(trace: et.Trace) -> list[tuple[int, str, str, float, float]]:
    """Track, name, category, start and end in milliseconds."""
    rows = with_sampled_spans(View(trace)).spans.to_pylist()
    return [
        (row["track"], row["name"], row["category"], row["start"] / MS, (row["start"] + row["duration"]) / MS)
        for row in rows
    ]


def test_neighbouring_samples_with_the_same_callers_are_one_span() -> None:
    rows = [
        (10, 0, [F, MAIN], False),
        (20, 0, [G, F, MAIN], False),
        (30, 0, [G, F, MAIN], True),
        (40, 0, [MAIN], False),
    ]
    assert boxes(trace_of(rows)) == [
        (0, "<module>", "sample", 10, 40),
        (0, "f", "sample", 10, 30),
        (0, "g", "sample", 10, 30),
        (0, "waiting", "wait", 20, 30),
    ]


def test_a_thread_that_was_not_sampled_for_a_while_was_in_nothing_known() -> None:
    rows = [(10, 0, [MAIN], False), (20, 1, [F], False), (30, 0, [MAIN], False), (40, 0, [MAIN], False)]
    assert boxes(trace_of(rows, ("main", "other"))) == [
        (0, "<module>", "sample", 20, 40),
        (1, "f", "sample", 10, 20),
    ]


def test_imports_have_the_name_of_the_module_and_our_own_threads_no_span() -> None:
    own = [("close", module.__file__, 3)]
    rows = [(10, 0, [F, NUMPY, IMPORT, MAIN], False), (20, 0, [F, NUMPY, IMPORT, MAIN], False), (30, 0, own, False)]
    assert [row[1] for row in boxes(trace_of(rows))] == ["<module>", "import numpy", "f"]


FRAME = st.sampled_from([F, G, MAIN])
SAMPLE = st.tuples(st.integers(0, 1), st.lists(FRAME, min_size=1, max_size=4), st.booleans())


@given(st.lists(SAMPLE, min_size=2, max_size=30))
def test_the_time_of_outermost_spans_is_that_of_the_samples_within_the_window(rows) -> None:
    trace = trace_of([(10 * number, *row) for number, row in enumerate(rows)], ("main", "other"))
    found = boxes(trace)
    low, high = (time / MS for time in View(trace).window)
    assert all(low <= start < end <= high for *_, start, end in found)
    for track in (0, 1):
        mine = sorted((start, end) for each, *_, start, end in found if each == track)
        covered, until = 0.0, low
        for start, end in mine:
            covered, until = covered + max(end - max(start, until), 0), max(until, end)
        assert covered == sum(10 for number, row in enumerate(rows) if row[0] == track and number)
    assert samples(trace).wall / MS == high - low


def test_the_page_has_them_behind_the_spans_and_links_a_finding_to_the_longest() -> None:
    rows = [(10 * number, 0, [G if number == 3 else F, MAIN], False) for number in range(12)]
    trace = trace_of(rows)
    report = gather(trace, "t")
    text = make_page(trace, report)
    page = read_page(text)
    assert [(each[4], each[2], each[3]) for each in page.spans if each[4] == "f"] == [
        ("f", 0, 20 * MS),
        ("f", 30 * MS, 110 * MS),
    ]
    named = [each for each in findings(report) if each.values.get("function") == "f"]
    assert [each.place for each in named] == [None]
    (link,) = re.findall(r'href="#v=(-?\d+),(\d+)&amp;s=(\d+),(\d+)"', text)
    assert [int(each) for each in link] == [10 * MS, 130 * MS, 1, 30 * MS]
    assert "what neighbouring samples have in common" in text


def test_too_many_samples_are_left_to_the_flame_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = trace_of([(10 * number, 0, [G if number % 2 else F], False) for number in range(12)])
    monkeypatch.setattr(module, "RUNS_AT_MOST", 11)
    view = View(trace)
    assert with_sampled_spans(view) is trace
    text = make_page(trace, gather(trace, "t"))
    assert "The samples are too many for the timeline" in text
    assert "#v=" not in text.partition("<main>")[2].partition("</main>")[0]


def test_a_finding_about_the_critical_path_has_the_place_of_its_longest_piece() -> None:
    kernels = [(2, "k", 200, 100), (2, "k", 300, 700), (2, "k", 1000, 50)]
    trace = spans_of([(0, "launch", 0, 100), *kernels])
    report = gather(trace, "t")
    (found,) = [each for each in findings(report) if each.rule == "device-bottleneck"]
    assert found.place == (300, 1000)
    assert 'href="#v=125,1175&amp;l=0"' in make_page(trace, report)
