"""Host memory with several owners is freed with the last of them, once, and what overlaps is one block."""

import ctypes
import gc
import random

import numpy as np
import pytest

import eventide as et
from eventide.runtime.access import lifetimes
from tests.unit.declared_work import fill, total


class Owner:
    """An owner of any piece of memory."""

    def __init__(self, start, end):
        self.__array_interface__ = {"data": (start, False), "shape": (end - start,), "typestr": "|u1", "version": 3}
        self.nbytes = end - start


class Reports(list):
    def __call__(self, address, nbytes, alive):
        self.append((address, nbytes, alive))


@pytest.fixture
def reports(monkeypatch):
    seen = Reports()
    monkeypatch.setattr(lifetimes._native, "host_memory", seen)
    lifetimes.start()
    yield seen
    lifetimes.stop()


def note(owner):
    lifetimes.note_access(owner, *(owner.__array_interface__["data"][0], owner.nbytes))


def test_memory_of_two_owners_is_freed_with_the_last(reports):
    one, two = Owner(100, 200), Owner(100, 200)
    for owner in (one, two, one):
        note(owner)
    assert reports == [(100, 100, True)]
    del owner, one
    assert reports == [(100, 100, True)]
    del two
    assert reports == [(100, 100, True), (100, 100, False)]


def test_a_wider_owner_adds_what_is_missing(reports):
    parts = [Owner(100, 110), Owner(130, 140), Owner(150, 160)]
    for part in parts:
        note(part)
    whole = Owner(90, 145)
    note(whole)
    assert reports[3:] == [(90, 10, True), (110, 20, True), (140, 5, True)]
    del part
    parts.clear()
    assert reports[6:] == [(150, 10, False)]
    del whole
    assert sorted(reports[7:]) == [
        (90, 10, False), (100, 10, False), (110, 20, False), (130, 10, False), (140, 5, False),
    ]  # fmt: skip


def test_every_piece_is_freed_exactly_once_and_while_it_is_owned_never(reports):
    draw, owners = random.Random(5), []
    for _ in range(500):
        if owners and draw.random() < 0.45:
            owners.pop(draw.randrange(len(owners)))
        else:
            start = draw.randrange(200)
            owners.append(Owner(start, start + 1 + draw.randrange(40)))
            note(owners[-1])
        alive = set()
        for address, nbytes, is_alive in reports:
            piece = set(range(address, address + nbytes))
            assert piece.isdisjoint(alive) if is_alive else piece <= alive
            alive = alive | piece if is_alive else alive - piece
        owned = {byte for owner in owners for byte in range(*span(owner))}
        assert owned <= alive
        reports[:] = [(byte, 1, True) for byte in sorted(alive)]
    owners.clear()
    assert not lifetimes._watched and not lifetimes._memory.starts


def span(owner):
    start = owner.__array_interface__["data"][0]
    return start, start + owner.nbytes


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_views_of_a_structure_are_no_memory_of_their_own(device):
    class Header(ctypes.Structure):
        _fields_ = (("size", ctypes.c_uint32 * 4), ("sum", ctypes.c_uint32 * 4))

    with et.sanitize() as findings, et.Stream.open(device) as one, et.Stream.open(device) as two:
        header = Header()
        for _ in range(3):
            one.submit(et.work(lambda: None, writes=header.size))
            two.wait_event(one.record_event())
            two.submit(et.work(lambda: None, reads=header))
            one.wait_event(two.record_event())
    assert list(findings) == []


@pytest.mark.parametrize("order", [0, 1])
def test_two_arrays_of_one_memory(order):
    """The first one may be dropped while the other still uses the memory."""
    with et.sanitize() as findings, et.Stream.open("cpu") as one, et.Stream.open("cpu") as two:
        memory = (ctypes.c_double * 8)()
        views = [np.frombuffer(memory), np.ctypeslib.as_array(memory)]
        one.submit(fill, views[order])
        two.wait_event(one.record_event())
        two.submit(total, views[1 - order]).result()
        del views[order]
        gc.collect()
        two.submit(total, views[0]).result()
        del views, memory
        gc.collect()
    assert list(findings) == []
