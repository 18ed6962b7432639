"""What a profile was told and could not keep, by reason."""

from __future__ import annotations

import logging
import threading

_log = logging.getLogger("eventide.profiler")
_SAID = {
    "after disable": "a backend's event came after the profile was stopped; such are dropped and counted",
    "before start": "a backend's event came before the profile was started; such are dropped and counted",
}


class Drops(dict[str, int]):
    """Counts by reason. The same object is in the result, so that what comes late is counted there too."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def add(self, reason: str, count: int = 1) -> None:
        """Count; what points at a mistake is said once."""
        with self._lock:
            first = reason not in self
            self[reason] = self.get(reason, 0) + count
        if first and reason in _SAID:
            _log.warning("%s", _SAID[reason])
