"""Every headline of a real trace against the raw JSON: a claim that it contradicts fails."""

from __future__ import annotations

import gzip
import json
import re
from itertools import accumulate

import pytest

import eventide as et
from eventide.analysis import View, critical_path, idle, memory, steps_of, summary, syncs
from eventide.report import Finding, Report, as_text, findings, gather, render_report, unknowns
from tests.integration.headline_checks import CHECKS
from tests.integration.processes import ROOT
from tests.kineto_files import CALL, KERNEL, event, real_trace, write
from tests.reference.headlines import Facts, facts_of

TRACES = sorted((ROOT.parent / "shared" / "traces").rglob("*.json.gz"))
real = pytest.mark.skipif(not TRACES, reason="needs the folder of real traces, ../shared/traces")
HOST = "The host is the bottleneck"


def contradictions(report: Report, facts: Facts) -> list[str]:
    """What the raw file says against the findings; each rule that found something has a check."""
    found = []
    for finding in (*findings(report), *unknowns(report)):
        found += [f"{finding.rule}: {text}" for text in CHECKS[finding.rule](finding, facts, report)]
    return found


@real
@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}-{path.name.removesuffix('.json.gz')}")
def test_no_headline_contradicts_the_raw_file(path):
    facts = facts_of(path)
    report = gather(et.open_trace(path), path.name)
    text = " ".join(as_text(render_report(report)).split())
    if facts is None:
        assert HOST not in text
        assert [each.rule for each in unknowns(report)] == ["no-device-work"]
        return
    assert contradictions(report, facts) == []
    assert "shortens the path helps for" not in text  # the slack of other work is no gain
    lane = min(report.idle.lanes, key=lambda lane: lane.idle)
    assert lane.busy == pytest.approx(facts.busy, abs=0.01 * facts.window)
    assert lane.wall == pytest.approx(facts.window, rel=0.01)


def test_an_idle_device_behind_a_busy_host_is_said_and_agrees():
    path = real_trace("nvidia_alexnet")
    text = et.open_trace(path).report()
    facts = facts_of(path)
    assert facts is not None
    assert HOST in text
    assert facts.longest[0][2] == "cudaDeviceGetStreamPriorityRange"


def test_time_of_which_nothing_is_recorded_is_no_bottleneck():
    text = " ".join(et.open_trace(real_trace("nvidia_triton")).report().split())
    assert re.search(r"2\. The critical path is > 99\.9 % unrecorded host", text)
    assert "Record what the host did" in text


def test_the_check_computes_busy_blocked_and_what_filled_a_gap(tmp_path):
    events = [
        event(CALL, "cudaLaunchKernel", 0, 2, correlation=1),
        event(KERNEL, "gemm", 2, 8, correlation=1),
        event(CALL, "cudaMemcpyAsync", 4, 26, correlation=2),
        event(KERNEL, "Memcpy DtoH (Device -> Pageable)", 20, 5, correlation=2),
        event({**CALL, "cat": "cpu_op"}, "aten::item", 3, 37),
    ]
    facts = facts_of(write(tmp_path / "t.json.gz", {"traceEvents": events}))
    assert facts is not None
    assert (facts.window, facts.busy, facts.idle, facts.blocked) == (40_000, 13_000, 27_000, 15_000)
    assert [gap[1:] for gap in facts.longest] == [
        (15_000, "aten::item"),
        (10_000, "cudaMemcpyAsync"),
        (2_000, "cudaLaunchKernel"),
    ]
    claim = Finding("host-bottleneck", "recorded", HOST, 1.0, 1.0)
    report = gather(et.open_trace(tmp_path / "t.json.gz"), "t")
    against = [*CHECKS["host-bottleneck"](claim, facts, report)]
    assert against == ["blocking calls fill 15000 of 27000 ns of the gaps"]
    assert contradictions(report, facts) == []


def test_launching_calls_that_wait_for_their_work_are_time_of_the_device(tmp_path):
    events = []
    for number in range(5):
        at = 200.0 * number
        events += [
            event({**CALL, "cat": "cpu_op"}, "aten::mm", at, 190),
            event(CALL, "cudaLaunchKernel", at + 80, 100, correlation=number + 1),
            event(KERNEL, "gemm", at + 88, 90 + number, correlation=number + 1),  # the last ends 2 us late
        ]
    facts = facts_of(write(tmp_path / "t.json.gz", {"traceEvents": events}))
    trace = et.open_trace(tmp_path / "t.json.gz")
    assert facts is not None
    assert len(facts.blocking) == len(syncs(trace).each) == 5
    assert (syncs(trace).total, syncs(trace).skew) == (500_000, 2_000)
    report = gather(trace, "t")
    assert HOST not in trace.report()  # the host is in such a call for half of the time, and works for the rest
    assert critical_path(trace).kinds["compute"] == 457_000  # 2 us and 1 us of it after the calls
    assert contradictions(report, facts) == []
    assert "Let the host launch ahead of the device: unset CUDA_LAUNCH_BLOCKING" in " ".join(trace.report().split())


def test_a_host_in_copies_of_an_amd_device_is_not_the_bottleneck():
    trace = et.open_trace(real_trace("amd_mi300_flux"))
    assert "The device is the bottleneck: the critical path is 89 % compute" in " ".join(trace.report().split())
    blocked = syncs(trace)
    assert blocked.total > 600_000_000
    assert blocked.table[0].name == "hipMemcpyWithStream"


def test_copies_that_end_after_their_calls_block_and_the_skew_is_stated():
    trace = et.open_trace(real_trace("nvidia_resnet_pageable"))
    found = syncs(trace)
    calls = [sync for sync in found.each if sync.name == "cudaMemcpyAsync" and sync.duration > 1_000_000]
    assert (len(calls), found.skew) == (30, 36_000)
    assert sum(sync.duration for sync in calls) == pytest.approx(2.01e9, rel=0.01)
    assert "within 36.0 us: the estimated clock skew" in trace.report()


def test_long_synchronizations_under_device_work_are_time_of_the_device():
    trace = et.open_trace(real_trace("nvidia_h100_owlv2"))
    found = critical_path(trace)
    assert found.kinds["compute"] > 0.4 * found.wall
    assert all(sync.inferred for sync in syncs(trace).each if sync.name == "cudaStreamSynchronize" and sync.waited_for)


def test_kernels_that_overlap_by_fractions_of_a_microsecond_are_on_the_path_one_after_the_other():
    found = critical_path(et.open_trace(real_trace("amd_mi300_flux")))
    assert found.kinds["unknown"] < 0.0005 * found.wall  # twice that where each of them hides its predecessor


def test_steps_of_the_old_schema_are_steps():
    trace = et.open_trace(real_trace("nvidia_resnet50_loader0"))
    assert [step.name for step in steps_of(View(trace))] == [f"ProfilerStep#{number}" for number in range(5, 11)]


@real
@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}-{path.name.removesuffix('.json.gz')}")
def test_the_total_of_a_name_is_at_most_the_time_of_its_threads(path):
    view = View(et.open_trace(path))
    threads = len(view.host_by_track)
    assert all(row.total <= threads * (view.window[1] - view.window[0]) for row in summary(view).host)


def test_memory_rows_of_the_old_schema_are_summed_as_the_raw_file_sums():
    path = real_trace("nvidia_resnet50_loader0")
    held: dict[int, list[int]] = {}
    rows = [
        each for each in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if each["name"] == "[memory]"
    ]
    for each in sorted(rows, key=lambda row: row["ts"]):
        held.setdefault(each["args"]["Device Type"], [0]).append(each["args"]["Bytes"])
    sums = {kind: list(accumulate(sizes)) for kind, sizes in held.items()}
    found = {device.device: device.peak for device in memory(et.open_trace(path)).devices}
    assert found == {name: max(sums[kind]) - min(sums[kind]) for name, kind in (("cpu:0", 0), ("cuda:0", 1))}


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("name", ["nvidia_training_rank0", "amd_mi300_resnet"])
def test_a_cut_file_says_so_in_its_title_and_first_and_blames_no_host_for_what_is_missing(tmp_path, name, share):
    whole = gzip.decompress(real_trace(name).read_bytes())
    path = write(tmp_path / "cut.json.gz", whole[: int(len(whole) * share)])
    text = et.open_trace(path).report()
    title, first, *_ = text.split("\n\n")
    assert "cut short, " in title
    assert first.startswith("1. The file was cut: ")
    assert HOST not in text
    assert "nothing more was launched" not in text


def test_an_iterator_around_the_function_that_fills_a_gap_is_not_named():
    worst = idle(et.open_trace(real_trace("nvidia_h100_owlv2"))).worst(4)
    assert {gap.host_op for gap in worst} == {"<built-in function zoom_shift>"}


def test_a_whole_file_is_not_called_cut():
    assert "cut" not in et.open_trace(real_trace("nvidia_training_rank0")).report()


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("idle-driver-call", {"idle": 1}),
        ("idle-driver-call", {"host": "aten::relu"}),
        ("idle-launch", {"part": 10**11}),
        ("idle-queue-empty", {"part": 10**11}),
        ("idle-unknown", {"part": 10**11}),
        ("host-blocked", {"total": 10**11}),
        ("host-blocked-by-copies", {"total": 1}),
        ("exposed-communication", {"exposed": 10**11, "total": 0}),
        ("exposed-copies", {"exposed": 10**11}),
        ("device-bottleneck", {}),
        ("critical-path", {"kind_time": 10**12}),
    ],
)
def test_a_wrong_claim_is_contradicted_by_the_raw_file(rule, wrong):
    path = real_trace("nvidia_alexnet")
    facts, report = facts_of(path), gather(et.open_trace(path), "t")
    assert facts is not None
    (late,) = [finding for finding in findings(report) if finding.rule == "idle-driver-call"]
    values = {"total": sum(call.end - call.start for call, _ in facts.blocking), "part": 0, "exposed": 0, **late.values}
    claim = Finding(rule, "recorded", "", 1.0, 1.0, None, late.place, {**values, "kind_time": 0, **wrong})
    assert [*CHECKS[rule](claim, facts, report)] != []
