"""A recording with torch traced in it, and what came of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Self

import eventide as et
from eventide.integrations.torch._kineto import Wanted
from eventide.integrations.torch._session import Session
from tests.helpers import TIMEOUT


class Traced:
    """A recording with a session in it."""

    def __init__(self, **wanted: Any) -> None:
        self.recorder = et.Recorder()
        self._wanted = Wanted(**wanted)

    def __enter__(self) -> Self:
        self.recorder.start()
        self.session = Session(self._wanted)
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()
        self.trace = self.recorder.stop()
        self.trace.check()

    def rows(self, category: str) -> list[dict[str, Any]]:
        tracks = self.trace.tracks.to_pylist()
        rows = [row for row in self.trace.spans.sort_by("start").to_pylist() if row["category"] == category]
        return [{**row, "where": tracks[row["track"]]} for row in rows]

    def names(self, category: str = "op") -> list[str]:
        return [row["name"] for row in self.rows(category)]

    @property
    def account(self) -> dict[str, Any]:
        return self.trace.metadata["torch"]


def in_thread(act: Callable[[], object]) -> int:
    """Run it on a thread of its own, whose number comes back."""
    found: list[int] = []

    def run() -> None:
        found.append(threading.get_native_id())
        act()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(TIMEOUT)
    return found[0]
