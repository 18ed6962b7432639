"""The report as one HTML file: what is in it equals the trace, and no text of a trace can act."""

from __future__ import annotations

import html
import re
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import eventide as et
from eventide._util import format as format_
from eventide._util.html_text import visible
from eventide.analysis import CAUSES, best_edits, idle
from eventide.report import gather
from eventide.report.page import make_page
from eventide.report.rules import findings
from tests.reference.page import Page, read_page

HOSTILE = [
    "</script>", "</SCRIPT >", "<!--<script>", "--><script>alert(1)</script>", "]]>", "<img src=x onerror=alert(1)>",
    "'\"`&amp;", "\u202eevil", "a\u2028b", "\x00", "__proto__", "constructor", "${x}", "\\u003c", "x" * 100_000,
    "\u200b", "%3Cscript%3E", "javascript:alert(1)", "{{7*7}}", "\ud800", "a\udfffb", "\u2066x\u2069", "\u202a\u202c",
    "<!--", "-->", "<![CDATA[", "</style><style>*{display:none}", "</title>", "</textarea>", "</noscript><p>",
    "<svg onload=alert(1)>", '" onmouseover="alert(1)', "<base href=//x>", "<meta http-equiv=refresh content=0>",
    "&lt;script&gt;", "&#60;script&#62;", "\ufeff", "\x1b[31m", "toString", "hasOwnProperty", "#v=0,1&s=0,0",
    "a\nb\r\tc",
]  # fmt: skip


def trace_of(spans: list[tuple[int, str, int, int]], **tables: object) -> et.Trace:
    """Spans are (track, name, start, duration) on two threads and a stream."""
    columns = {
        "track": [each[0] for each in spans],
        "name": [each[1] for each in spans],
        "category": ["kernel" if each[0] == 2 else "op" for each in spans],
        "start": [each[2] for each in spans],
        "duration": [each[3] for each in spans],
        "args": [f'{{"n":{number}}}' for number in range(len(spans))],
    }
    tracks = {
        "kind": ["thread", "thread", "stream"],
        "name": ["main", "loader", None],
        "pid": [1, 1, 1],
        "tid": [10, 11, None],
        "device": [None, None, "cuda:0"],
        "stream": [None, None, 7],
    }
    return et.Trace({"tracks": tracks, "spans": columns, **tables})  # type: ignore[dict-item]


def page_of(trace: et.Trace, **options: bool | int) -> str:
    return make_page(trace, gather(trace, "t.json"), **options)  # type: ignore[arg-type]


NESTED = [
    (0, "outer", 1000, 500),
    (0, "inner", 1000, 200),
    (0, "inner", 1300, 100),
    (2, "k", 1250, 300),
    (1, "load", 1100, 0),
]


def shape(page: Page) -> list[tuple[str, int, int, int, str, str, str]]:
    tracks = [each["name"] for each in page.index["tracks"]]
    return sorted((tracks[track], *rest) for track, *rest in page.spans)


def test_every_span_is_in_the_page_to_the_nanosecond():
    page = read_page(page_of(trace_of(NESTED), exact=True))
    assert shape(page) == [
        ("loader", 0, 1100, 1100, "load", "op", '{"n":4}'),
        ("main", 0, 1000, 1500, "outer", "op", '{"n":0}'),
        ("main", 1, 1000, 1200, "inner", "op", '{"n":1}'),
        ("main", 1, 1300, 1400, "inner", "op", '{"n":2}'),
        ("stream 7", 0, 1250, 1550, "k", "kernel", '{"n":3}'),
    ]


def test_spans_that_overlap_without_nesting_are_in_lanes_of_their_own():
    page = read_page(page_of(trace_of([(2, "a", 0, 100), (2, "b", 50, 100), (2, "c", 120, 100), (2, "d", 160, 5)])))
    by_lane: dict[int, list[tuple[int, int]]] = {}
    for _, depth, start, end, *_ in page.spans:
        by_lane.setdefault(depth, []).append((start, end))
    assert all(one[1] <= two[0] for spans in by_lane.values() for one, two in pairwise(spans))
    assert sum(len(spans) for spans in by_lane.values()) == 4


def test_edges_are_stored_at_both_ends():
    edges = {
        "kind": ["launch"], "from_track": [0], "from_time": [1300], "from_span": [2],
        "to_track": [2], "to_time": [1250], "to_span": [3],
    }  # fmt: skip
    page = read_page(page_of(trace_of(NESTED, edges=edges)))
    lanes = [(page.index["tracks"][each["track"]]["name"], each["depth"]) for each in page.index["lanes"]]
    inner, kernel = lanes.index(("main", 1)), lanes.index(("stream 7", 0))
    assert page.edges == {("launch", False, inner, 1300, kernel, 1250), ("launch", True, kernel, 1250, inner, 1300)}


def test_the_same_trace_gives_the_same_bytes():
    assert page_of(trace_of(NESTED)) == page_of(trace_of(NESTED))


def test_a_small_limit_leaves_out_arguments_then_nanoseconds_and_says_so():
    many = [(0, f"op {number % 7}", 1000 * number, 900) for number in range(3000)]
    whole = read_page(page_of(trace_of(many), exact=True, limit=1))
    assert whole.index["grid"] == 1
    text = page_of(trace_of(many), limit=1)
    page = read_page(text)
    assert page.index["grid"] == 16
    assert all(not span[-1] for span in page.spans)
    left = "arguments of spans (except where findings point), arrows between spans, times finer than 16 ns"
    assert f"{left} on the timeline, slack of spans" in text
    for coarse, fine in zip(page.spans, whole.spans, strict=True):
        assert 0 <= fine[2] - coarse[2] < 16
        assert abs(fine[3] - coarse[3]) < 16


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text_in_every_place(name):
    spans = [(0, name, 0, 100), (2, name, 10, 50)]
    trace = trace_of(spans).replace(metadata={"warnings": [name]})
    text = page_of(trace)
    scripts = re.findall(r"<script[^>]*>", text, re.IGNORECASE)
    assert all('type="application/' in each for each in scripts[:-1])
    assert scripts[-1] == "<script>"
    assert len(re.findall(r"</script", text, re.IGNORECASE)) == len(scripts)
    assert "<!--" not in text
    assert "<img" not in text
    kept = name.encode("utf-8", "backslashreplace").decode()  # a trace has escapes for lone surrogates
    assert visible(kept[:2000]) in read_page(text).index["names"]


def test_invisible_characters_are_shown():
    text = page_of(trace_of([(0, "a\u202eb\x00c", 0, 100)]))
    assert "a[U+202E]b[U+0000]c" in html.unescape(text)
    assert "\u202e" not in text


def test_the_policy_allows_the_two_parts_of_the_page_and_nothing_else():
    text = page_of(trace_of(NESTED))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    assert not re.search(r' (on\w+|style)="', text)
    assert not re.search(r'(src|href)="(?!#)', text)


def test_a_trace_without_spans_is_a_page():
    text = page_of(et.Trace({}))
    assert read_page(text).spans == []
    assert "Findings" in text


def test_the_page_has_the_best_edits_with_their_intervals():
    trace = trace_of([(0, "launch", 0, 100_000), (2, "gemm", 100_000, 800_000), (2, "copy in", 900_000, 100_000)])
    page = make_page(trace, gather(trace, "t"))
    table = page.partition('<section id="edits">')[2].partition("</section>")[0]
    found = best_edits(trace, count=10)
    assert found.rows
    for row in found.rows:
        assert f"<td>{row.name}</td><td>{row.edit}</td>" in table
        assert f"{format_.time(row.low)} to {format_.time(row.high)}" in table
    host_only = trace_of([(0, "f", 0, 100)])
    assert '<section id="edits">' not in make_page(host_only, gather(host_only, "t"))


def test_arguments_of_a_trace_in_several_pieces_stay_with_their_spans():
    one, other = trace_of(NESTED), trace_of([(0, "later", 5000 + number, 1) for number in range(3)])
    whole = one.replace(spans=pa.concat_tables([one.spans, other.spans]))
    spans = read_page(page_of(whole)).spans
    assert sorted((span[4], span[6]) for span in spans if span[4] in {"k", "later"}) == [
        ("k", '{"n":3}'), ("later", '{"n":0}'), ("later", '{"n":1}'), ("later", '{"n":2}'),
    ]  # fmt: skip


def test_arguments_where_a_finding_points_are_kept_when_others_are_left_out():
    spans = [(0, f"op {number}", 1000 * number, 900) for number in range(300)]
    trace = trace_of([*spans, (2, "a", 0, 100), (2, "late", 299_000, 100)])
    result = gather(trace, "t")
    places = [each.place for each in findings(result) if each.place is not None]
    assert places
    text = make_page(trace, result, limit=1)
    kept = [span for span in read_page(text).spans if span[-1]]
    assert 0 < len(kept) < 302
    assert all(any(span[2] <= high and span[3] >= low for low, high in places) for span in kept)


def test_idle_time_by_cause_in_the_page_is_that_of_the_analysis():
    host = [(0, "cudaLaunchKernel", 1000 * number, 200) for number in range(20)]
    kernels = [(2, "k", 1000 * number + 350, 300) for number in range(20)]
    edges = {
        "kind": ["launch"] * 20, "from_track": [0] * 20, "from_time": [each[2] for each in host],
        "from_span": list(range(20)), "to_track": [2] * 20, "to_time": [each[2] for each in kernels],
        "to_span": list(range(20, 40)),
    }  # fmt: skip
    trace = trace_of([*host, *kernels], edges=edges)
    page = read_page(page_of(trace))
    sums: dict[str, int] = {}
    for _, duration, cause in page.gaps:
        sums[page.index["causes"][cause]] = sums.get(page.index["causes"][cause], 0) + duration
    assert sums == idle(trace).lanes[0].causes
    assert len(sums) > 1


def test_every_cause_of_idle_time_has_a_colour_and_a_pattern_of_its_own():
    style = resources.files("eventide.report.page").joinpath("style.css").read_text("utf-8")
    bars = {cause: re.search(rf"\.cause-{cause.replace(' ', '-')}{{fill:([^}}]+)}}", style) for cause in CAUSES}
    assert [cause for cause, found in bars.items() if found is None] == []
    assert len({found[1] for found in bars.values() if found}) == len(CAUSES)
    source = (Path(__file__).parents[2] / "web/src/gaps.ts").read_text("utf-8")
    drawn = re.findall(r'^  "([a-z ]+)": \["(#\w{6})", "(#\w{6})", (.+)\],$', source, re.MULTILINE)
    assert [cause for cause, *_ in drawn] == list(CAUSES)
    assert [len(set(column)) for column in zip(*drawn, strict=True)] == [len(CAUSES)] * 4


def test_a_tile_has_the_slack_of_its_spans_where_it_is_known():
    trace = trace_of([(0, "launch", 0, 100), (2, "k", 100, 200)])
    page = page_of(trace)
    tiles = [tile for lane in read_page(page).index["lanes"] for tile in lane["tiles"]]
    assert sum("k" in tile for tile in tiles) == 1
