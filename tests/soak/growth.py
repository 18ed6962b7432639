"""What a process holds: it must not grow from round to round."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
import time
from dataclasses import dataclass, fields
from pathlib import Path

import eventide as et
from eventide.backends.registry import BACKENDS

TASKS = Path("/proc/self/task")


def thread_states() -> int:
    """PyThreadStates of this interpreter."""
    api = ctypes.pythonapi
    api.PyInterpreterState_Head.restype = api.PyInterpreterState_ThreadHead.restype = ctypes.c_void_p
    api.PyThreadState_Next.restype = ctypes.c_void_p
    state, count = api.PyInterpreterState_ThreadHead(ctypes.c_void_p(api.PyInterpreterState_Head())), 0
    while state:
        count += 1
        state = api.PyThreadState_Next(ctypes.c_void_p(state))
    return count


def spare_threads() -> int:
    """Threads of closed streams that torch's stand-in keeps for reuse: as many as were ever in use at once."""
    spare_streams = getattr(BACKENDS.get("torch:mtia"), "spare_streams", lambda: 0)
    return int(spare_streams())


@dataclass(frozen=True)
class Held:
    """One measurement."""

    threads: int
    states: int
    streams: int
    blocks: int
    rss: int  # bytes

    @classmethod
    def now(cls) -> Held:
        gc.collect()
        return cls(
            threads=len(list(TASKS.iterdir())) - spare_threads(),
            states=thread_states(),
            streams=sum(issubclass(type(thing), et.Stream) for thing in gc.get_objects()),
            blocks=sys.getallocatedblocks(),
            rss=int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize(),
        )

    @classmethod
    def settled(cls, before: Held | None) -> Held:
        """What ends, ends soon: up to two seconds until there is no more than before."""
        deadline = time.monotonic() + 2.0
        held = cls.now()
        while before and held.exceeds(before) and time.monotonic() < deadline:
            time.sleep(0.02)
            held = cls.now()
        return held

    def exceeds(self, before: Held) -> bool:
        """Whether there are more threads, thread states or streams."""
        return self.threads > before.threads or self.states > before.states or self.streams > before.streams

    def __sub__(self, other: Held) -> dict[str, int]:
        return {one.name: getattr(self, one.name) - getattr(other, one.name) for one in fields(self)}
