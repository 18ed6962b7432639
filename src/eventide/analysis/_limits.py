"""Limits on a comparison, for a check in CI: ``wall>5%``, ``idle>2ms``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median

from eventide._util import format as f
from eventide.analysis._compare import Comparison
from eventide.errors import UsageValueError

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_LIMIT = re.compile(r"\s*([a-z][a-z +]*?)\s*>\s*(\d+(?:\.\d+)?)\s*(%|ns|us|ms|s)\s*", re.IGNORECASE)
_FORM = "write it as 'wall>5%', 'step>2%' or 'idle>2ms'"


@dataclass(frozen=True)
class Limit:
    """How much more one quantity may take in the second trace: a share of the first one's, or nanoseconds."""

    quantity: str
    amount: float
    unit: str

    @classmethod
    def parse(cls, text: str) -> Limit:
        """UsageValueError for text that is not a limit."""
        found = _LIMIT.fullmatch(text)
        if found is None:
            raise UsageValueError(f"{text!r} is not a limit; {_FORM}")
        return cls(" ".join(found[1].lower().split()), float(found[2]), found[3].lower())

    def exceeded(self, result: Comparison) -> str | None:
        """The sentence that says by how much, or None within the limit; UsageValueError for an unknown quantity."""
        before, after = self._values(result)
        allowed = before * self.amount / 100 if self.unit == "%" else self.amount * _UNITS[self.unit]
        if after - before <= allowed:
            return None
        share = f" ({(after - before) / before:+.1%})" if before else ""
        limit = f"{self.amount:g} {self.unit}"
        return f"{self.quantity} went from {f.time(before)} to {f.time(after)}{share}; the limit is {limit} more"

    def _values(self, result: Comparison) -> tuple[int, int]:
        if self.quantity == "wall":
            return result.wall_a, result.wall_b
        if self.quantity == "step":
            return _median_steps(result)
        if self.quantity in {"idle", "busy"}:
            parts = [each for each in result.parts if each.category == self.quantity]
        else:
            parts = [each for each in result.parts if each.name == self.quantity]
        known = sorted({"wall", "step", "idle", "busy", *(each.name for each in result.parts)})
        if not parts and self.quantity not in known:
            raise UsageValueError(f"there is no {self.quantity!r} in this comparison; there is {', '.join(known)}")
        return sum(each.a for each in parts), sum(each.b for each in parts)


def _median_steps(result: Comparison) -> tuple[int, int]:
    before = [pair.a.duration for pair in result.steps if pair.a is not None]
    after = [pair.b.duration for pair in result.steps if pair.b is not None]
    if not before or not after:
        which = "first" if not before else "second"
        raise UsageValueError(f"the {which} trace has no steps, so 'step' cannot be limited; use 'wall'")
    return int(median(before)), int(median(after))
