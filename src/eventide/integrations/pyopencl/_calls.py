"""Wrappers of pyopencl's calls: report before and after; results and exceptions are unchanged."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from typing import Any

import pyopencl as cl

from eventide.compiling import CallbackTrigger, Compile, callback_handler
from eventide.hooks import feed
from eventide.integrations._patch import guarded
from eventide.integrations.pyopencl import _memory as memory
from eventide.integrations.pyopencl import _times as times
from eventide.integrations.pyopencl._commands import Description
from eventide.integrations.pyopencl._queues import (
    Dropped,
    Known,
    Queue,
    Sync,
    keep_event,
    known_event,
    queue_of,
    sync_of,
)

Call = Callable[..., Any]
_COMPLETE = int(cl.command_execution_status.COMPLETE)
_builds = itertools.count(1)


class _Command:
    """A command that is being enqueued."""

    __slots__ = ("before", "known", "queue", "sync", "work")

    def __init__(self, queue: Queue, command: Description) -> None:
        stream = queue.stream
        queue.wait(command.wait_for)
        self.queue = queue
        self.work = 0
        # After a wait for an unknown event, a marker is recorded as work: it has a duration.
        name = command.name or ("marker" if queue.in_order and not queue.clear else "")
        if name:
            reads, writes = (command.reads, command.writes) if queue.clear else (None, None)
            self.work = stream.submit(name, reads, writes, category=command.category)
        self.known = Known(queue)
        stream.record(self.known.id)
        self.sync = sync_of(self.known) if command.blocking else None
        self.before = time.monotonic_ns()


def enqueue(original: Call, describe: Callable[..., Description]) -> Call:
    """A function that enqueues a command."""

    @guarded
    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Command | None:
        if not feed.listening():
            return None
        described = describe(*args, **kwargs)
        queue = queue_of(described.queue)
        return None if queue is None else _Command(queue, described)

    def call(*args: Any, **kwargs: Any) -> Any:
        command = begin(args, kwargs)
        if command is None:
            return original(*args, **kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException:
            _failed(command)
            raise
        _done(command, result)
        return result

    return call


@guarded
def _failed(command: _Command) -> None:
    if command.sync is not None:
        command.sync.end(gave_up=True)
    if command.work:
        command.queue.stream.complete(command.work, command.before, time.monotonic_ns(), ok=False)


@guarded
def _done(command: _Command, result: Any) -> None:
    event = result[1] if isinstance(result, tuple) else result
    if isinstance(event, cl.Event):
        keep_event(event, command.known)
        if command.work:
            times.keep(command.queue, command.work, command.known.handle, command.before)
        if command.sync is None and isinstance(event, cl.NannyEvent):
            event._eventide = Dropped(command.known)  # noqa: SLF001 - ours
    if command.sync is not None:
        command.sync.end()
        times.harvest()


def waiting(original: Call, syncs: Callable[..., list[Sync]], after: Callable[..., None] | None = None) -> Call:
    """A function that blocks. `syncs` returns what it synchronizes with, `after` is called when it has returned."""
    begin = guarded(syncs)

    @guarded
    def end(args: tuple[Any, ...], running: list[Sync], gave_up: bool) -> None:
        for sync in running:
            sync.end(gave_up=gave_up)
        if not gave_up and after is not None:
            after(*args)
        times.harvest()

    def call(*args: Any) -> Any:
        running = (begin(*args) or []) if feed.listening() else []
        try:
            result = original(*args)
        except BaseException:
            end(args, running, True)
            raise
        end(args, running, False)
        return result

    return call


def of_queue(queue: Any) -> list[Sync]:
    """finish()"""
    known = queue_of(queue)
    return [] if known is None else [feed.Sync(known.stream)]


def finished(queue: Any) -> None:
    """finish() has returned."""
    known = queue_of(queue)
    if known is not None:
        known.finished()


def leaving(original: Call) -> Call:
    """CommandQueue.__exit__, which finishes the queue and releases it."""

    @guarded
    def begin(queue: Any) -> None:
        known = queue_of(queue) if feed.listening() else None
        if known is not None:
            known.delete()

    def call(self: Any, *args: Any) -> Any:
        begin(self)
        return original(self, *args)

    return call


def of_events(events: Any) -> list[Sync]:
    """wait_for_events()"""
    found = [known_event(event) for event in events]
    return [sync_of(known) for known in found if known is not None]


def of_event(event: Any) -> list[Sync]:
    """Event.wait()"""
    return of_events((event,))


def status(original: Call) -> Call:
    """The getter of command_execution_status: a caller that gets COMPLETE has observed the completion."""

    @guarded
    def observed(event: Any) -> None:
        known = known_event(event)
        if known is not None:
            known.host_observed_completion()

    def fget(event: Any) -> Any:
        value = original(event)
        if int(value) == _COMPLETE:
            observed(event)
        return value

    return fget


def kernel_call(original: Call, first: int) -> Call:
    """Kernel.__call__ and set_args: the arguments from `first` on are those of the kernel."""

    @guarded
    def keep(kernel: Any, args: tuple[Any, ...]) -> None:
        kernel._eventide_args = memory.arguments(args) if feed.listening() else None  # noqa: SLF001 - ours

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        keep(self, args[first:])
        return original(self, *args, **kwargs)

    return call


def kernel_set_arg(original: Call) -> Call:
    """Kernel.set_arg"""

    @guarded
    def keep(kernel: Any, position: int, argument: Any) -> None:
        before = getattr(kernel, "_eventide_args", ())
        now = memory.arguments((argument,)) if feed.listening() else None
        if before is not None and now is not None:
            kept = tuple(one for one in before if one[0] != position)
            now = (*kept, *((position, access) for _, access in now))
        kernel._eventide_args = None if before is None else now  # noqa: SLF001 - ours

    def call(self: Any, position: int, argument: Any) -> Any:
        keep(self, position, argument)
        return original(self, position, argument)

    return call


def build(original: Call) -> Call:
    """Program.build: a compile."""

    @guarded
    def begin(program: Any) -> Compile:
        source = getattr(program, "_source", None) or ""
        text = source if isinstance(source, str) else source.decode("utf-8", "replace")
        names = re.findall(r"\bkernel\s+void\s+(\w+)", text.replace("__kernel", "kernel"))
        return callback_handler.begin(
            CallbackTrigger.OPENCL, f"opencl/{next(_builds)}", name=", ".join(names[:4]) or None
        )

    @guarded
    def end(compile_: Compile | None, error: BaseException | None) -> None:
        if compile_ is not None:
            compile_.stop(error)
            compile_.publish()

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        compile_ = begin(self)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            end(compile_, error)
            raise
        end(compile_, None)
        return result

    return call
