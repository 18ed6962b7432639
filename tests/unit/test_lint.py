"""eventide trace lint: each rule finds what breaks it, counts it, and names the first."""

import json

import pytest

import eventide as et
from eventide import analysis
from eventide.cli import main
from tests.kineto_files import CALL, KERNEL, event, read, real_trace, write


@pytest.fixture
def found(tmp_path):
    """Read a document and lint it: findings by rule."""

    def lint(document):
        return {finding.rule: finding for finding in analysis.lint(read(tmp_path / "t.json", document)).findings}

    return lint


SOUND = [
    event(CALL, "cudaLaunchKernel", 10, 5, correlation=4),
    event(KERNEL, "gemm", 20, 7, device=0, stream=7, correlation=4),
]


def test_a_sound_trace_has_no_findings(found):
    assert found(SOUND) == {}


def test_slices_that_begin_inside_another_and_end_after_it_do_not_nest(found):
    span = {"ph": "X", "pid": 1, "tid": 1}
    document = [
        event(span, "outer", 0, 10),
        event(span, "fine", 1, 2),
        event(span, "cuts", 5, 10),
        event(span, "b", 20, 1),
    ]
    finding = found(document)["slices that do not nest"]
    assert (finding.count, finding.checked) == (1, 4)
    assert finding.example == "'cuts' on thread 1, 5,000 ns after the first span began"


def test_work_without_a_launch_and_launches_without_work_are_found(found):
    document = [
        *SOUND,
        event(CALL, "cudaLaunchKernel", 30, 5, correlation=5),
        event(KERNEL, "lonely", 40, 1, correlation=6),
    ]
    findings = found(document)
    assert "'lonely' on stream 7" in findings["device work without a launch"].example
    assert "'cudaLaunchKernel' on thread 9, 20,000 ns" in findings["launches without device work"].example
    assert findings["launches without device work"].checked == 2


@pytest.mark.parametrize("api", ["cudaStream{}Capture", "hipStream{}Capture_v2"])
def test_launches_into_the_capture_of_a_graph_are_not_without_work(found, api):
    document = [
        *SOUND,
        event(CALL, api.format("Begin"), 30, 1),
        event(CALL, "cudaLaunchKernel", 32, 5, correlation=5),
        event(CALL, "cudaMemcpyAsync", 38, 1, correlation=6),
        event(CALL, api.format("End"), 40, 1),
    ]
    assert found(document) == {}
    late = event(CALL, "cudaLaunchKernel", 50, 5, correlation=7)
    other = event({**CALL, "tid": 10}, "cudaLaunchKernel", 32, 5, correlation=8)
    finding = found([*document, late, other])["launches without device work"]
    assert (finding.count, finding.checked) == (2, 3)


def test_a_step_that_ends_inside_an_operator_is_no_defect(found):
    span = {"ph": "X", "pid": 1, "tid": 1}
    step = {**span, "cat": "user_annotation"}
    operator = event({**span, "cat": "cpu_op"}, "Optimizer.step#SGD.step", 6, 8)
    assert found([event(step, "ProfilerStep#0", 0, 10), operator, event(step, "ProfilerStep#1", 10, 10)]) == {}
    assert found([event(step, "part", 0, 10), operator])["slices that do not nest"].count == 1


@pytest.mark.parametrize("share", [0.2, 0.6, 0.999])
def test_a_perfetto_file_that_was_cut_is_truncated_and_its_rows_are_missing(tmp_path, share):
    span = {"ph": "X", "pid": 1, "tid": 1}
    trace = read(tmp_path / "t.json", [event(span, f"name {row}", row, 1) for row in range(3000)])
    trace.save(tmp_path / "t.pftrace")
    assert analysis.lint(et.open_trace(tmp_path / "t.pftrace")).findings == ()
    whole = (tmp_path / "t.pftrace").read_bytes()
    (tmp_path / "cut.pftrace").write_bytes(whole[: int(len(whole) * share)])
    cut = et.open_trace(tmp_path / "cut.pftrace")
    findings = {finding.rule: finding for finding in analysis.lint(cut).findings}
    assert findings["truncated"].checked == int(len(whole) * share)
    assert findings["rows missing"].count == 3000 - len(cut.spans) > 0
    assert "1. The file was cut: " in cut.report()


def test_work_that_starts_before_its_launch_is_a_clock_mismatch(found):
    document = [SOUND[0], event(KERNEL, "early", 9, 7, correlation=4)]
    finding = found(document)["work that starts before its launch"]
    assert finding.count == 1 and "clocks of host and device disagree" in finding.meaning


def test_a_synchronization_that_ends_before_the_work_it_waited_for(found):
    sync = {"ph": "X", "cat": "cuda_sync", "pid": 0, "tid": 7}
    document = [
        *SOUND,
        event(CALL, "cudaStreamSynchronize", 18, 4, correlation=5),
        event(sync, "Stream Sync", 27, 0, device=0, stream=7, correlation=5),
    ]
    assert found(document)["synchronizations that end before the work they waited for"].count == 1


def test_the_same_span_twice_is_a_duplicate_unless_its_arguments_differ(found):
    span = {"ph": "X", "pid": 1, "tid": 1}
    assert found([event(span, "a", 1, 0, x=1), event(span, "a", 1, 0, x=2)]) == {}
    assert found([event(span, "a", 1, 0, x=1)] * 3)["duplicates"].count == 2


def test_slices_that_never_ended_are_counted(found):
    assert found([{"ph": "B", "name": "a", "ts": 1, "pid": 1, "tid": 1}])["slices without an end"].count == 1


def test_stacks_that_are_empty_are_counted(found):
    span = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
    document = [event(span, "a", 1, 1, **{"Call stack": ""}), event(span, "b", 3, 1, **{"Call stack": "a.py(3): f"})]
    finding = found(document)["empty stacks"]
    assert finding.count == 1 and "with_stack=True" in finding.meaning


def test_flows_without_a_target_are_counted_by_what_is_missing(found):
    flow = {"cat": "x", "name": "x", "pid": 1, "tid": 1, "ts": 1}
    finding = found([{**flow, "ph": "s", "id": 1}, {**flow, "ph": "f", "id": 2}])["flows that point nowhere"]
    assert finding.count == 2
    assert finding.example == "1 flow ends without a start, 1 flow starts without an end"


def test_a_flow_that_kineto_ends_on_every_call_has_a_target(found):
    assert (
        found([*SOUND, {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 9, "bp": "e", "pid": 9, "tid": 9, "ts": 10}])
        == {}
    )


def test_events_that_the_reader_dropped_or_repaired_are_a_finding(found):
    text = json.dumps(SOUND)[:-20]
    assert found(text)["truncated"].count > 0
    assert (
        found([*SOUND, {"ph": "X", "name": "bad", "ts": 1, "dur": -1}])["events left out"].example
        == "1 negative duration"
    )
    assert found(b'[{"ph":"X","name":"\xff","ts":1,"dur":1}]')["texts repaired"].count == 1


def test_records_that_a_recording_dropped_are_a_finding():
    account = {"closed": False, "dropped": {"spans": 3, "counters": 0}}
    trace = et.Trace({}, {"account": account, "warnings": ["the recording was not closed: one thing may be missing"]})
    closed, dropped = analysis.lint(trace).findings
    assert (closed.rule, closed.example) == ("recording not closed", trace.metadata["warnings"][0])
    assert (dropped.rule, dropped.count, dropped.example) == ("records dropped", 3, "3 spans")
    assert analysis.lint(et.Trace({}, {"account": {"closed": True, "dropped": {"spans": 0}}})).findings == ()


def test_the_command_exits_with_1_on_findings_and_0_without(tmp_path, capsys):
    sound, odd = write(tmp_path / "sound.json", SOUND), write(tmp_path / "odd.json", SOUND[1:])
    assert main(["trace", "lint", str(sound)]) == 0
    assert "Nothing odd: 15 rules looked at the trace." in capsys.readouterr().out
    assert main(["trace", "lint", str(odd)]) == 1
    assert "1 of 1 device work without a launch" in capsys.readouterr().out
    assert main(["trace", "lint", "--json", str(odd)]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["rule"], finding["count"]) == ("device work without a launch", 1)


def test_the_command_reports_a_bad_file_in_one_line(tmp_path, capsys):
    broken = write(tmp_path / "broken.json", "[@")
    assert main(["trace", "lint", str(broken)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert "expected a value; nothing could be read" in captured.err


@pytest.mark.parametrize(
    ("name", "rule", "count"),
    [
        ("nvidia_compare_before", "empty stacks", 40794),
        ("nvidia_training_rank0", "launches without device work", 235),
        ("mtia_inference", "device work without a launch", 244),
    ],
)
def test_real_traces_have_known_oddities(name, rule, count):
    findings = {finding.rule: finding for finding in analysis.lint(et.open_trace(real_trace(name))).findings}
    assert findings[rule].count == count
