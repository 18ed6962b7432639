"""Whether an edit keeps the order that accesses need: the sanitizer judges the order that the prediction is for."""

from __future__ import annotations

import pytest

import eventide as et
from eventide import analysis
from eventide.analysis import what_if
from tests.unit.test_what_if import edited


@et.work(writes="data", name="fill", duration=0.002)
def fill(data: bytearray) -> None:
    pass


@et.work(reads="data", name="use", duration=0.003)
def use(data: bytearray) -> None:
    pass


@et.work(reads="data", name="again", duration=0.001)
def again(data: bytearray) -> None:
    pass


def program() -> et.Trace:
    """Each step fills on one stream, and uses twice on another; the host waits for the result in a span of its own."""
    data = bytearray(64)
    with et.Recorder() as recorder:
        first, second = et.Stream("sim:0", name="first"), et.Stream("sim:0", name="second")
        for _ in range(4):
            first.submit(fill, data)
            second.wait_event(first.record_event())
            second.submit(use, data)
            second.submit(again, data)
            with et.span("result"):
                second.synchronize()
    return recorder.trace


def races(*edits: analysis.Edit) -> tuple[str, ...]:
    found = what_if(program(), *edits)
    assert found.verdict is not None
    assert found.verdict.known == found.verdict.works > 0
    return found.verdict.races


def test_work_that_is_moved_keeps_its_waits():
    assert races(analysis.move("fill", "new")) == ()
    assert races(analysis.add_streams(1, "fill")) == ()
    assert races(analysis.move("again", "new"), analysis.move("use", "first")) != ()  # the host waits for `again` only


def test_work_that_stays_behind_has_lost_the_wait_before_the_moved_work():
    assert "race: 'fill' and 'again'" in races(analysis.move("use", "new"))


def test_work_that_overlaps_what_it_waited_for_races_with_it():
    assert "race: 'fill' and 'use'" in races(analysis.overlap("use", "fill"))
    assert "race: 'fill' and 'use'" in races(analysis.overlap("fill", "*"))
    assert races(analysis.overlap("use", "again")) != ()  # it no longer keeps its stream from the next step
    assert races(analysis.move("use", "second")) == ()


def test_host_code_that_is_removed_no_longer_waits():
    assert "race: 'again' and 'fill'" in races(analysis.remove("result"))
    assert races(analysis.remove("use")) == ()


def test_best_edits_recommends_no_overlap_that_races():
    found = analysis.best_edits(program())
    assert {row.call for row in found.races} == {"drop_wait()", "drop_sync()"}
    assert all(row.order in (None, "no new race") for row in found.rows)


@pytest.mark.parametrize("edit", [analysis.drop_wait(), analysis.drop_sync(), analysis.move("copy", "new")], ids=str)
def test_an_order_is_not_judged_where_no_accesses_are_known(edit):
    assert "order: not judged: accesses unknown" in str(edited(edit))


def test_edits_that_keep_the_order_need_no_verdict():
    assert edited(analysis.scale("gemm", 0.5)).verdict is None


def test_a_synchronization_that_nothing_needs_is_found_by_its_line():
    data = [bytearray(64) for _ in range(5)]
    with et.Recorder(stacks=True) as recorder:
        first, second = et.Stream("sim:0"), et.Stream("sim:0")
        for each in data:
            first.submit(fill, each)
            second.submit(use, bytearray(64))
            second.synchronize()
        for each in data:
            first.submit(fill, each)
        first.synchronize()
        for each in data:
            second.submit(again, each)
        second.synchronize()
    trace = recorder.trace
    found = analysis.best_edits(trace)
    lines = {row.line: row for row in found.rows if row.edit == "drop_sync"}
    ((line, row),) = lines.items()
    assert line is not None
    assert "test_what_if_order.py" in line
    assert (row.order, row.name) == ("no new race", line)
    assert "drop_sync()" in {row.call for row in found.races}
    short = line.partition(" (")[0].rpartition("/")[2]
    assert what_if(trace, analysis.drop_sync(short)).saved == row.saved
    with pytest.raises(et.UsageValueError, match="no call that blocks the host"):
        what_if(trace, analysis.drop_sync("test_what_if_order.py:1"))
