"""CompilationCallbackHandler: start for the outermost compile, end when the last one has ended, over all threads.

`_lock` guards `_running`, `_current`, `_due` and `_delivering`; no callback runs under it.
Callbacks run one start or end at a time, in order, on the thread that caused it; if another thread still runs the
callbacks of an earlier one, that thread runs these too. So starts and ends alternate, and no thread waits.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from eventide._util.process import after_fork
from eventide._util.subscription import Subscription
from eventide.compiling._record import CallbackArgs, CallbackTrigger, CompileRecord, record_in_trace
from eventide.compiling._signature import call, check_callback
from eventide.errors import UsageTypeError, UsageValueError, report_callback_error

Callback = Callable[..., object]
EachCallback = Callable[[CompileRecord], object]


class Compile:
    """A compile between its start and its record.

    ``end()`` is the usual end. For a compiler that reports details later, ``stop()`` ends the time and runs the end
    callbacks, and ``publish()`` passes the record to the callbacks of each compile. Each has an effect once.
    """

    __slots__ = (
        "_counted",
        "_error",
        "_handler",
        "_published",
        "_stack",
        "args",
        "depth",
        "start_ns",
        "stopped_ns",
        "thread",
    )

    def __init__(
        self,
        handler: CompilationCallbackHandler,
        args: CallbackArgs,
        stack: list[Compile],
        *,
        start_ns: int,
        counted: bool,
    ) -> None:
        self.args = args
        self.start_ns = start_ns
        self.thread = threading.get_native_id()
        self.depth = len(stack)
        self.stopped_ns: int | None = None
        self._handler = handler
        self._stack = stack
        self._counted = counted  # whether the handler counts it as running
        self._error: str | None = None
        self._published = False
        stack.append(self)

    def stop(self, error: BaseException | str | None = None, *, at_ns: int | None = None) -> None:
        """The compiler has ended, with `error` if given. Runs the end callbacks if this was the last one running."""
        if self.stopped_ns is not None:
            return
        self.stopped_ns = time.monotonic_ns() if at_ns is None else at_ns
        self._error = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else error
        self._stack.remove(self)
        self._handler._leave(self._counted)  # noqa: SLF001 - one mechanism

    def publish(self, *, name: str | None = None, ok: bool | None = True, **fields: Any) -> CompileRecord | None:
        """Publish the record, with further fields of CompileRecord by name."""
        if self._published:
            return None
        self._published = True
        self.stop()
        assert self.stopped_ns is not None  # noqa: S101  (stop() set it)
        record = CompileRecord(
            trigger=self.args.callback_trigger,
            id=self.args.compile_id,
            name=name if name is not None else self.args.name,
            thread=self.thread,
            depth=self.depth,
            start_ns=self.start_ns,
            duration_ns=max(0, self.stopped_ns - self.start_ns),
            ok=ok if self._error is None else False,
            error=self._error,
            **fields,
        )
        self._handler._publish(record)  # noqa: SLF001 - as above
        return record

    def end(self, error: BaseException | str | None = None, **fields: Any) -> CompileRecord | None:
        """Stop and publish in one."""
        try:
            self.stop(error)
        finally:
            record = self.publish(**fields)
        return record

    def __repr__(self) -> str:
        state = "running" if self.stopped_ns is None else "ended"
        return f"<Compile {self.args.callback_trigger.name} {self.args.compile_id}, {state}>"


class _Listeners:
    """The callbacks of ``on_each_compile``. `_all` is replaced, never changed: iterating it uses a snapshot."""

    def __init__(self) -> None:
        self._all: dict[int, EachCallback] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()  # guards the replacing of _all; no callback runs under it
        self._busy = threading.local()  # .now: numbers of the callbacks that run on this thread
        self.errors = 0

    def __len__(self) -> int:
        return len(self._all)

    def add(self, callback: EachCallback) -> Subscription:
        """Call it with every record."""
        number = next(self._numbers)
        with self._lock:
            self._all = {**self._all, number: callback}
        return Subscription("each compile", lambda: self._remove(number))

    def _remove(self, number: int) -> None:
        with self._lock:
            self._all = {kept: callback for kept, callback in self._all.items() if kept != number}

    def publish(self, record: CompileRecord) -> None:
        """Call all with a record. A callback does not receive compiles that it causes: that would never end."""
        busy: set[int] = self._busy.__dict__.setdefault("now", set())
        for number, callback in self._all.items():
            if number in busy:
                continue
            busy.add(number)
            try:
                callback(record)
            except Exception as error:  # noqa: BLE001 - a callback must not break the compile it observes
                self.errors += 1
                report_callback_error("compile", callback, error)
            finally:
                busy.discard(number)


class CompilationCallbackHandler:
    """The callbacks of compile start and end. They get one CallbackArgs, or nothing if they take nothing."""

    def __init__(self, start_callbacks: Sequence[Callback] = (), end_callbacks: Sequence[Callback] = ()) -> None:
        self.start_callbacks: list[Callback] = list(start_callbacks)
        self.end_callbacks: list[Callback] = list(end_callbacks)
        self._each = _Listeners()
        self._local = threading.local()  # .stack: compiles that run on this thread; .inside: callbacks that do
        self._errors = 0
        self._compiles = 0
        self._reset()

    def _reset(self) -> None:
        """The initial state; also that of a forked child, which has no other threads."""
        self._lock = threading.Lock()
        self._running = sum(one._counted for one in self._stack())  # noqa: SLF001  (one mechanism)
        self._due: deque[tuple[str, CallbackArgs]] = deque()
        self._delivering = False
        if not self._running:
            self._current: CallbackArgs | None = None

    def register_start_callback(self, callback: Callback) -> Callback:
        """Call callback(args) when the outermost compile starts. Returns it, so this is a decorator too."""
        check_callback("compile start", callback)
        self.start_callbacks.append(callback)
        return callback

    def register_end_callback(self, callback: Callback) -> Callback:
        """Call callback(args) when the last running compile has ended. Returns it, so this is a decorator too."""
        check_callback("compile end", callback)
        self.end_callbacks.append(callback)
        return callback

    def remove_start_callback(self, callback: Callback) -> None:
        """Remove a callback; its oldest registration first."""
        _remove("start", self.start_callbacks, callback)

    def remove_end_callback(self, callback: Callback) -> None:
        """Remove a callback; its oldest registration first."""
        _remove("end", self.end_callbacks, callback)

    def on_each_compile(self, callback: EachCallback) -> Subscription:
        """Call callback(record) after every compile, nested ones too, until the subscription is closed."""
        if not callable(callback):
            raise UsageTypeError(f"a compile callback must be callable, not {type(callback).__name__}")
        return self._each.add(callback)

    def run_start_callbacks(self, args: CallbackArgs) -> None:
        """Call every start callback. One that raises is logged and counted, and the others run."""
        self._run("start", self.start_callbacks, args)

    def run_end_callbacks(self, args: CallbackArgs) -> None:
        """Call every end callback. One that raises is logged and counted, and the others run."""
        self._run("end", self.end_callbacks, args)

    @contextmanager
    def install_callbacks(
        self, trigger: CallbackTrigger, compile_id: str, *, name: str | None = None, **fields: Any
    ) -> Iterator[Compile]:
        """The block is a compile. Its own error passes through; `fields` are fields of its CompileRecord."""
        compile_ = self.begin(trigger, compile_id, name=name)
        try:
            yield compile_
        except BaseException as error:
            compile_.end(error, **fields)
            raise
        compile_.end(**fields)

    def begin(
        self, trigger: CallbackTrigger, compile_id: str, *, name: str | None = None, start_ns: int | None = None
    ) -> Compile:
        """A compile starts, at `start_ns` or now; for compilers with separate start and end. See Compile."""
        if not isinstance(trigger, CallbackTrigger):
            raise UsageTypeError(f"a trigger is a CallbackTrigger, not {type(trigger).__name__}")
        args = CallbackArgs(trigger, str(compile_id), name)
        # Compiles inside a callback are not counted: they neither start nor end anything for others.
        counted = not self._local.__dict__.get("inside")
        now = time.monotonic_ns() if start_ns is None else start_ns
        compile_ = Compile(self, args, self._stack(), start_ns=now, counted=counted)
        with self._lock:
            self._compiles += 1
            self._running += counted
            if counted and self._running == 1:
                self._current = args
                self._due.append(("start", args))
        try:
            self._deliver()
        except BaseException:  # Ctrl-C in a start callback: the compile does not happen
            compile_.end()
            raise
        return compile_

    def report(
        self, trigger: CallbackTrigger, compile_id: str, *, duration_ns: int, end_ns: int | None = None, **fields: Any
    ) -> CompileRecord | None:
        """Report a compile that has ended, and whose start was not reported: start and end callbacks both run now."""
        if duration_ns < 0:
            raise UsageValueError(f"a compile cannot take {duration_ns} ns")
        over = time.monotonic_ns() if end_ns is None else end_ns
        compile_ = self.begin(trigger, compile_id, name=fields.pop("name", None), start_ns=over - duration_ns)
        compile_.stop(fields.pop("error", None), at_ns=over)
        return compile_.publish(**fields)

    def clear(self) -> None:
        """Remove all start and end callbacks, also while something compiles; callbacks of each compile remain."""
        self.start_callbacks.clear()
        self.end_callbacks.clear()

    def statistics(self) -> dict[str, int]:
        """How many compiles run and ran, how many callbacks there are, and how often one raised."""
        return {
            "running": self._running,
            "compiles": self._compiles,
            "callbacks": len(self.start_callbacks) + len(self.end_callbacks) + len(self._each),
            "errors": self._errors + self._each.errors,
        }

    def _stack(self) -> list[Compile]:
        stack: list[Compile] = self._local.__dict__.setdefault("stack", [])
        return stack

    def _leave(self, counted: bool) -> None:
        with self._lock:
            self._running -= counted
            if counted and self._running == 0 and self._current is not None:
                self._due.append(("end", self._current))
                self._current = None
        self._deliver()

    def _deliver(self) -> None:
        """Run what is due, in order, unless another thread does. A Ctrl-C in between is raised at the end."""
        with self._lock:
            if self._delivering or not self._due:
                return
            self._delivering = True
        first: BaseException | None = None
        try:
            while (due := self._next_due()) is not None:
                try:
                    due()
                except BaseException as error:  # noqa: BLE001  (raised below)
                    first = first or error
        except BaseException:  # Ctrl-C between two of them
            self._delivering = False
            raise
        if first is not None:
            raise first

    def _next_due(self) -> Callable[[], None] | None:
        """The callbacks to run next. None ends the delivery under the same lock, so nothing due is left behind."""
        with self._lock:
            if not self._due:
                self._delivering = False
                return None
            what, args = self._due.popleft()
        run = self.run_start_callbacks if what == "start" else self.run_end_callbacks
        return lambda: run(args)

    def _run(self, what: str, callbacks: list[Callback], args: CallbackArgs) -> None:
        self._local.inside = self._local.__dict__.get("inside", 0) + 1
        try:
            for callback in tuple(callbacks):
                try:
                    call(callback, args)
                except Exception as error:  # noqa: BLE001  (a callback must not break the compile)
                    self._errors += 1
                    report_callback_error(f"compile {what}", callback, error)
        finally:
            self._local.inside -= 1

    def _publish(self, record: CompileRecord) -> None:
        record_in_trace(record)
        self._each.publish(record)


def _remove(what: str, callbacks: list[Callback], callback: Callback) -> None:
    try:
        callbacks.remove(callback)
    except ValueError:
        raise UsageValueError(f"{callback!r} is not registered as a compile {what} callback") from None


callback_handler = CompilationCallbackHandler()
after_fork(callback_handler._reset)  # noqa: SLF001 - of this file


def on_compile_start(callback: Callback) -> Callback:
    """Decorator: call it when the outermost compile starts, with a CallbackArgs or with nothing."""
    return callback_handler.register_start_callback(callback)


def on_compile_end(callback: Callback) -> Callback:
    """Decorator: call it when the last running compile has ended, with the CallbackArgs that start got."""
    return callback_handler.register_end_callback(callback)


def on_each_compile(callback: EachCallback) -> Subscription:
    """Call callback(CompileRecord) after every compile, nested ones too, until the subscription is closed."""
    return callback_handler.on_each_compile(callback)
