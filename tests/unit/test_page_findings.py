"""The page of the sanitizer's findings: both places, the drawing of the missing edge, and the edge on the timeline."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eventide as et
from eventide.cli import main
from eventide.report import make_findings
from eventide.sanitizer import Coverage, check_program_findings, check_trace, judge


@et.work(writes="out")
def produce(out: np.ndarray) -> None:
    out[:] = 1


@et.work(reads="x")
def consume(x: np.ndarray) -> float:
    return float(x.sum())


def race(tmp_path: Path, wait: bool = False) -> et.Trace:
    fill, use, data = et.Stream("cpu", name="fill"), et.Stream("cpu", name="use"), np.zeros(100)
    with et.Recorder(tmp_path / "race.eventide", stacks=True) as recorder:
        fill.submit(produce, data[:60])
        if wait:
            use.wait_event(fill.record_event())
        use.submit(consume, data[50:]).result()
        if not wait:
            fill.synchronize()
    return recorder.trace


def index(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', page)
    assert found is not None
    return dict(json.loads(found[1]))


def test_a_race_has_both_places_the_fix_and_a_missing_edge_on_the_timeline(tmp_path: Path) -> None:
    trace = race(tmp_path)
    findings = check_trace(trace)
    page = make_findings(findings, "race.eventide", trace)
    line = race.__code__.co_firstlineno
    for number in (line + 3, line + 6):
        assert f"{Path(__file__).name}:{number} in race" in page
    assert '<path class="edge"' in page
    assert "record an event after" in page
    (missing,) = index(page)["missing"]
    lanes = index(page)["lanes"]
    tracks = [index(page)["tracks"][lanes[lane]["track"]]["name"] for lane, _ in missing]
    assert tracks == [f"stream {findings[0].first.stream}", f"stream {findings[0].second.stream}"]  # type: ignore[union-attr]
    rows = {row["name"]: row for row in trace.spans.to_pylist() if row["category"] == "work"}
    low = int(str(index(page)["origin"]))
    assert missing[0][1] == rows["produce"]["start"] + rows["produce"]["duration"] - low
    assert missing[1][1] == rows["consume"]["start"] - low


def test_a_right_program_has_a_verdict_and_no_edge(tmp_path: Path) -> None:
    trace = race(tmp_path, wait=True)
    page = make_findings(check_trace(trace), "right", trace)
    assert 'class="verdict good"' in page
    assert index(page)["missing"] == []
    assert '<article class="race"' not in page


@pytest.mark.parametrize("name", ["</SCRIPT ><img src=x onerror=alert(1)>", "\u202eabc", '"><b>', "\ud800"])
def test_hostile_names_of_work_and_buffers_stay_text(name: str) -> None:
    program = {
        "ops": [
            {"op": "work", "stream": "a", "name": name, "writes": [{"buffer": name, "from": 0, "to": 8}]},
            {"op": "work", "stream": "b", "name": name, "reads": [{"buffer": name, "from": 0, "to": 8}]},
        ]
    }
    found = check_program_findings(program)
    assert len(found) == 1
    page = make_findings(judge(found, Coverage(2, 2)), name)
    assert "<img" not in page
    assert "<b>" not in page
    assert "\u202e" not in page
    page.encode()


def test_a_page_without_a_timeline_has_no_script_and_allows_none() -> None:
    page = make_findings(judge([], Coverage(0, 0)), "nothing")
    assert "<script" not in page
    assert "script-src" not in page
    assert "not checkable" in page


def test_check_writes_the_page_and_options_may_follow_a_file_of_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    race(tmp_path)
    assert main(["check", str(tmp_path / "race.eventide"), "-o", str(tmp_path / "f.html")]) == 1
    assert "missing" in (tmp_path / "f.html").read_text()
    assert main(["check", "-o", str(tmp_path / "f.txt"), str(tmp_path / "race.eventide")]) == 2
    assert "must end in .html" in capsys.readouterr().err
