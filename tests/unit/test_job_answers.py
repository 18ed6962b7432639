"""Answers about jobs whose truth is known: who was waited for, at what cost, why, and what a job without it takes."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from eventide.cli import main
from eventide.errors import UsageValueError
from eventide.jobs import align_job, answer, import_job, open_job
from tests.reference.jobs import Plan, write_job, write_rank


@pytest.fixture
def make(tmp_path):
    def make(plan, offsets=None, drop=()):
        folder = tmp_path / f"traces{len(list(tmp_path.iterdir()))}"
        files = [path for path in write_job(folder, plan, offsets or {}) if path.stem not in drop]
        import_job(files, folder / "job", processes=1)
        return open_job(folder / "job")

    return make


SLOW = Plan(ranks=4, steps=3, slow=2)


def test_waiting_transfer_and_the_rank_that_was_waited_for(make):
    report = answer(make(SLOW))
    # Three ranks wait 600 us in each of three steps. One that is always last may as well have another clock: the bound
    # cannot exclude it, and that all leave a collective together does.
    assert [row.last for row in report.waiting.rows] == [2, 2, 2]
    assert report.waiting.total == pytest.approx(3 * 3 * 600_000, rel=1e-6)
    assert {row.resolved for row in report.waiting.rows} == {"ends"}
    worst = report.waiting.ranks[0]
    assert (worst.rank, worst.times, worst.resolved) == (2, 3, 3)
    assert worst.waited == 0
    assert max(row.error for row in report.waiting.rows) == pytest.approx(600_000, rel=0.1)
    assert report.stragglers.pattern == "persistent"
    assert report.stragglers.pattern_rank == 2


def test_the_clocks_of_ranks_with_other_clocks_change_no_answer(make):
    plain = answer(make(SLOW)).waiting
    moved = answer(make(SLOW, {0: 5000, 1: -7000, 3: 123_456})).waiting
    assert [row.last for row in moved.rows] == [row.last for row in plain.rows]
    assert moved.total == pytest.approx(plain.total, abs=100)


def test_a_job_without_stragglers_takes_what_the_typical_rank_needs(make):
    found = answer(make(SLOW)).stragglers
    # Each step: 1600 us, then 50 us; typical is the mean of 1000, 1000, 1600 and 1000.
    assert found.what_if.actual == pytest.approx(3 * 1_650_000, rel=1e-6)
    assert found.what_if.ideal == pytest.approx(3 * 1_200_000, rel=1e-6)
    assert abs(found.replay_error) < 1e-6
    assert found.what_if.ranks[0].name == "2"
    assert found.what_if.ranks[0].explains == pytest.approx(1, abs=0.05)
    assert found.resolved


def test_the_step_that_explains_the_slowdown_is_named(make, capsys):
    job = make(Plan(ranks=4, steps=4, slow=1, slow_steps=(2,)))
    what = answer(job).stragglers.what_if
    # Each step is 1000 us and 50 us, the third one 1600 us and 50 us; typical there are 1150 us and 50 us.
    assert what.actual == pytest.approx(4 * 1_050_000 + 600_000, rel=1e-6)
    assert what.ideal == pytest.approx(4 * 1_050_000 + 150_000, rel=1e-6)
    explains = {share.name: share.explains for share in what.parts}
    assert explains == pytest.approx({f"ProfilerStep#{step}": float(step == 2) for step in range(4)}, abs=1e-6)
    assert what.parts[0].slowdown == pytest.approx(what.slowdown)
    assert main(["job", "report", str(job.path)]) == 0
    assert "the step that does is 'ProfilerStep#2' (100 %)" in " ".join(capsys.readouterr().out.split())
    assert main(["job", "stragglers", str(job.path)]) == 0
    assert "Slowdown by step" in capsys.readouterr().out


def test_the_cause_is_the_kernel_or_the_host(make):
    slow = answer(make(SLOW)).stragglers.stragglers[0]
    assert (slow.rank, slow.causes[0].what, slow.names[0].name) == (2, "computation", "gemm")
    assert slow.causes[0].time == pytest.approx(3 * 600_000)
    late = answer(make(Plan(ranks=4, slow=1, slow_compute=1000, late_host=700))).stragglers.stragglers[0]
    assert (late.rank, late.causes[0].what) == (1, "host late")
    assert late.causes[0].time == pytest.approx(3 * 700_000)


def test_the_critical_path_is_that_of_the_slow_rank_and_sums_to_the_job(make):
    path = answer(make(SLOW)).critical_path
    assert sum(piece.end - piece.start for piece in path.pieces) == pytest.approx(path.length)
    assert (path.shares[0].rank, path.shares[0].operation) == (2, "before all_reduce")
    assert path.shares[0].time == pytest.approx(3 * 1_600_000, rel=0.02)
    starts = np.array([piece.start for piece in path.pieces[1:]])
    assert starts == pytest.approx([piece.end for piece in path.pieces[:-1]])


def test_imbalance_is_that_of_computation_and_needs_no_clock(make):
    found = answer(make(SLOW)).imbalance
    (stage,) = found.stages
    assert (stage.ranks, stage.slowest) == (4, 2)
    assert stage.compute == pytest.approx((3 * 1_000_000 + 1_600_000) / 4)
    assert stage.imbalance == pytest.approx(1_600_000 / 1_150_000 - 1)
    assert found.lengths["ProfilerStep#0"] == dict.fromkeys(range(4), 1_650_000)


def test_a_rank_without_a_device_computes_outside_of_its_collectives(tmp_path):
    for rank, late in ((0, 0), (1, 700)):
        at = lambda start, name, lasts, rank=rank: {  # noqa: E731
            "ph": "X", "cat": "user_annotation", "name": name, "ts": start, "dur": lasts, "pid": 7, "tid": rank + 1
        }  # fmt: skip
        events = [at(1000, "ProfilerStep#0", 1000), at(1200 + late, "gloo:all_reduce", 790 - late)]
        text = json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events})
        (tmp_path / f"rank{rank}.json").write_text(text, "utf-8")
    import_job(tmp_path, tmp_path / "job", processes=1)
    found = answer(open_job(tmp_path / "job")).imbalance
    assert [(row.compute, row.communication) for row in found.ranks] == [(210_000, 790_000), (910_000, 90_000)]
    assert found.stages[0].slowest == 1


def test_without_an_id_collectives_match_by_their_order_in_a_step(make):
    report = answer(make(Plan(ranks=4, slow=2, comms_id=False)))
    assert [row.key for row in report.waiting.rows] == [f"0, ProfilerStep#{step}, 1" for step in range(3)]
    assert any("matched by their order" in text for text in report.hidden)
    assert report.waiting.ranks[0].rank == 2


def test_missing_ranks_are_said_and_what_that_hides(make):
    report = answer(make(SLOW, drop={"rank2"}))
    assert report.hidden[0].startswith("1 rank of 4 not imported (rank 2): if one of them is the slowest")
    assert report.waiting.total == pytest.approx(0, abs=9 * 800_000)


def test_a_trace_of_another_job_does_not_change_how_many_ranks_this_one_has(make, tmp_path):
    job = make(SLOW)
    other = write_rank(tmp_path / "rank9.json", 9, Plan(ranks=300, comms_id=False))
    other.write_text(other.read_text("utf-8").replace("ProfilerStep#", "ProfilerStep#7"), "utf-8")
    import_job([*sorted((tmp_path / "traces0").glob("rank*.json")), other], job.path, processes=1)
    job = open_job(job.path)
    assert (job.world_size, job.missing, job.foreign) == (4, [], [9])
    report = answer(job)
    assert report.waiting.ranks[0].rank == 2
    assert report.hidden[0].startswith("The trace of rank 9 is not of this job of 4 ranks: its number, or its own")
    assert report.hidden[1].startswith("No collective bounds the clock of rank 9")


def test_a_job_of_one_rank_or_of_none_that_match_says_so(make):
    with pytest.raises(UsageValueError, match="The job has one rank; import the others as well"):
        answer(make(Plan(ranks=1)))


def test_a_job_of_broadcasts_says_that_they_tie_no_clocks(make):
    job = make(Plan(ranks=2))
    folder = job.path.parent
    for rank in range(2):
        text = (folder / f"rank{rank}.json").read_text("utf-8").replace('"allreduce"', '"broadcast"')
        (folder / f"rank{rank}.json").write_text(text, "utf-8")
    import_job([folder / f"rank{rank}.json" for rank in range(2)], job.path, processes=1)
    with pytest.raises(
        UsageValueError, match=r"3 collectives of several ranks match, but none .* job imbalance` needs"
    ):
        answer(open_job(job.path))


def test_different_collectives_under_one_key_are_refused_with_both_ranks(make, tmp_path):
    job = make(SLOW)
    text = (tmp_path / "traces0" / "rank3.json").read_text("utf-8").replace("allreduce", "_allgather_base")
    (tmp_path / "traces0" / "rank3.json").write_text(text, "utf-8")
    import_job([tmp_path / "traces0" / f"rank{rank}.json" for rank in range(4)], job.path, processes=1)
    with pytest.raises(
        UsageValueError, match=r"ranks 0 and 3 do not fit: 'comms 900 of 0, 1' is all_reduce on rank 0 and"
    ):
        align_job(open_job(job.path))


def test_a_run_that_began_later_is_refused_by_the_clocks(make, capsys):
    """The second rank has lost its first collective: without ids its second one is taken for the first."""
    job = make(Plan(ranks=2, comms_id=False, steps=3))
    folder = job.path.parent
    trace = json.loads((folder / "rank1.json").read_text("utf-8"))
    steps = [event for event in trace["traceEvents"] if event["cat"] != "user_annotation"]
    trace["traceEvents"] = [event for event in steps if event["args"]["correlation"] != 12]
    for event in trace["traceEvents"]:
        event["ts"] += 9000 if event["args"]["correlation"] == 22 else 0
    (folder / "rank1.json").write_text(json.dumps(trace), "utf-8")
    other = json.loads((folder / "rank0.json").read_text("utf-8"))
    other["traceEvents"] = [event for event in other["traceEvents"] if event["cat"] != "user_annotation"]
    (folder / "rank0.json").write_text(json.dumps(other), "utf-8")
    out = str(folder / "other")
    assert (
        main(["job", "import", str(folder / "rank0.json"), str(folder / "rank1.json"), "-o", out, "--processes", "1"])
        == 2
    )
    message = " ".join(capsys.readouterr().err.split())
    assert "ranks 0 and 1 do not fit: no offset of their clocks satisfies both all_reduce" in message


@pytest.mark.parametrize("command", ["report", "stragglers", "collectives", "imbalance", "critical-path"])
def test_each_command_prints_text_of_100_columns_and_json(make, capsys, command):
    job = str(make(SLOW).path)
    assert main(["job", command, job]) == 0
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 100
    assert main(["job", command, job, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_the_report_names_the_rank_the_cost_and_the_cause(make, capsys):
    job = str(make(SLOW).path)
    assert main(["job", "report", job]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Rank 2 was waited for most: it was last in 3 of 3 collectives" in text
    assert "Rank 2: computation took longer than on the other ranks (1.80 ms before its collectives); gemm of" in text
    assert "gemm of the same shape, [64,1,1], took 4.80 ms instead of 3.00 ms" in text
    assert "The straggler is persistent: rank 2" in text


def test_bandwidth_needs_no_common_clock_and_names_the_outlier(make, capsys):
    job = make(Plan(ranks=4, steps=5, slow=2, slow_link=3), {1: 70_000})
    report = answer(job)
    # 1000 floats in 50 us, on the clock of rank 2 alone; in the fourth step in 200 us.
    (row,) = report.bandwidth
    assert (row.kind, row.size, row.count, row.resolved) == ("all_reduce", 2048, 5, 5)
    assert (row.median, row.slowest) == (pytest.approx(4000 / 50e-6), pytest.approx(4000 / 200e-6))
    assert row.slow == ("comms 903 of 0, 1",)
    assert max(each.error for each in report.waiting.rows) > 200_000
    assert main(["job", "report", str(job.path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "1 collective transferred at less than half of the bandwidth of their like; the slowest is all_reduce" in text
    )
    assert "(comms 903 of 0, 1) at 19.1 MiB/s instead of 76.3 MiB/s" in text


def test_a_rank_with_kernels_of_another_shape_has_no_slow_kernel_but_other_work(make, capsys):
    job = make(Plan(ranks=4, slow=2, slow_grid=128))
    slow = answer(job).stragglers.stragglers[0]
    assert (slow.rank, slow.causes[0].what, slow.names) == (2, "computation", ())
    assert main(["job", "report", str(job.path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "(1.80 ms before its collectives); it did other work than they, of other shapes, or more of it" in text


def test_sql_sees_every_table_with_its_rank(make, capsys):
    job = str(make(SLOW).path)
    assert (
        main(
            [
                "job",
                "sql",
                job,
                "select rank, max(before_compute) as most from collectives group by 1 order by 2 desc limit 1",
                "--json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out) == [{"rank": 2, "most": 1_600_000}]
    assert main(["job", "sql", job, "select nothing"]) == 2
    assert "the query is invalid" in capsys.readouterr().err


def test_the_page_has_a_cell_for_each_rank_and_step_and_no_script(make, tmp_path):
    job = make(SLOW)
    page = tmp_path / "job.html"
    assert main(["job", "report", str(job.path), "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    heat = text[text.index('<svg class="ranks"') : text.index('id="ranks"')]
    assert heat.count("<rect") == 4 * 3
    assert heat.count("against the median") == 4 * 3
    assert "rank 2 (worst)" in text
    assert re.search(r'<tr><td>rank 2</td><td>[^<]+</td><td class="number">', text)  # texts left, numbers right
    assert "(median)" in text
    assert "(best)" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_a_rank_whose_recording_begins_later_is_empty_before(make, tmp_path):
    job = make(SLOW)
    for rank in range(4):
        file = job.path.parent / f"rank{rank}.json"
        trace = json.loads(file.read_text("utf-8"))
        if rank == 2:  # its first step begins with its first kernel, half of it later
            trace["traceEvents"][0]["ts"] += 825
            trace["traceEvents"][0]["dur"] -= 825
            trace["traceEvents"][1]["ts"] += 825
            trace["traceEvents"][1]["dur"] -= 825
        file.write_text(json.dumps(trace), "utf-8")
    import_job([job.path.parent / f"rank{rank}.json" for rank in range(4)], job.path, processes=1)
    assert main(["job", "report", str(job.path), "-o", str(tmp_path / "job.html")]) == 0
    text = (tmp_path / "job.html").read_text("utf-8")
    drawn = text[text.index('id="ranks"') :]
    bars = [
        tuple(map(float, each))
        for each in re.findall(r'<rect class="compute" x="([\d.]+)%" y="\d+" width="([\d.]+)%"', drawn)
    ]
    # 17 % are for the names; the recording of rank 2, the worst, lacks 825 us of three steps of 1650 us.
    assert bars == [(pytest.approx(17 + 83 / 6, abs=0.01), pytest.approx(83 * 5 / 6, abs=0.01)), (17, 83), (17, 83)]


def test_names_in_the_page_are_escaped(make, tmp_path):
    job = make(SLOW)
    for rank in range(4):
        file = job.path.parent / f"rank{rank}.json"
        file.write_text(file.read_text("utf-8").replace("ProfilerStep#", "ProfilerStep#1<b>"), "utf-8")
    import_job([job.path.parent / f"rank{rank}.json" for rank in range(4)], job.path, processes=1)
    assert main(["job", "report", str(job.path), "-o", str(tmp_path / "job.html")]) == 0
    assert "<b>" not in (tmp_path / "job.html").read_text("utf-8")
