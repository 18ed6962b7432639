"""Edits of a trace whose every time is known: the answer is exact."""

from __future__ import annotations

import pytest

from eventide import UsageTypeError, UsageValueError, analysis
from eventide.analysis import WhatIf, best_edits, what_if
from tests.trace_builder import Builder

US = 1_000
STEPS = 6


def program(copy: int = 100, gemm: int = 300, host: int = 50, wait: bool = True, sync: bool = True) -> Builder:
    """Each step copies on stream 20, computes on stream 7 when that is done, and waits for it; times in us."""
    b = Builder()
    t, free, copied_until = 0, 0, 0
    for step in range(STEPS):
        begun = t
        b.span(b.thread(), "load", t * US, (t + host) * US)
        t += host
        start = max(t + 5, copied_until + 1)
        copied_until = start + copy
        copied = b.launch((t * US, (t + 4) * US), "copy", start * US, copied_until * US, stream=20, category="copy")
        t += 10
        first = max(t + 5, free + 1, copied_until + 2 if wait else 0)
        free = first + gemm
        worked = b.launch((t * US, (t + 4) * US), "gemm", first * US, free * US)
        if wait:
            b.edge("wait", copied, worked)
        t += 10
        if sync:
            call = b.call("cudaStreamSynchronize", t * US, (free + 3) * US, category="sync")
            b.edge("synchronize", worked, call)
            t = free + 3
        b.span(b.thread(), "log", t * US, (t + 20) * US)
        t += 20
        b.span(b.thread(), f"ProfilerStep#{step}", begun * US, t * US, "step")
    return b


def length(b: Builder) -> int:
    found = analysis.replay(b.trace())
    assert found.replayed == found.wall
    return found.wall


def edited(*edits: analysis.Edit, **program_: int | bool) -> WhatIf:
    found = what_if(program(**program_).trace(), *edits)  # type: ignore[arg-type]
    found.trace.check()
    assert found.low <= found.predicted <= found.high
    return found


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (analysis.scale("gemm", 0.5), {"gemm": 150}),
        (analysis.scale("gemm", 3), {"gemm": 900}),
        (analysis.scale("g*m", 1), {}),
        (analysis.faster_copies(4), {"copy": 25}),
        (analysis.scale("copy", 7), {"copy": 700}),
        (analysis.scale("load", 2), {"host": 100}),
    ],
    ids=str,
)
def test_an_edit_predicts_the_program_that_has_it(edit, after):
    found = edited(edit)
    assert found.predicted == length(program(**after))
    assert found.saved == found.wall - found.predicted
    assert what_if(found.trace).wall == found.predicted  # the edited trace is a trace


def test_without_the_wait_work_begins_with_its_launch():
    found = edited(analysis.drop_wait("gemm"))
    assert found.predicted == length(program(wait=False))


def test_without_the_synchronization_the_host_runs_ahead():
    found = edited(analysis.drop_sync())
    after = length(program(sync=False))
    assert abs(found.predicted - after) <= 0.005 * after  # what the call costs by itself is not recorded
    assert found.rows[1].predicted < found.rows[1].recorded


def test_removed_host_code_is_at_best():
    found = edited(analysis.remove("load"))
    assert found.wall - found.predicted == STEPS * 50 * US
    assert "leaves its core to others" in found.at_best[0]
    assert "becomes at best" in str(found)


def test_removed_work_is_not_in_the_edited_trace():
    found = edited(analysis.remove("copy"))
    assert "copy" not in found.trace.spans.column("name").to_pylist()
    assert found.predicted < found.wall - STEPS * 90 * US


def test_moved_work_is_on_the_other_stream_and_keeps_its_waits():
    found = edited(analysis.move("gemm", 20))
    spans = found.trace.spans.to_pylist()
    assert {span["track"] for span in spans if span["name"] in ("gemm", "copy")} == {
        span["track"] for span in spans if span["name"] == "copy"
    }
    new = edited(analysis.move("copy", "new"))
    assert new.trace.tracks.num_rows == found.trace.tracks.num_rows + 1
    assert new.predicted == new.wall


def test_fused_work_has_one_launch():
    b = Builder()
    t = 0
    for _ in range(50):
        b.launch((t, t + 8 * US), "tiny", t + 10 * US, t + 12 * US)
        t += 20 * US
    found = what_if(b.trace(), analysis.fuse("tiny"))
    assert found.predicted == (10 + 50 * 2) * US
    assert found.at_best


def test_a_shallow_queue_holds_the_host_back():
    b = Builder()
    free = 0
    for n in range(100):
        t = n * 10 * US
        start = max(t + 5 * US, free + US)
        free = start + 30 * US
        b.launch((t, t + 4 * US), "k", start, free)
    deep, shallow = (what_if(b.trace(), analysis.queue_depth(depth)) for depth in (1_000, 1))
    assert deep.predicted == deep.wall
    calls = [[s for s in found.trace.spans.to_pylist() if s["category"] == "runtime"] for found in (deep, shallow)]
    ends = [spans[-1]["start"] + spans[-1]["duration"] for spans in calls]
    work_before = shallow.wall - 31 * US
    assert ends == [994 * US, work_before + (5 + 4) * US]  # a slot is free 5 us after its work; the call takes 4
    shallow.trace.check()


def test_work_of_two_streams_runs_side_by_side():
    b = Builder()
    for n in range(10):
        b.launch((n * US, n * US + 500), "one" if n % 2 else "two", (10 + 100 * n) * US, (110 + 100 * n) * US)
    assert what_if(b.trace(), analysis.add_streams(1)).predicted < 520 * US
    assert what_if(b.trace(), analysis.overlap("one", "two")).predicted < 520 * US


def test_removing_what_binds_is_never_longer():
    trace = program().trace()
    for name in ("load", "copy", "gemm", "log", "cuda*"):
        found = what_if(trace, analysis.remove(name))
        assert found.predicted <= found.wall


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: analysis.scale("", 1), "the pattern is empty"),
        (lambda: analysis.scale("a", -1), "a factor must be between 0 and 1,000,000, not -1"),
        (lambda: analysis.scale("a", float("nan")), "not nan"),
        (lambda: analysis.faster_copies(0), "would never end"),
        (lambda: analysis.queue_depth(0), "depth must be between 1 and 1,000,000, not 0"),
        (
            lambda: edited(analysis.scale("gem", 1)),
            "host span of the trace matches 'gem'; did you mean 'gemm'",
        ),
        (lambda: edited(analysis.drop_wait("copy")), "no work that waits for an event"),
        (lambda: edited(analysis.move("gemm", "fast")), "cuda:0 has no stream 'fast'; it has 7, 20; 'new' makes one"),
        (lambda: best_edits(program().trace(), 0), "count must be at least 1, not 0"),
    ],
)
def test_a_wrong_edit_says_what_is_wrong(make, message):
    with pytest.raises(UsageValueError, match=message):
        make()


def test_what_is_no_edit_is_a_type_error():
    with pytest.raises(UsageTypeError, match="an edit must be made by"):
        what_if(program().trace(), "gemm")  # type: ignore[arg-type]
    with pytest.raises(UsageTypeError, match="a pattern must be a str, not int"):
        analysis.remove(3)  # type: ignore[arg-type]


def test_the_best_edits_are_those_that_save_most():
    found = best_edits(program(gemm=800).trace(), 3)
    assert (found.rows[0].edit, found.rows[0].name) == ("scale 0.5", "gemm")
    assert found.rows[0].saved == STEPS * 400 * US
    assert [row.saved for row in found.rows] == sorted((row.saved for row in found.rows), reverse=True)
    assert found.refused is None


def test_no_edit_is_ranked_where_the_model_misses_more_than_it_saves():
    b = program(gemm=100)
    b.launch((5_000 * US, 5_006 * US), "late", 90_000 * US, 90_100 * US)
    found = best_edits(b.trace())
    assert found.rows == ()
    assert "the model does not explain" in str(found)


def test_what_is_wrong_with_the_trace_is_said_with_each_answer():
    trace = program().trace().replace({"warnings": [f"clock {n} is off" for n in range(5)]})
    for found in (analysis.replay(trace), what_if(trace, analysis.drop_sync()), best_edits(trace)):
        assert "  warning: clock 2 is off\n  and 2 more warnings" in str(found)
        assert len(found.warnings) == 5


def test_host_code_that_varies_makes_the_interval_wide():
    def half_width(varies: int) -> float:
        b = Builder()
        t = 0
        for n in range(25):
            b.span(b.thread(), "load", t, t + (100 + varies * (n % 3 - 1)) * US)
            t += 200 * US
            b.launch((t, t + 4 * US), "gemm", t + 5 * US, t + 8 * US)
        found = what_if(b.trace(), analysis.scale("gemm", 2))
        return (found.high - found.low) / 2

    # Of 25 spans two in three are 60 us off: 1.48 * 60 us * sqrt(25) in all.
    assert half_width(0) == pytest.approx(0.007 * 5_011 * US, rel=0.01)
    assert half_width(60) == pytest.approx(1.48 * 60 * 5 * US, rel=0.01)
