"""The sanitizer on torch's CPU tensors."""

import gc

import pytest

import eventide as et
from eventide.runtime.access import lifetimes
from tests.helpers import TIMEOUT

pytestmark = pytest.mark.heavy
torch = pytest.importorskip("torch")


@et.work(name="scale", reads="x", writes="x")
def scale(x):
    x.mul_(2)


@et.work(name="norm", reads="x")
def norm(x):
    return float(x.norm())


def test_a_race_on_overlapping_slices_is_found_and_the_advice_removes_it(streams):
    one, two = streams
    x = torch.ones(100)
    with et.sanitize() as findings:
        one.submit(scale, x[:60])
        two.submit(norm, x[40:])
    (race,) = findings
    assert (race.kind, race.first.name, race.second.name) == ("race", "scale", "norm")
    assert (race.second.address - x.data_ptr(), race.second.nbytes) == (160, 80)
    with et.sanitize() as findings:
        one.submit(scale, x[:60])
        two.wait_event(one.record_event())
        two.submit(norm, x[40:])
    assert findings.verdict == "clean"


def test_strided_views_that_miss_each_other_do_not_race(streams):
    one, two = streams
    x = torch.ones(64, 64)
    with et.sanitize() as findings:
        one.submit(scale, x[:, :32])
        two.submit(scale, x[:, 32:])
        one.submit(scale, x.t()[:32])  # the same columns, seen from the other side
    assert list(findings) == []
    with et.sanitize() as findings:
        one.submit(scale, x[::2])
        two.submit(norm, x[2:3])
    assert len(findings) == 1


def test_tensors_that_need_gradients_and_lists_of_tensors_are_memory(streams):
    one, two = streams
    layer = torch.nn.Linear(4, 4)

    @et.work(reads="parameters")
    def look(parameters):
        return None

    with et.sanitize() as findings:
        one.submit(look, list(layer.parameters()))
        two.submit(et.work(int, writes=[layer.weight]))
    assert [f.kind for f in findings] == ["race"]
    assert findings.coverage.known == 2


def test_a_tensor_at_the_address_of_one_that_is_gone_is_another_tensor(streams):
    with et.sanitize() as findings:
        for i in range(60):
            streams[i % 2].submit(scale, torch.ones(5000)[10:]).result(TIMEOUT)
            streams[i % 2].submit(scale, torch.ones(5000))
    assert list(findings) == []


def test_memory_lives_as_long_as_any_tensor_has_it():
    x = torch.ones(100)
    view = x[10:]
    with et.sanitize():
        et.host_access(reads=view)
        watched = dict(lifetimes._watched)
        assert len(watched) == 1
        del x
        gc.collect()
        assert lifetimes._watched.keys() == watched.keys()
        del view
        gc.collect()
        assert not lifetimes._watched
