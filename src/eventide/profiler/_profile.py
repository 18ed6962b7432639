"""et.profile: record a scope, and give the result."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from eventide import _native
from eventide.errors import UsageError, UsageTypeError, UsageValueError
from eventide.profiler import _active
from eventide.profiler._cycle import Cycle, Drops
from eventide.profiler._options import IGNORED, Options, checked, either, warn_ignored
from eventide.profiler._result import ProfilerResult, empty_result
from eventide.profiler._schedule import ProfilerAction, always, ask
from eventide.profiler._sources import Sources

if TYPE_CHECKING:
    from eventide.profiler._averages import KeyAverages
    from eventide.profiler._events import Events

_log_name = "eventide.profiler"
RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:  # noqa: N801  (a verb, as in torch.profiler: ``with et.profile(): ...``)
    """Record what happens in a ``with`` block, on all threads: spans, work, compiles, backends' events, torch.

    module                a torch.nn.Module or other callable whose calls become spans; held weakly
    path                  written when it stops: .pftrace, .json, .json.gz, .parquet or .eventide
    report_input_shapes   shapes and types of what operators are given (torch: record_shapes)
    profile_memory        memory of torch's operators and of backends
    with_stack            the Python stack of each span and operator
    with_flops            floating-point operations of torch's operators, forward and backward
    with_modules          the modules inside `module` as spans, and with each operator the module it belongs to
    perf_counters         names of the kernel's counters, "cycles" or "instructions" (torch: events)
    adjust_timestamps     backends' events are on clocks of their own: map them, and report how exact that is
    schedule              which steps are recorded, see ``schedule``; on_trace_ready(prof) after each recorded cycle

    Arguments up to `adjust_timestamps` may be positional, in this order, which is that of torch's edge profiler; a path
    alone may come first: ``et.profile("t.pftrace")``. Its names are accepted: `m`, `fname`, `record_shapes`, `events`,
    `adjust_vulkan_timestamps`. The options of torch.profiler from `activities` on have no effect; each gives one
    UserWarning per process.
    """

    def __init__(  # noqa: PLR0917  (the order of torch's edge profiler)
        self,
        module: Any = None,
        path: str | os.PathLike[str] | None = None,
        report_input_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        perf_counters: Iterable[str] = (),
        adjust_timestamps: bool = False,
        *,
        schedule: Callable[[int], object] | None = None,
        on_trace_ready: Callable[[Any], object] | None = None,
        m: Any = None,
        fname: str | os.PathLike[str] | None = None,
        record_shapes: bool | None = None,
        events: Iterable[str] | None = None,
        adjust_vulkan_timestamps: bool | None = None,
        activities: object = None,
        use_cuda: object = None,
        acc_events: object = None,
        experimental_config: object = None,
        execution_trace_observer: object = None,
        custom_trace_id_callback: object = None,
        post_processing_timeout_s: object = None,
    ) -> None:
        ignored = (activities, use_cuda, acc_events, experimental_config, execution_trace_observer)
        warn_ignored(dict(zip(IGNORED, (*ignored, custom_trace_id_callback, post_processing_timeout_s), strict=True)))
        given = Options(
            either("module", module, "m", m),
            either("path", path, "fname", fname),
            either("report_input_shapes", report_input_shapes, "record_shapes", record_shapes),
            *(profile_memory, with_stack, with_flops, with_modules),
            either("perf_counters", perf_counters, "events", events),
            either("adjust_timestamps", adjust_timestamps, "adjust_vulkan_timestamps", adjust_vulkan_timestamps),
            schedule or always,
            on_trace_ready,
        )
        self._open(checked(given))

    def _open(self, options: Options) -> None:
        self._sources = Sources(options, self._reached)
        self._module = weakref.ref(options.module) if options.module is not None else None
        self.options = options.without_module()
        self.dropped = Drops()
        self.step_num = 0
        self.action = ProfilerAction.NONE
        self._manual = 0  # steps counted by prof.step()
        self._lock = threading.RLock()  # guards the state: start, step and stop come one at a time
        self._state = "new"
        self._cycle: Cycle | None = None
        self._results: list[ProfilerResult] = []
        self._user: dict[str, object] = {}  # metadata that the program added

    module = property(lambda self: self._module and self._module(), doc="The module, as long as others keep it.")
    running = property(lambda self: self._state == "running", doc="True between start() and stop().")
    recording = property(lambda self: self._cycle is not None, doc="True while something is recorded.")

    @property
    def result(self) -> ProfilerResult:
        """What was recorded: the last complete cycle. Stop the profile first, or let its schedule end one."""
        if not self._results:
            remedy = {"new": "; start it, and stop it", "running": "; stop it first"}.get(self._state, "")
            raise UsageError(f"there is no result yet: this profile is {self._state}{remedy}")
        return self._results[-1]

    @property
    def results(self) -> tuple[ProfilerResult, ...]:
        """One for each complete cycle of the schedule."""
        return tuple(self._results)

    def start(self) -> Self:
        """Begin. A profile is started once."""
        with self._lock:
            if self._state != "new":
                raise UsageError(f"this profile is {self._state}; make a new one")
            action = ask(self.options.schedule, 0)
            self._state = "running"
            _active.begin(self)
            try:
                self._sources.open()
                self._go_to(action)
            except BaseException:
                self._state = "stopped"
                self._close_everything()
                raise
        return self

    def stop(self) -> ProfilerResult:
        """End, and give the result; it is saved if a path was given. A second time gives the same result again."""
        with self._lock:
            if self._state == "new":
                raise UsageError("this profile was not started; start it first")
            if self._state != "running":
                return self.result
            self._state = "stopped"
            try:
                if self.action in RECORDS:
                    self._finish_cycle(last=True)
            finally:
                self._close_everything()
            if not self._results:
                self._results.append(empty_result(self._about(), "the schedule ended before it recorded anything"))
        return self.result

    def step(self) -> None:
        """The next step begins. A torch optimizer counts steps too; the two are not counted twice."""
        with self._lock:
            if self._state != "running":
                raise UsageError(f"this profile is {self._state}; it can step only while it runs")
            self._manual += 1
            self._reached(self._manual)

    def _reached(self, number: int) -> None:
        """`number` steps are complete."""
        with self._lock:
            if self._state == "running" and number > self.step_num:
                if self._cycle is not None and self.action in RECORDS:
                    self._cycle.end_of_step(self.step_num)
                self.step_num += 1
                self._go_to(ask(self.options.schedule, self.step_num))

    def _go_to(self, action: ProfilerAction) -> None:
        before, self.action = self.action, action
        if before is ProfilerAction.RECORD_AND_SAVE or (before in RECORDS and action not in RECORDS):
            self._finish_cycle(last=False)
        if action is ProfilerAction.NONE:
            self._drop_cycle()
        elif self._cycle is None:
            self._cycle = Cycle(self.options, self._sources, self.dropped, number=len(self._results))
            _active.ask_backends()
        if action in RECORDS and self._cycle is not None:
            self._cycle.begin_window()  # once: what came before was for warming up

    def _finish_cycle(self, *, last: bool) -> None:
        cycle, self._cycle = self._cycle, None
        _active.ask_backends()
        if cycle is None:
            return
        self._results.append(cycle.finish(self._about(), step=self.step_num if last else None))
        cycle.save(self._results[-1], self.options.path)
        if self.options.on_trace_ready is not None:
            self.options.on_trace_ready(self)

    def _drop_cycle(self) -> None:
        cycle, self._cycle = self._cycle, None
        if cycle is not None:
            cycle.drop()
            _active.ask_backends()

    def _about(self) -> dict[str, Any]:
        about = {"options": self.options.metadata(), "steps": self.step_num, "dropped": self.dropped}
        return {**about, "user": dict(self._user)} if self._user else about

    def _close_everything(self) -> None:
        _active.end(self)
        try:
            self._drop_cycle()
        finally:
            self._sources.close()

    def _abandon(self) -> None:
        """In a forked child: this profile is the parent's."""
        self._state, self._cycle = "of the parent process", None

    def record_backend_event(
        self, start_us: int, end_us: int, debug_handle: int, event_name: str, backend_name: str
    ) -> bool:
        """A backend's own event, in microseconds of CLOCK_MONOTONIC or Unix time: of the clock that is nearer.

        With adjust_timestamps=True, of any clock. `register_debug_handles` names the module of a handle.
        False: nothing is being recorded, and the event is counted in ``dropped``.
        """
        _whole(start_us=start_us, end_us=end_us, debug_handle=debug_handle)
        if end_us < start_us:
            raise UsageValueError(f"{event_name!r} of {backend_name!r} ends before it starts: {start_us=}, {end_us=}")
        if not self._takes("event"):
            return False
        if not _native.profiler_event(start_us, end_us, debug_handle, event_name, backend_name):
            raise UsageValueError(
                f"{event_name!r} of {backend_name!r} has an invalid timestamp: {start_us=}, {end_us=}"
            )
        return True

    def record_backend_memory_event(
        self, ptr: int | None, alloc_size: int, total_allocated: int, total_reserved: int, device: object
    ) -> bool:
        """A backend allocated (or, below zero, freed) memory. False: not recorded, and counted in ``dropped``."""
        _whole(ptr=ptr or 0, alloc_size=alloc_size, total_allocated=total_allocated, total_reserved=total_reserved)
        if min(total_allocated, total_reserved) < 0:
            raise UsageValueError(f"totals cannot be negative: {total_allocated=}, {total_reserved=}")
        if not self._takes("memory"):
            return False
        _native.profiler_memory_event(ptr or 0, alloc_size, total_allocated, total_reserved, str(device))
        return True

    def record_backend_clock(self, backend_name: str, before_us: int, backend_us: int, after_us: int) -> None:
        """The backend's clock showed `backend_us` between two readings of the host: for adjust_timestamps."""
        _whole(before_us=before_us, backend_us=backend_us, after_us=after_us)
        if after_us < before_us:
            raise UsageValueError(f"the second reading cannot be before the first: {before_us=}, {after_us=}")
        if self._takes("clock"):
            _native.profiler_clock(backend_name, before_us, backend_us, after_us)

    def _takes(self, what: str) -> bool:
        if self._state != "running":
            self.dropped.add("after disable" if self._state == "stopped" else "before start")
        elif self._cycle is None:
            self.dropped.add("outside the schedule")
        elif what == "memory" and not self.options.profile_memory:
            self.dropped.add("memory not asked for")
        else:
            return True
        return False

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Save the result as torch does; it must be stopped (or a cycle of its schedule over)."""
        self.result.save(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """As ``result.export_stacks``."""
        self.result.export_stacks(path, metric)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> KeyAverages:
        """Torch's way to the table: ``prof.key_averages().table(sort_by="self_cpu_time_total")``."""
        return self.result.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def events(self) -> Events:
        """As ``result.events``: every span, with torch's names."""
        return self.result.events()

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the trace: to ``trace.metadata["user"]``, and to the members of a Chrome file."""
        if not isinstance(value, str):
            raise UsageTypeError(f"the value of {key!r} must be a string, not {type(value).__name__}")
        self._add(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value that is given as JSON, as `add_metadata` does a text."""
        try:
            self._add(key, json.loads(value))
        except (ValueError, TypeError) as error:
            if isinstance(error, UsageTypeError | UsageValueError):
                raise
            raise UsageValueError(f"the value of {key!r} is not JSON: {error}; use add_metadata for a text") from None

    preset_metadata_json = add_metadata_json

    def _add(self, key: str, value: object) -> None:
        if not isinstance(key, str) or not key:
            raise UsageTypeError(f"the key of metadata is a string that is not empty, not {key!r}")
        with self._lock:
            if self._state not in {"new", "running"}:
                raise UsageError(f"this profile is {self._state}; add metadata before it stops")
            self._user[key] = value

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[object]) -> None:
        """Stop or resume what is recorded of torch: ``CPU`` its operators, any other activity its devices.

        Call it on the thread that started the profile. Spans and work on streams are recorded all the same.
        """
        named = {str(getattr(one, "name", one)).rpartition(".")[2].upper() for one in activities}
        with self._lock:
            if self._state != "running":
                raise UsageError(f"this profile is {self._state}; it can be toggled only while it runs")
            self._sources.toggle(bool(enable), host="CPU" in named, devices=bool(named - {"CPU"}))

    disable_profiler = stop

    def get_profiler_result(self) -> ProfilerResult:
        """Another name of ``result``."""
        return self.result

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except Exception:
            if error is None:
                raise
            import logging

            logging.getLogger(_log_name).exception("the profile of a block that raised could not be saved")

    def __repr__(self) -> str:
        return f"<profile, {self._state}, step {self.step_num}>"


def _whole(**numbers: object) -> None:
    for name, number in numbers.items():
        if not isinstance(number, int):
            raise UsageTypeError(f"{name} must be a whole number, not {type(number).__name__}")
