"""Every real trace: the report is one screen, its parts sum, and nothing is guessed."""

from __future__ import annotations

import pytest

import eventide as et
from eventide.analysis import View, breakdown, critical_path, idle
from eventide.cli import main
from tests.integration.processes import ROOT

TRACES = sorted((ROOT.parent / "shared" / "traces").glob("*.json.gz"))
pytestmark = pytest.mark.skipif(not TRACES, reason="needs the folder of real traces, ../shared/traces")


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_the_report_is_one_screen(path, capsys):
    assert main(["report", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 50
    assert max(len(line) for line in lines) <= 100
    assert any(line.startswith("1. ") for line in lines[2:4])  # the title may take two lines


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_the_parts_of_every_answer_sum_to_the_whole(path):
    view = View(et.open_trace(path))
    for device in breakdown(view).devices:
        for part in (device.whole, *device.steps):
            parts = part.compute + part.communication + part.copy + sum(part.overlap.values()) + part.idle
            assert parts == part.wall
    for by in ("device", "stream"):
        for lane in idle(view, by).lanes:
            assert sum(lane.causes.values()) == lane.idle == lane.wall - lane.busy
    walked = critical_path(view)
    assert sum(walked.kinds.values()) == walked.wall == sum(walked.table.column("duration").to_pylist())
