"""Compile: one compile that runs. Made by the handler, ended by whoever watches the compiler."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from eventide.compiling._record import CompileRecord

if TYPE_CHECKING:
    from eventide.compiling._handler import CompilationCallbackHandler
    from eventide.compiling._record import CallbackArgs


class Compile:
    """A compile between its start and its record.

    ``end()`` is the usual way out. A compiler that tells details only later has ``stop()``, which ends the time and
    runs the end callbacks, and then ``publish()``, which hands the record to those who hear each compile. Each works
    once; what comes twice is ignored.
    """

    __slots__ = (
        "_counted",
        "_error",
        "_handler",
        "_published",
        "_stack",
        "args",
        "depth",
        "start",
        "stopped",
        "thread",
    )

    def __init__(
        self,
        handler: CompilationCallbackHandler,
        args: CallbackArgs,
        stack: list[Compile],
        *,
        start: int,
        counted: bool,
    ) -> None:
        self.args = args
        self.start = start
        self.thread = threading.get_native_id()
        self.depth = len(stack)
        self.stopped: int | None = None
        self._handler = handler
        self._stack = stack
        self._counted = counted  # does the handler's count of running compiles include it
        self._error: str | None = None
        self._published = False
        stack.append(self)

    def stop(self, error: BaseException | str | None = None, *, at: int | None = None) -> None:
        """The compiler is done; `error` ended it. Runs the end callbacks if this was the last one running."""
        if self.stopped is not None:
            return
        self.stopped = time.monotonic_ns() if at is None else at
        self._error = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else error
        self._stack.remove(self)
        self._handler._leave(self._counted)  # noqa: SLF001  (the two are one mechanism in two files)

    def publish(self, *, name: str | None = None, ok: bool | None = True, **known: Any) -> CompileRecord | None:
        """Hand over the record, with what is known by now: the fields of CompileRecord by name."""
        if self._published:
            return None
        self._published = True
        self.stop()
        assert self.stopped is not None  # noqa: S101  (stop() set it)
        record = CompileRecord(
            trigger=self.args.callback_trigger,
            id=self.args.compile_id,
            name=name if name is not None else self.args.name,
            thread=self.thread,
            depth=self.depth,
            start=self.start,
            duration=max(0, self.stopped - self.start),
            ok=ok if self._error is None else False,
            error=self._error,
            **known,
        )
        self._handler._publish(record)  # noqa: SLF001  (as above)
        return record

    def end(self, error: BaseException | str | None = None, **known: Any) -> CompileRecord | None:
        """Stop and publish in one."""
        try:
            self.stop(error)
        finally:
            record = self.publish(**known)
        return record

    def __repr__(self) -> str:
        state = "running" if self.stopped is None else "over"
        return f"<Compile {self.args.callback_trigger.name} {self.args.compile_id}, {state}>"
