"""The sanitizer on running programs: real work on real streams."""

import queue

import numpy as np
import pytest

import eventide as et
from tests.helpers import TIMEOUT
from tests.unit.declared_work import fill, total


def races(findings):
    return [(f.first.name, f.second.name, f.count) for f in findings.of("race")]


def test_two_works_on_overlapping_slices_are_a_race_and_the_advice_removes_it(stream, other):
    array = np.zeros(100)
    with et.sanitize() as findings:
        stream.submit(fill, array[:60])
        other.submit(total, array[40:])
    (race,) = findings
    assert (race.kind, race.certain, race.first.name, race.second.name) == ("race", True, "fill", "total")
    assert (race.second.address - array.ctypes.data, race.second.nbytes) == (320, 160)
    assert (race.first.stream, race.second.stream) == (stream.stream_id, other.stream_id)
    assert (race.fix.action, race.fix.recorded) == ("wait", False)
    with et.sanitize() as findings:
        stream.submit(fill, array[:60])
        event = stream.record_event()  # "record an event after 'fill'"
        other.wait_event(event)  # "make stream 2 wait before 'total'"
        other.submit(total, array[40:])
    assert list(findings) == []
    assert findings.verdict == "clean"


def test_a_finding_has_both_lines_of_the_program(stream, other):
    array = np.zeros(4)
    with et.sanitize() as findings:
        stream.submit(fill, array)
        other.submit(total, array)
    text = str(findings)
    assert "stream.submit(fill, array)" in text
    assert "other.submit(total, array)" in text
    assert "test_sanitize.py:" in text
    assert f"record an event after 'fill' on stream {stream.stream_id}" in text


def test_the_halves_of_the_columns_of_a_matrix_do_not_overlap(stream, other):
    matrix = np.zeros((300, 10))
    with et.sanitize() as findings:
        stream.submit(fill, matrix[:, :5])
        other.submit(fill, matrix[:, 5:])
    assert findings.verdict == "clean"
    with et.sanitize() as findings:
        stream.submit(fill, matrix[:, :6])
        other.submit(fill, matrix[:, 5:])
    assert len(findings.of("race")) == 1


def test_the_same_race_in_a_loop_is_one_finding_with_a_count(stream, other):
    array = np.zeros(4)
    with et.sanitize() as findings:
        for _ in range(50):  # long enough for the interpreter to warm up to these lines
            stream.submit(fill, array)
            other.submit(total, array)
            et.synchronize("cpu", TIMEOUT)
    assert races(findings) == [("fill", "total", 50)]


def test_the_host_races_with_a_copy_that_is_still_under_way(stream, gate):
    target, source = et.empty(64), np.ones(64, dtype=np.uint8)
    gate.hold(stream)
    with et.sanitize() as findings:
        stream.copy(target, source)
        target[:4]  # a read before the copy is complete
        source[:] = 2
        et.host_access(writes=source)
        gate.open()
        stream.synchronize(TIMEOUT)
        assert bytes(target)
    assert sorted((f.first.name, f.second.what, f.second.write) for f in findings) == [
        ("copy", "host", False),
        ("copy", "host", True),
    ]
    assert {f.fix.action for f in findings} == {"synchronize"}


@pytest.mark.parametrize("how", ["result", "query", "synchronize", "notify"])
def test_the_host_may_touch_memory_after_it_observed_completion(stream, how):
    buffer = et.empty(8)
    with et.sanitize() as findings:
        future = stream.submit(fill, np.frombuffer(buffer))
        event = stream.record_event()
        if how == "result":
            future.result(TIMEOUT)
        elif how == "synchronize":
            event.synchronize(TIMEOUT)
        elif how == "query":
            while not event.query():
                pass
        else:
            seen = queue.Queue()
            event.notify(lambda _: seen.put(1))
            seen.get(timeout=TIMEOUT)
        bytes(buffer)
    assert list(findings) == []


def test_a_synchronize_that_timed_out_orders_nothing(stream, gate):
    buffer = et.empty(8)
    gate.hold(stream)
    with et.sanitize() as findings:
        stream.submit(fill, np.frombuffer(buffer))
        with pytest.raises(TimeoutError):
            stream.synchronize(0)
        bytes(buffer)
        gate.open()
    assert [f.kind for f in findings] == ["race"]


def test_memory_that_is_freed_while_a_stream_uses_it(stream, gate):
    gate.hold(stream)
    with et.sanitize() as findings:
        buffer = et.empty(8)
        stream.submit(et.work(int, writes=[buffer]))
        buffer.free()
        gate.open()
    (finding,) = findings
    assert finding.kind in {"missing-record-stream", "use-after-free"}
    with et.sanitize() as findings:
        buffer = et.empty(8)
        stream.submit(et.work(int, writes=[buffer]))
        buffer.record_stream(stream)
        buffer.free()
    assert list(findings) == []


def test_memory_that_is_dropped_is_kept_by_the_work_that_has_it(stream):
    with et.sanitize() as findings:
        for _ in range(20):
            stream.submit(et.work(int, writes=[et.empty(64)]))
        stream.synchronize(TIMEOUT)
    assert list(findings) == []


def test_an_array_at_the_address_of_a_freed_one_is_another_array(stream, other):
    with et.sanitize() as findings:
        for i in range(40):
            (stream, other)[i % 2].submit(fill, np.zeros(1000)).result(TIMEOUT)
            (stream, other)[i % 2].submit(fill, np.zeros(1000))
    assert list(findings) == []


def test_a_wait_for_an_event_that_was_never_recorded_is_reported(stream):
    with et.sanitize() as findings:
        stream.wait_event(et.Event("cpu"))
        stream.submit(et.work(int, reads=()))
    assert [f.kind for f in findings] == ["wait-on-unrecorded"]


def test_a_wait_that_changes_no_order_is_reported(stream, other):
    array = np.zeros(4)
    with et.sanitize() as findings:
        stream.submit(fill, array)
        event = stream.record_event()
        stream.wait_event(event)  # its own stream
        stream.submit(total, array)
    assert [f.kind for f in findings] == ["redundant-wait"]
    assert findings[0].fix.action == "remove"


def test_closing_an_idle_stream_is_not_wasteful(make_stream):
    with et.sanitize() as findings:
        stream = make_stream()
        stream.submit(fill, np.zeros(4))
        stream.synchronize(TIMEOUT)
        stream.close(TIMEOUT)
    assert list(findings) == []


def test_coverage_counts_the_known_accesses(stream):
    with et.sanitize() as findings:
        stream.submit(fill, np.zeros(4))
        stream.submit(int)
    assert str(findings.coverage) == "1 of 2 work items had known accesses"
    assert findings.summary == "clean: 1 of 2 work items had known accesses"


def test_without_any_known_access_nothing_is_called_clean(stream):
    with et.sanitize() as findings:
        stream.submit(int)
    assert findings.verdict == "not checkable"
    assert "clean" not in findings.summary
    assert "et.work(reads=, writes=)" in findings.summary
    with et.sanitize() as findings:
        pass
    assert findings.summary == "not checkable: no work was submitted"


def test_raise_raises_at_the_call_that_completes_the_finding(stream, other):
    array = np.zeros(4)
    with pytest.raises(et.SanitizerError, match="nothing orders the two") as caught, et.sanitize(mode="raise"):
        stream.submit(fill, array)
        other.submit(total, array)
        pytest.fail("the submission above raises")
    assert [finding.kind for finding in caught.value.findings] == ["race"]


def test_raise_raises_at_the_end_for_findings_that_only_the_end_shows(stream):
    with pytest.raises(et.SanitizerError, match="redundant-wait"), et.sanitize(mode="raise"):
        stream.submit(fill, np.zeros(4))
        stream.wait_event(stream.record_event())
        stream.submit(fill, np.zeros(4))


def test_an_error_of_the_program_propagates(stream, other):
    array = np.zeros(4)
    with pytest.raises(ZeroDivisionError), et.sanitize() as findings:
        stream.submit(fill, array)
        other.submit(fill, array)
        1 / 0
    assert len(findings) == 1


def test_leaks_are_reported_on_request():
    with et.sanitize(leaks=True) as findings:
        kept = et.empty(48)
        et.empty(16)
    assert [(f.kind, f.second.nbytes) for f in findings] == [("leak", 48)]
    kept.free()


def test_sanitizers_nest_and_each_checks_everything(stream, other):
    array = np.zeros(4)
    with et.sanitize() as outer:
        stream.submit(fill, array)
        with et.sanitize() as inner:
            other.submit(fill, array)
    assert len(outer) == 1
    assert list(inner) == []  # the first work was before it began


def test_a_sanitizer_is_used_once_and_its_mode_is_checked():
    with pytest.raises(et.UsageValueError, match="mode is one of collect, raise; got 'strict'"):
        et.sanitize(mode="strict")
    one = et.sanitize()
    with one:
        pass
    with pytest.raises(et.UsageError, match="is stopped already; make a new one"):
        one.start()


def test_a_sanitizer_is_a_scope_like_a_recorder(stream, other):
    array = np.zeros(4)
    scope = et.sanitize()
    with pytest.raises(et.UsageError, match="this sanitizer is not active; start it first"):
        scope.stop()
    assert scope.start() is scope
    assert (len(scope), scope.summary) == (0, "not checkable: no work was submitted")
    stream.submit(fill, array)
    other.submit(total, array)
    assert [finding.kind for finding in scope] == ["race"]  # while it is active
    result = scope.stop()
    assert (scope.result, scope.stop()) == (result, result)
    assert (tuple(scope), scope[0], scope.of("race")) == (result.found, result[0], result.found)
    assert (str(scope), scope.verdict, scope.coverage) == (str(result), "findings", result.coverage)
    assert repr(scope) == f"<sanitize, stopped: {result.summary}>"


def test_with_gives_the_scope_itself():
    scope = et.sanitize()
    with scope as entered:
        assert entered is scope
    assert scope.result.suppressed == ()
