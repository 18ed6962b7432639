"""What a piece of code costs: how often it blocks the host, how much it allocates, how long its streams are idle."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

from eventide._util.internal_frames import is_internal_frame
from eventide.errors import UsageTypeError
from eventide.hooks import HookRecord, Observer, Subscription, observe


class Budget(Observer):
    """Observes the hooks while its ``with`` block runs; ``complaints()`` compares with limits.

    `syncs`: blocking synchronizations of events, streams and devices. `peak_bytes`: the most memory of devices that was
    allocated in the block and not yet freed. `idle_pct`: of the time from the first start of work to the last end, the
    part in which none ran. Work that is still running at the end counts for nothing: synchronize first.
    """

    def __init__(self) -> None:
        self.places: Counter[str] = Counter()  # of the synchronizations
        self.peak_bytes = 0
        self._live: dict[int, int] = {}  # bytes by address
        self._spans: list[tuple[int, int]] = []
        self._lock = threading.Lock()  # hooks are also called on the streams' threads
        self._subscription: Subscription | None = None

    def __enter__(self) -> Self:
        self._subscription = observe(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._subscription is not None:
            self._subscription.close()

    @property
    def syncs(self) -> int:
        """How often the host blocked."""
        return sum(self.places.values())

    @property
    def idle_pct(self) -> float:
        """0 to 100."""
        with self._lock:
            spans = sorted(self._spans)
        if not spans:
            return 0.0
        begin = covered = spans[0][0]
        busy = 0
        for start, end in spans:
            busy += max(0, end - max(start, covered))
            covered = max(covered, end)
        return 100.0 * (1 - busy / (covered - begin)) if covered > begin else 0.0

    def complaints(
        self, max_syncs: int | None = None, max_peak_bytes: int | None = None, max_idle_pct: float | None = None
    ) -> list[str]:
        """A sentence for each limit that was passed."""
        limits = {"max_syncs": max_syncs, "max_peak_bytes": max_peak_bytes, "max_idle_pct": max_idle_pct}
        for name, limit in limits.items():
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float)):
                raise UsageTypeError(f"a budget is a number, not {type(limit).__name__}; give {name} one")
        out = []
        if max_syncs is not None and self.syncs > max_syncs:
            where = ", ".join(f"{place} ({count})" for place, count in self.places.most_common(5))
            out.append(f"max_syncs: the host blocked {self.syncs} times, {max_syncs} are allowed: {where}")
        if max_peak_bytes is not None and self.peak_bytes > max_peak_bytes:
            out.append(
                f"max_peak_bytes: {self.peak_bytes:,} bytes were allocated at once, {max_peak_bytes:,} are allowed"
            )
        if max_idle_pct is not None and self.idle_pct > max_idle_pct:
            out.append(f"max_idle_pct: no work ran for {self.idle_pct:.1f} % of the time, {max_idle_pct} % are allowed")
        return out

    def stream_synchronization(self, record: HookRecord) -> None:
        """The host is about to block."""
        own = [frame for frame in record.stack if not is_internal_frame(frame[0])]
        file, line, _ = own[0] if own else ("?", 0, "")
        with self._lock:
            self.places[f"{Path(file).name}:{line}"] += 1

    event_synchronization = device_synchronization = stream_synchronization

    def memory_allocation(self, record: HookRecord) -> None:
        """Memory of a device."""
        with self._lock:
            self._live[record.handle] = record.bytes
            self.peak_bytes = max(self.peak_bytes, sum(self._live.values()))

    def memory_deallocation(self, record: HookRecord) -> None:
        """Only what was allocated in the block counts."""
        with self._lock:
            self._live.pop(record.handle, None)

    def work_completion(self, record: HookRecord) -> None:
        """Work that ran."""
        if record.outcome in {"ok", "failed"}:
            with self._lock:
                self._spans.append((record.start_ns, record.end_ns))
