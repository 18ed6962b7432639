"""The order oracle: hand-made logs, and Hypothesis against the slow way of finding every order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.order import Entry, linear_extensions, missing, predecessors, reachable_orders, violation
from tests.reference.stream_model import Model, State


def _log(*entries: int) -> list[Entry]:
    """3 is the start of work 3, -3 its end."""
    return [("start" if node > 0 else "end", abs(node)) for node in entries]


def _forked() -> tuple[Model, int, int, int]:
    model = Model()
    a, b, event = model.stream(), model.stream(), model.event()
    first = model.submit(a)
    model.record(event, a)
    second = model.submit(a)
    model.wait(event, b)
    third = model.submit(b)
    return model, first, second, third


def test_work_behind_a_wait_may_overlap_what_the_event_did_not_cover() -> None:
    model, first, second, third = _forked()
    before = predecessors(model)
    assert violation(before, _log(first, -first, second, third, -third, -second)) is None
    assert violation(before, _log(first, -first, third, -third, second, -second)) is None


def test_a_log_against_the_order_is_named() -> None:
    model, first, second, third = _forked()
    before = predecessors(model)
    assert (
        violation(before, _log(first, third, -first, -third))
        == f"entry 1: work {third} started before the end of [{first}]"
    )
    assert (
        violation(before, _log(third, -third, first, -first))
        == f"entry 0: work {third} started before the end of [{first}]"
    )
    assert (
        violation(before, _log(first, second, -first)) == f"entry 1: work {second} started before the end of [{first}]"
    )
    assert violation(before, _log(first, -first, first)) == f"entry 2: work {first} started twice"
    assert violation(before, _log(first, -first, -first)) == f"entry 2: work {first} ended without a start, or twice"


def test_missing_lists_the_work_that_must_be_in_the_log() -> None:
    model, first, _second, third = _forked()
    model.settle()
    marker = model.marker_of(0)
    assert marker is not None
    assert missing([marker.node], model, []) == {first}
    assert missing([third], model, _log(first, -first, third)) == {third}
    assert missing([third], model, _log(first, -first, third, -third)) == frozenset()


operations = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("record"), st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.just("wait"), st.integers(0, 2), st.integers(0, 1)),
    ),
    max_size=7,
)


@settings(max_examples=100, deadline=None)
@given(operations)
def test_every_order_that_can_happen_is_a_linear_extension_and_the_other_way_round(
    program: list[tuple[str, int, int]],
) -> None:
    model = Model()
    for _ in range(3):
        model.stream()
    for _ in range(2):
        model.event()
    for verb, stream, argument in program:
        if verb == "submit":
            model.submit(stream, raises=bool(argument) and stream == 0)
        elif verb == "record":
            model.record(argument, stream)
        else:
            model.wait(argument, stream)
    orders = reachable_orders(model.copy())
    model.settle()
    ran = frozenset(node for node, work in model.works.items() if work.state in {State.DONE, State.FAILED})
    before = predecessors(model)
    assert orders == set(linear_extensions(before, ran))
    for order in orders:
        assert violation(before, [entry for node in order for entry in _log(node, -node)]) is None
