"""A backend's clock on the host's: an interval in which the offset must lie, never a guess without its error.

What is known of an event of a backend: it began after the profile did, and it ended before it was reported. So each
narrows the offset: profile_start - start <= offset <= reported - end. A time that the backend took between two looks at
the host's clock narrows it further. All in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NEVER = 1 << 62


@dataclass(frozen=True)
class ClockModel:
    """host = backend + offset, wrong by at most `error` either way; None: it could not be told."""

    offset: int
    error: int | None
    events: int
    consistent: bool = True
    """False: no offset fits all that was told; the clock drifts, or the times are not of one clock."""


def fit(
    profile_start: int,
    events: Iterable[tuple[int, int, int]],
    pairs: Iterable[tuple[int, int, int]] = (),
) -> ClockModel:
    """Fit events (start, end, reported) and pairs (host before, backend's time, host after)."""
    least, most, count = -NEVER, NEVER, 0
    for start, end, reported in events:
        count += 1
        least = max(least, profile_start - start)
        most = min(most, reported - end)
    paired = False
    for before, theirs, after in pairs:
        paired = True
        least = max(least, before - theirs)
        most = min(most, after - theirs)
    if most == NEVER:
        return ClockModel(0, None, count)
    if least > most:
        return ClockModel(most, None, count, consistent=False)
    # Reports follow at once as a rule, so without pairs the upper end is the better estimate.
    offset = (least + most) // 2 if paired else most
    return ClockModel(offset, max(offset - least, most - offset), count)
