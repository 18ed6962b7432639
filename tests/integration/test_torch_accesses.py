"""torch's operators inside of work: what they touch is seen, and a missing wait is found without declarations."""

from __future__ import annotations

import time

import pytest

import eventide as et
from tests.helpers import TIMEOUT

pytestmark = pytest.mark.heavy
torch = pytest.importorskip("torch")


def scale(x):
    x.mul_(2)


def total(x):
    return float(x.sum())


def run(streams, first, second, *, wait):
    """The first work on one stream and the second on the other, both to their end."""
    one, two = streams
    with et.sanitize() as findings:
        done = one.submit(first)
        event = one.record_event()
        if wait:
            two.wait_event(event)
        two.submit(second).result(TIMEOUT)
        done.result(TIMEOUT)
    return findings


@pytest.mark.parametrize("wait", [False, True])
def test_a_missing_wait_is_found_without_declared_accesses(streams, wait):
    x = torch.ones(1000)
    findings = run(streams, lambda: scale(x), lambda: total(x), wait=wait)
    races = [finding for finding in findings if finding.kind == "race"]
    assert len(races) == (0 if wait else 1), findings
    assert findings.coverage.known == 2
    if races:
        names = {races[0].first.name, races[0].second.name}
        assert all("<lambda>" in name for name in names)
        assert races[0].first.nbytes == 4000


def test_halves_do_not_meet_and_readers_do_not_race(streams):
    x = torch.ones(1000)
    assert not run(streams, lambda: scale(x[:500]), lambda: scale(x[500:]), wait=False)
    assert not run(streams, lambda: total(x), lambda: total(x), wait=False)


def test_what_a_work_makes_is_its_own(streams):
    def busy():
        for _ in range(50):
            y = torch.ones(1000)
            y.add_(1).mul_(3)

    assert not run(streams, busy, busy, wait=False)


@pytest.mark.parametrize("wait", [False, True])
def test_what_an_operator_makes_is_written_by_its_work(streams, wait):
    made = []

    def make():
        made.append(torch.ones(1000) * 2)

    one, two = streams
    with et.sanitize() as findings:
        one.submit(make)
        event = one.record_event()
        while not made:
            time.sleep(0)
        if wait:
            two.wait_event(event)
        two.submit(lambda: total(made[0])).result(TIMEOUT)
        one.synchronize(TIMEOUT)
    assert [f.certainty for f in findings.of("race")] == ([] if wait else ["certain"]), findings
    assert findings.summary.endswith("2 of 2 work items had known accesses")


@pytest.mark.parametrize("wait", [False, True])
def test_two_backward_passes_that_create_one_grad_race(streams, wait):
    weights, passes = torch.ones(100, requires_grad=True), []

    def backward():
        (weights * torch.ones(100)).sum().backward()
        passes.append(1)

    one, two = streams
    with et.sanitize() as findings:
        one.submit(backward)
        event = one.record_event()
        while not passes:
            time.sleep(0)
        if wait:
            two.wait_event(event)
        two.submit(backward)
        two.synchronize(TIMEOUT)
        one.synchronize(TIMEOUT)
    certainties = {f.certainty for f in findings.of("race")}
    assert certainties == (set() if wait else {"certain"}), findings


def test_work_that_takes_a_result_inside_is_after_it(streams):
    one, two = streams
    with et.sanitize() as findings:
        made = one.submit(lambda: torch.ones(100) + 1)
        two.submit(lambda: total(made.result(TIMEOUT))).result(TIMEOUT)
    assert not findings, findings


def test_memory_that_is_used_again_for_another_tensor_is_no_race(streams):
    one, two = streams
    with et.sanitize() as findings:
        for stream in (one, two) * 20:
            x = torch.ones(1000)
            stream.submit(scale, x).result(TIMEOUT)
            del x
    assert not [finding for finding in findings if finding.kind == "race"]


def test_a_declared_work_that_follows_an_undeclared_one_is_in_order(streams):
    one, two = streams
    x = torch.ones(1000)
    read = et.work(name="read", reads=[x])(lambda: total(x))
    with et.sanitize() as findings:
        gate = et.Event()
        one.submit(scale, x)
        gate.record(one)
        two.wait_event(gate)
        two.submit(read).result(TIMEOUT)
    assert not findings
    with et.sanitize() as findings:
        first = one.submit(scale, x)
        two.submit(read).result(TIMEOUT)
        first.result(TIMEOUT)
    assert [finding.kind for finding in findings] == ["race"]


def test_training_in_work_gives_the_same_numbers(streams):
    def train():
        torch.manual_seed(1)
        layer = torch.nn.Linear(8, 8)
        optimizer = torch.optim.SGD(layer.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            layer(torch.ones(4, 8)).square().mean().backward()
            optimizer.step()
        return layer.weight.detach().clone()

    plain = streams[0].submit(train).result(TIMEOUT)
    with et.sanitize() as findings:
        watched = streams[0].submit(train).result(TIMEOUT)
    assert torch.equal(plain, watched)
    assert not findings


def test_streams_are_as_they_were_after_the_sanitizer():
    before = et.Stream.submit
    with et.sanitize(), et.sanitize():
        assert et.Stream.submit is not before
    assert et.Stream.submit is before


def test_the_gpu_hooks_of_torch_feed_ours():
    from eventide.integrations.torch import mirror_gpu_trace

    traced: list[tuple[object, ...]] = []
    with (
        et.hooks.on("event_record", lambda *reported: traced.append(("record", *reported))),
        et.hooks.on("memory_allocation", lambda *reported: traced.append(("memory", *reported))),
        et.hooks.on("device_synchronization", lambda *reported: traced.append(("device", *reported))),
    ):
        end = mirror_gpu_trace()
        from torch.cuda import _gpu_trace as cuda

        registries = {name.removeprefix("CUDA"): one for name, one in vars(cuda).items() if name.endswith("Callbacks")}
        registries["EventRecordCallbacks"].fire_callbacks(7, 9)
        registries["MemoryAllocationCallbacks"].fire_callbacks(4096)
        registries["DeviceSynchronizationCallbacks"].fire_callbacks()
        mirror_gpu_trace()
        registries["EventRecordCallbacks"].fire_callbacks(8, 9)
        end()
        registries["EventRecordCallbacks"].fire_callbacks(9, 9)
    assert traced == [("record", 7, 9), ("memory", 4096), ("device",), ("record", 8, 9)]
