"""What work does while it runs: a signal from inside of work is a point inside it, on every device."""

import queue
import threading

import numpy as np
import pytest

import eventide as et
from eventide.sanitizer import check_trace
from eventide.trace import open_trace
from tests.helpers import TIMEOUT, Background
from tests.unit.declared_work import fill, total

DEVICES = ("cpu", "sim")


def verdicts(findings):
    return [(f.kind, f.certainty, f.doubt) for f in findings]


def recorded(program, device, tmp_path):
    """The findings of a program, live and from its recording; they are the same."""
    with et.Stream.open(device) as one, et.Stream.open(device) as two:
        with et.Recorder(tmp_path / "run.eventide", stacks=True), et.sanitize() as live:
            program(one, two)
        stored = check_trace(open_trace(tmp_path / "run.eventide"))
        assert verdicts(stored) == verdicts(live)
        assert [f.fingerprint for f in stored] == [f.fingerprint for f in live]
    return live


def signals_and_goes_on(make_signal):
    """Work signals and then writes; the receiver of the signal reads on another stream."""

    def program(one, two):
        array, (signal, wait) = np.zeros(4), make_signal()
        one.submit(et.work(lambda: (signal(), array.fill(1)), writes=array))
        with_sim_too = Background(one.synchronize)  # virtual time needs a thread that waits
        wait()
        two.submit(total, array)
        with_sim_too.result()
        two.synchronize(TIMEOUT)

    return program


def a_queue():
    q = queue.Queue()
    return lambda: q.put(1), lambda: q.get(timeout=TIMEOUT)


def an_event():
    event = threading.Event()
    return event.set, lambda: event.wait(TIMEOUT)


def a_lock():
    lock = threading.Lock()
    lock.acquire()
    return lock.release, lambda: lock.acquire(timeout=TIMEOUT)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("make_signal", [a_queue, an_event, a_lock])
def test_who_receives_a_signal_from_inside_of_work_is_not_after_the_work(make_signal, device, tmp_path):
    findings = recorded(signals_and_goes_on(make_signal), device, tmp_path)
    assert verdicts(findings) == [("race", "possible", "inside")]
    assert "split the work at the signal, or wait for its end" in str(findings)


@pytest.mark.parametrize("device", DEVICES)
def test_work_that_submits_work_and_writes_on_races_with_it(device, tmp_path):
    def nested_submit_then_write(one, two):
        array = np.zeros(4)
        one.submit(et.work(lambda: (two.submit(total, array), array.fill(1)), writes=array)).result(TIMEOUT)
        two.synchronize(TIMEOUT)

    assert verdicts(recorded(nested_submit_then_write, device, tmp_path)) == [("race", "possible", "inside")]


@pytest.mark.parametrize("device", DEVICES)
def test_what_work_did_before_is_over_at_the_signal(device, tmp_path):
    def split(one, two):
        array, other = np.zeros(4), np.zeros(4)
        signal, wait = a_queue()
        one.submit(fill, array)
        one.submit(et.work(signal, name="signal", writes=other))  # the advice: split the work at the signal
        runner = Background(one.synchronize)
        wait()
        two.submit(total, array)
        runner.result()
        two.synchronize(TIMEOUT)

    assert verdicts(recorded(split, device, tmp_path)) == []


@pytest.mark.parametrize("device", DEVICES)
def test_a_synchronize_after_such_a_signal_is_needed(device, tmp_path):
    def program(one, two):
        array, (signal, wait) = np.zeros(4), a_queue()
        one.submit(et.work(lambda: (signal(), array.fill(1)), writes=array))
        runner = Background(one.synchronize)
        wait()
        one.synchronize(TIMEOUT)
        two.submit(total, array)
        runner.result()
        two.synchronize(TIMEOUT)

    assert verdicts(recorded(program, device, tmp_path)) == []


def test_what_follows_work_that_waits_for_a_signal_is_after_what_preceded_the_signal(tmp_path):
    """A gate: the host writes while work behind it is queued, and then opens it."""

    def program(one, _):
        array, gate = np.zeros(4), threading.Event()
        one.submit(et.work(lambda: gate.wait(TIMEOUT), reads=()))
        one.submit(total, array)
        array[:] = 1
        et.host_access(writes=array)
        gate.set()
        one.synchronize(TIMEOUT)

    assert verdicts(recorded(program, "cpu", tmp_path)) == []


def test_work_that_waits_for_a_signal_may_have_read_before(tmp_path):
    def program(one, _):
        array, gate = np.zeros(4), threading.Event()
        one.submit(et.work(lambda: (gate.wait(TIMEOUT), array.sum()), reads=array))
        array[:] = 1
        et.host_access(writes=array)
        gate.set()
        one.synchronize(TIMEOUT)

    assert verdicts(recorded(program, "cpu", tmp_path)) == [("race", "possible", "inside")]


def test_who_finds_work_complete_is_after_what_its_function_has_received(tmp_path):
    def program(one, two):
        array, q = np.zeros(4), queue.Queue()

        def load():
            two.submit(fill, array)
            two.synchronize(TIMEOUT)
            q.put(1)

        thread = threading.Thread(target=load)
        thread.start()
        done = one.submit(et.work(lambda: q.get(timeout=TIMEOUT), reads=()))
        done.result(TIMEOUT)  # not the thread itself
        et.host_access(reads=array)
        thread.join(TIMEOUT)

    assert verdicts(recorded(program, "cpu", tmp_path)) == []


@pytest.mark.parametrize("device", DEVICES)
def test_work_without_any_order_races_for_certain_although_it_signals(device, tmp_path):
    def program(one, two):
        array, (signal, wait) = np.zeros(4), a_queue()
        one.submit(et.work(lambda: (signal(), array.fill(1)), writes=array))
        two.submit(total, array)  # before anyone has received the signal
        runner = Background(one.synchronize)
        wait()
        runner.result()
        two.synchronize(TIMEOUT)

    assert verdicts(recorded(program, device, tmp_path)) == [("race", "certain", "")]


def test_the_submission_of_work_precedes_what_its_function_does(tmp_path):
    """Also on a device that runs it before submit() returns."""
    order = []

    class Order(et.hooks.Observer):
        def work_submission(self, record):
            order.append(("submission", record.name))

        def host_wait(self, record):
            order.append(("begin", record.name))

        def host_signal(self, record):
            order.append(("end", record.name))

    with et.Stream.open("sim") as one, et.Stream.open("sim") as two, et.hooks.observe(Order()):
        one.submit(et.work(lambda: two.submit(et.work(int, name="inner")), name="outer")).result(TIMEOUT)
        two.synchronize(TIMEOUT)
    assert order[:4] == [("submission", "outer"), ("begin", "inside"), ("submission", "inner"), ("end", "inside")]
