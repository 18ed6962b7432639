"""Child processes of a recorded program are recorded too, each into a file of its own, and their lifetimes are spans.

A forked child starts its own recording when `fork` returns in it. A Python program that is started gets the recording
through its environment (_environment). Any other program is a span only.
"""

from __future__ import annotations

import json
import os
import sys
from _thread import get_ident
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eventide import _native
from eventide.recording import identity, is_child
from eventide.run import _environment as environment

if TYPE_CHECKING:
    from eventide.run._settings import Settings

# MiB of the recorder's buffer, which the system clears at the start: 1 ms each. A ring is what is kept of a process.
_PROGRAM, _FORKED = 8, 4
_LONGEST = 200  # characters of a command line that are kept


def child_path(folder: str) -> str:
    """A new name for the recording of this process, in the folder for the children."""
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - pathlib would slow down the start
    rank = identity()["rank"]
    stem = f"{folder}/{'child' if rank is None else f'rank{rank}'}-{os.getpid()}"
    number, path = 1, f"{stem}.eventide"
    while os.path.exists(path):  # noqa: PTH110 - as above. The process has become another program, or its id is reused
        number += 1
        path = f"{stem}_{number}.eventide"
    return path


class Children:
    """Follows the children of this process; `restart(settings)` starts a recording in a forked one."""

    def __init__(self, settings: Settings, restart: Callable[[Settings], None], stop: Callable[[], None]) -> None:
        self._settings, self._restart, self._stop = settings, restart, stop
        self._started: dict[int, int] = {}  # by thread: when its last call began
        self._pass_on()
        import _posixsubprocess  # not subprocess, which is larger: it takes its function from here

        for name in ("fork", "forkpty"):
            environment.intercept(os, name, self._before_fork, self._forked)
        environment.intercept(_posixsubprocess, "fork_exec", self._before_fork_exec, self._executed)
        environment.intercept(sys.modules.get("subprocess"), "_fork_exec", self._before_fork_exec, self._executed)
        for name in ("posix_spawn", "posix_spawnp"):
            environment.intercept(os, name, self._before_spawn, self._spawned)
        environment.intercept(os, "execve", self._before_execve, None)
        for name in ("execv", "system"):
            environment.intercept(os, name, self._before_inheriting, None)
        environment.intercept(os, "_exit", self._before_exit, None)
        for name in ("waitpid", "wait", "wait3", "wait4"):
            environment.intercept(os, name, None, self._reaped)

    def _pass_on(self) -> None:
        """What the children get: these settings, and the rank of this process."""
        process = identity()
        rank = process["rank"] if process["rank"] is not None else process["of_rank"]
        buffer = self._settings.buffer_mib if self._settings.ring else _PROGRAM
        ours = self._settings._replace(
            path="",
            dump_on="",
            hang_seconds=None,
            buffer_mib=buffer,
            parent=os.getpid(),
            of_rank=rank,
        )
        self._passed = ours
        self._variables = ours.to_environment()
        environment.put(self._variables)

    def _begin(self, _args: Any, _kwargs: Any) -> None:
        self._started[get_ident()] = _native.now_ns()

    def _before_fork(self, *_: Any) -> None:
        self._begin(None, None)
        if sys.version_info >= (3, 12):
            _expect_warning()

    def _forked(self, result: Any, _args: Any) -> None:
        if sys.version_info >= (3, 12):
            _forget_warning()
        pid = result[0] if isinstance(result, tuple) else result
        if pid == 0:
            self._after_fork()
        elif pid is not None:
            self._born(pid, "fork", None)

    def _after_fork(self) -> None:
        """In the child: the recording belongs to the parent."""
        is_child("fork", self._passed.of_rank)
        self._settings = self._passed
        self._pass_on()
        buffer = self._passed.buffer_mib if self._passed.ring else _FORKED
        path = child_path(self._passed.children)
        self._restart(self._passed._replace(path=path, torch=(), buffer_mib=buffer))

    def _before_fork_exec(self, args: tuple[Any, ...], _kwargs: Any) -> tuple[Any, ...]:
        self._begin(None, None)
        if environment.is_helper(args[0]):
            return (*args[:5], [key + b"=" + value for key, value in os.environb.items()], *args[6:])
        return (*args[:5], environment.added_to_list(args[5], self._variables), *args[6:])

    def _executed(self, pid: int | None, args: tuple[Any, ...]) -> None:
        if pid is not None and not environment.is_helper(args[0]):
            self._born(pid, "program", args[0])

    def _before_spawn(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        self._begin(None, None)
        given = args[2] if len(args) > 2 else kwargs.get("env")
        if given is None:  # from 3.14 on: that of the process
            environment.refresh(self._variables)
        elif len(args) > 2:
            return (*args[:2], environment.added(given, self._variables), *args[3:])
        else:
            kwargs["env"] = environment.added(given, self._variables)
        return None

    def _spawned(self, pid: int | None, args: tuple[Any, ...]) -> None:
        if pid is not None:
            self._born(pid, "program", args[1] if len(args) > 1 else ())

    def _before_execve(self, args: tuple[Any, ...], _kwargs: Any) -> tuple[Any, ...] | None:
        return (*args[:2], environment.added(args[2], self._variables)) if len(args) == 3 else None

    def _before_inheriting(self, *_: Any) -> None:
        environment.refresh(self._variables)

    def _before_exit(self, *_: Any) -> None:
        self._stop()

    def _born(self, pid: int, how: str, arguments: Any) -> None:
        command = _command(arguments)
        name = os.path.basename(command.split(" ", 1)[0]) if command else "fork"  # noqa: PTH119 - as above
        about = json.dumps({"started_by": how, "command": command})[1:-1]
        _native.child_started(pid, self._started[get_ident()], name, about)

    def _reaped(self, result: Any, _args: Any) -> None:
        if isinstance(result, tuple) and len(result) > 1 and result[0]:
            _native.child_reaped(result[0], os.waitstatus_to_exitcode(result[1]))


def _command(arguments: Any) -> str:
    """The command line, shortened."""
    try:
        return " ".join(os.fsdecode(word) for word in arguments or ())[:_LONGEST]
    except TypeError:
        return ""


# From 3.12 on, fork() warns if the process has several threads. It counts ours, too: without threads of its own, the
# program gets no warning.
_filter: list[Any] = []


def silence_fork_warnings() -> None:
    """For a program whose children are not followed."""
    for name in ("fork", "forkpty"):
        environment.intercept(os, name, lambda *_: _expect_warning(), lambda *_: _forget_warning())


def _expect_warning() -> None:
    import warnings

    threading = sys.modules.get("threading")
    if threading is None or threading.active_count() <= 1:
        warnings.filterwarnings("ignore", r"This process \(pid=", DeprecationWarning)
        _filter.append(warnings.filters[0])


def _forget_warning() -> None:
    import warnings

    while _filter:
        one = _filter.pop()
        if one in warnings.filters:
            warnings.filters.remove(one)  # type: ignore[attr-defined]
            warnings._filters_mutated()  # type: ignore[attr-defined]  # noqa: SLF001 - as catch_warnings does
