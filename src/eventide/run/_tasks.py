"""Tasks of asyncio as spans under their names, from creation to end, on a track of their own.

Event loops of asyncio create tasks with BaseEventLoop.create_task; that of other packages, such as uvloop, have their
own. A callback of the task records it: it looks at the error without marking it as retrieved, so that asyncio reports
an error that was never retrieved as it does without us.
"""

from __future__ import annotations

import functools
import json
import sys
import weakref
from typing import Any

from eventide import _native
from eventide._util.log import Log
from eventide._util.on_import import when_imported
from eventide._util.subscription import Subscription
from eventide.recording import before_stop

TRACK = '{"kind": "other", "name": "asyncio tasks"}'
_log = Log("eventide.run")
_pending: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # tasks, and when they were created
_subscriptions: list[Subscription] = []


def trace_tasks() -> None:
    """Record the tasks that are created from now on, once the program has imported asyncio."""
    when_imported("asyncio.base_events", _patch)


def _patch() -> None:
    loop = sys.modules["asyncio.base_events"].BaseEventLoop
    original = loop.create_task

    @functools.wraps(original)
    def create_task(*args: Any, **kwargs: Any) -> Any:
        created = _native.now_ns()
        task = original(*args, **kwargs)
        _follow(task, created)
        return task

    loop.create_task = create_task
    _subscriptions.append(before_stop(_record_pending))


def _follow(task: Any, created: int) -> None:
    try:
        _pending[task] = created
        task.add_done_callback(_ended)
    except Exception:  # noqa: BLE001 - a factory of the program may make anything; never into the program
        _log.exception("a task of asyncio was not recorded, the program continues")


def _ended(task: Any) -> None:
    created = _pending.pop(task, None)
    if created is not None:
        _record(task, created, _outcome(task))


def _outcome(task: Any) -> str | None:
    if task.cancelled():
        return "cancelled"
    error = getattr(task, "_exception", None)
    return None if error is None else type(error).__name__


def _record_pending() -> None:
    """The recording ends: what still runs is recorded until now."""
    for task, created in list(_pending.items()):
        _record(task, created, "pending")
    _pending.clear()


def _record(task: Any, created: int, outcome: str | None) -> None:
    try:
        about = {"coroutine": getattr(task.get_coro(), "__qualname__", None)}
        name, args = task.get_name(), json.dumps({**about, **({"ended": outcome} if outcome else {})})
        _native.record_span(TRACK, name, "task", created, _native.now_ns(), args, 0, 0, 0, 0)
    except Exception:  # noqa: BLE001 - never into the program
        _log.exception("a task of asyncio was not recorded, the program continues")
