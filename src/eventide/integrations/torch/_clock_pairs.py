"""The clock of this process against that of rank 0, where they are different clocks: times of messages, as in NTP.

CLOCK_MONOTONIC is one clock for all processes of a host, so a job of one host needs no messages. In a larger one rank 0
answers questions over UDP; its address is in the store of torch.distributed. The other ranks ask when their process
group is ready and when their recording ends, and keep what they measured in the recording.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
from datetime import timedelta
from typing import Any

from eventide import _native
from eventide.errors import DeviceError
from eventide.recording import clock_identity, note

_KEY = "eventide/clock"
_QUESTIONS = 16  # each time; the quickest answers bound best
_KEPT = 4
_PATIENCE_MS = 100
_STORE_SECONDS = 1  # rank 0 puts its address there when it has left init_process_group() as well
_log = logging.getLogger("eventide.profiler")


class ClockPairs:
    """From the first process group of this process to close()."""

    def __init__(self) -> None:
        self._server: Any = None
        self._asked: dict[str, Any] | None = None
        self._pairs: list[tuple[int, int, int, int]] = []

    def open(self, store: Any, rank: int, world_size: int) -> None:
        """The process group is ready: answer as rank 0, else ask for the first time."""
        if self._server is not None or self._asked is not None or on_one_host(world_size):
            return
        if rank == 0:
            self._answer(store)
        else:
            self._find(store)
            self.measure()

    def _answer(self, store: Any) -> None:
        token, host = secrets.token_hex(8), os.environ.get("MASTER_ADDR") or socket.gethostname()
        try:
            self._server = _native.ClockServer(host, token)
        except DeviceError:  # the address is not one of this host's own: a name for it
            self._server = _native.ClockServer("0.0.0.0", token)  # noqa: S104  (the other hosts must reach it)
        about = {"host": host, "port": self._server.port, "token": token, "clock": clock_identity()}
        store.set(_KEY, json.dumps(about))

    def _find(self, store: Any) -> None:
        self._asked = {}
        try:
            store.wait([_KEY], timedelta(seconds=_STORE_SECONDS))
        except Exception as error:  # noqa: BLE001 - each store has its own; rank 0 is not recorded
            _log.debug("rank 0 answers no questions for its clock: %s", error)
            return
        about = json.loads(store.get(_KEY))
        if about["clock"] != clock_identity():
            self._asked = about

    def measure(self) -> None:
        """Ask, and keep the quickest answers in the recording; no effect without another clock to ask for."""
        if not self._asked:
            return
        where = (self._asked["host"], self._asked["port"], self._asked["token"])
        found = _native.ask_clock(*where, _QUESTIONS, _PATIENCE_MS)
        found.sort(key=lambda pair: (pair[3] - pair[0]) - (pair[2] - pair[1]))
        self._pairs += found[:_KEPT]
        if self._pairs:
            note({"clock_pairs": {"rank": 0, "pairs": self._pairs}})

    def close(self) -> None:
        """Ask for the last time; rank 0 stops answering when its process ends, since others may end later."""
        self.measure()
        self._asked = {}


def on_one_host(world_size: int) -> bool:
    """Whether the launcher says that all ranks are on this host."""
    return os.environ.get("LOCAL_WORLD_SIZE") == str(world_size)
