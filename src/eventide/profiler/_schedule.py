"""Which steps of a long run are recorded: the words and the counting of torch.profiler.schedule."""

from __future__ import annotations

import enum
from collections.abc import Callable

from eventide.errors import UsageTypeError, UsageValueError


class ProfilerAction(enum.Enum):
    """What the profiler does during one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


Schedule = Callable[[int], ProfilerAction]


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Schedule:
    """Skip some steps, then in cycles: wait, warm up (recorded and thrown away), record. repeat=0: until the end.

    With ``skip_first_wait=1`` the first cycle has no wait, for long waits with an early first result.
    """
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    if isinstance(skip_first_wait, bool):
        skip_first_wait = int(skip_first_wait)
    for name, number in {**given, "skip_first_wait": skip_first_wait}.items():
        if not isinstance(number, int) or isinstance(number, bool):
            raise UsageTypeError(f"{name} must be a number of steps, not {type(number).__name__}")
        if number < (1 if name == "active" else 0):
            raise UsageValueError(f"{name} cannot be {number} steps")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step >= 0 and skip_first_wait:
            step += wait
        if step < 0 or (repeat and step >= repeat * cycle):
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(step: int) -> ProfilerAction:  # noqa: ARG001  (the signature of a schedule)
    """The schedule of a profiler without one: everything, until it is stopped."""
    return ProfilerAction.RECORD


def ask(given: Callable[[int], object], step: int) -> ProfilerAction:
    """The action of a schedule, ours or torch's."""
    action = given(step)
    if isinstance(action, ProfilerAction):
        return action
    name = getattr(action, "name", None)
    if name in ProfilerAction.__members__:  # torch.profiler.ProfilerAction
        return ProfilerAction[str(name)]
    raise UsageTypeError(f"the schedule gave {action!r} for step {step}; a schedule gives a ProfilerAction")
