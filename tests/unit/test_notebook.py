"""What a notebook shows of a trace, of a result and of findings: tables, in which no text of a trace can act."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import eventide as et
from eventide.analysis import summary, syncs
from eventide.sanitizer import check_trace
from tests.trace_builder import Builder

HOSTILE = ["<img src=x onerror=alert(1)>", "</td><script>alert(1)</script>", "\u202eabc", "\x00", "&lt;"]


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.mark.parametrize("name", HOSTILE)
def test_a_result_is_a_table_of_text(name: str) -> None:
    builder = Builder()
    builder.work(name, 0, 5_000)
    found = read(summary(builder.trace())._repr_html_())
    assert found.tags <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert "5.00 us" in found.cells
    assert not {"\u202e", "\x00"} & set("".join(found.cells))


def test_a_result_without_rows_has_its_heading() -> None:
    result = syncs(Builder().trace())
    assert result.heading in "".join(read(result._repr_html_()).cells)


def test_a_long_result_says_how_many_rows_are_left() -> None:
    builder = Builder()
    for number in range(25):
        builder.work(f"k{number}", number * 10, number * 10 + 5)
    text = "".join(read(summary(builder.trace())._repr_html_()).cells)
    assert "... and 15 more rows" in text


def test_a_trace_lists_its_tables_and_its_warnings() -> None:
    builder = Builder()
    builder.work("k", 0, 5)
    cells = read(builder.trace(warnings=["<b>3 records were dropped</b>"])._repr_html_()).cells
    assert cells[cells.index("spans") + 1] == "1"
    assert any("<b>3 records were dropped</b>. trace.report()" in cell for cell in cells)


def test_findings_and_the_sanitizer_show_their_text() -> None:
    findings = check_trace(Builder().trace())
    assert read(findings._repr_html_()).tags == {"pre"}
    with et.sanitize() as live:
        pass
    assert "not checkable" in live._repr_html_()
