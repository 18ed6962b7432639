"""`eventide trace compare`: its page, and limits that fail a run of CI."""

from __future__ import annotations

from pathlib import Path

import pytest

import eventide as et
from eventide.analysis import Limit, compare
from eventide.cli import main
from eventide.errors import UsageValueError
from eventide.report import make_comparison
from tests.trace_builder import Builder


def traces(tmp_path: Path) -> tuple[Path, Path]:
    """A kernel of 100 us, the same with 20 us more, and in the second trace one more after a gap of 30 us."""
    before, after = Builder(), Builder()
    before.work("k", 0, 100_000)
    after.work("k", 0, 120_000)
    after.work("k", 150_000, 151_000)
    return before.trace().save(tmp_path / "a.parquet"), after.trace().save(tmp_path / "b.parquet")


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("wall>50%", "wall went from 100 us to 151 us (+51.0%); the limit is 50 % more"),
        ("wall>51%", None),
        ("wall > 50us", "wall went from 100 us to 151 us (+51.0%); the limit is 50 us more"),
        ("WALL>0.051ms", None),
        ("compute>20%", "compute went from 100 us to 121 us (+21.0%); the limit is 20 % more"),
        ("busy>21000ns", None),
        ("idle>0%", "idle went from 0 ns to 30.0 us; the limit is 0 % more"),
        ("idle>30us", None),
    ],
)
def test_a_limit_is_a_share_of_the_first_trace_or_a_time(tmp_path: Path, limit: str, sentence: str | None) -> None:
    a, b = (et.open_trace(path) for path in traces(tmp_path))
    assert Limit.parse(limit).exceeded(compare(a, b)) == sentence
    assert Limit.parse(limit).exceeded(compare(b, a)) is None


@pytest.mark.parametrize("text", ["wall", "wall>", ">5%", "wall<5%", "wall>-1%", "wall>5 apples", "wall>5%%", ""])
def test_text_that_is_no_limit_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(UsageValueError, match=r"is not a limit; write it as 'wall>5%'"):
        Limit.parse(text)


def test_an_unknown_quantity_names_the_known_ones_and_steps_must_be_there(tmp_path: Path) -> None:
    a, b = (et.open_trace(path) for path in traces(tmp_path))
    with pytest.raises(UsageValueError, match=r"there is no 'speed' in this comparison; there is busy, .*wall"):
        Limit.parse("speed>1%").exceeded(compare(a, b))
    with pytest.raises(UsageValueError, match="the first trace has no steps, so 'step' cannot be limited"):
        Limit.parse("step>1%").exceeded(compare(a, b))


def test_the_command_exits_with_1_beyond_a_limit_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = traces(tmp_path)
    page = tmp_path / "d.html"
    arguments = ["trace", "compare", str(a), str(b), "-o", str(page)]
    assert main([*arguments, "--fail-if", "wall>60%"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*arguments, "--fail-if", "wall>60%", "--fail-if", "wall>5%"]) == 1
    assert "the limit is 5 % more" in capsys.readouterr().err
    text = page.read_text()
    assert "+51.0 us (+51.0%)" in text
    assert 'class="worse"' in text
    assert "<script" not in text
    page.unlink()
    assert main([*arguments, "--fail-if", "wall"]) == 2  # before a trace is read
    assert not page.exists()
    assert main(["trace", "compare", str(a), str(b), "-o", str(tmp_path / "d.json")]) == 2


def test_names_from_a_trace_are_text_in_the_page(tmp_path: Path) -> None:
    one = Builder()
    one.work("</table><img src=x onerror=alert(1)>", 0, 5)
    page = make_comparison(compare(Builder().trace(), one.trace()), "<a>", "\u202e.json")
    assert "<img" not in page
    assert "<a>" not in page
    assert "\u202e" not in page
