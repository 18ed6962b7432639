"""max_pending: submit blocks while so many are queued, lets other threads run, and loses or reorders nothing."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eventide as et
from tests.helpers import Background, blocked_in
from tests.property.device_under_test import DEVICE, GATES, LIMIT, examples

pytestmark = pytest.mark.skipif(not GATES, reason="work does not run on threads of the device's own")


@examples(40)
@given(most=st.integers(1, 4), fill=st.integers(0, 4), extra=st.integers(0, 3))
def test_submit_blocks_exactly_while_the_queue_is_full(most: int, fill: int, extra: int) -> None:
    stream = et.Stream(DEVICE, max_pending=most)
    gate, entered = threading.Event(), threading.Event()
    ran: list[str] = []

    def hold() -> None:
        entered.set()
        assert gate.wait(LIMIT)

    try:
        first = stream.submit(hold)
        assert entered.wait(LIMIT)
        queued = min(fill, most)
        futures = [stream.submit(ran.append, f"queued {number}") for number in range(queued)]
        assert stream.pending == queued
        calls = [_submit_elsewhere(stream, ran, f"extra {number}") for number in range(extra)]
        stuck = max(0, queued + extra - most)
        assert sum(not call.ended for call in calls) >= stuck
        assert stream.pending <= most
        gate.set()
        futures += [call.result() for call in calls]
        for future in (first, *futures):
            future.result(LIMIT)
        assert ran[:queued] == [f"queued {number}" for number in range(queued)]
        assert sorted(ran[queued:]) == [f"extra {number}" for number in range(extra)]
    finally:
        gate.set()
        stream.close(LIMIT)


def _submit_elsewhere(stream: et.Stream, ran: list[str], name: str) -> Background[et.Future]:
    return blocked_in(lambda: stream.submit(ran.append, name))
