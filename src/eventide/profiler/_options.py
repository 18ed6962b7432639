"""The options of et.profile: checked, with the names that torch's profilers use for them."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eventide.errors import TraceFileError, UsageTypeError, UsageValueError
from eventide.profiler._schedule import always

FLAGS = ("report_input_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "adjust_timestamps")
FORMATS = (".pftrace", ".perfetto-trace", ".json", ".json.gz", ".parquet", ".eventide")
# Options of torch.profiler.profile without effect here, and why.
IGNORED = {
    "activities": "the host and all traced devices are always recorded",
    "use_cuda": "the host and all traced devices are always recorded",
    "acc_events": "each cycle of a schedule has its own result, see prof.results",
    "experimental_config": "it configures Kineto; the events of a profile are recorded by Eventide",
    "execution_trace_observer": "execution traces are not written",
    "custom_trace_id_callback": "a trace of Eventide has no id",
    "post_processing_timeout_s": "a result is complete when the profile has stopped",
}
_warned: set[str] = set()


@dataclass(frozen=True)
class Options:
    """The options of one profile."""

    module: Any = None
    path: str | None = None
    report_input_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_flops: bool = False
    with_modules: bool = False
    perf_counters: tuple[str, ...] = ()
    adjust_timestamps: bool = False
    schedule: Callable[[int], object] = always
    on_trace_ready: Callable[[Any], object] | None = None

    @property
    def in_detail(self) -> bool:
        """True if operators are recorded with more than their times."""
        wanted = (self.report_input_shapes, self.profile_memory, self.with_stack, self.with_flops, self.with_modules)
        return any(wanted)

    def without_module(self) -> Options:
        """The same without the reference to the module, so that it is not kept alive."""
        return replace(self, module=None)

    def metadata(self) -> dict[str, Any]:
        """The options that the trace's metadata contains."""
        return {name: getattr(self, name) for name in (*FLAGS, "perf_counters")}


def warn_ignored(given: Mapping[str, object]) -> None:
    """A UserWarning for each option of torch.profiler that is given and has no effect; once per process and option."""
    for name, value in given.items():
        if value not in (None, False) and name not in _warned:
            _warned.add(name)
            warnings.warn(
                f"et.profile ignores {name}=, an option of torch.profiler: {IGNORED[name]}", UserWarning, _caller()
            )


def _caller() -> int:
    """The stack level, for warn_ignored, of the first frame outside of this package."""
    level, frame = 2, sys._getframe(2)  # noqa: SLF001 - no public function gives frames without their source
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("eventide.profiler"):
        level, frame = level + 1, frame.f_back
    return level


def either(ours: str, value: Any, theirs: str, other: Any) -> Any:
    """The value of an option that has two names; UsageTypeError if both are given and differ."""
    if other is None:
        return value
    if value not in (None, False, ()) and value != other:
        raise UsageTypeError(f"profile() got {ours}={value!r} and {theirs}={other!r}, two names of one option; use one")
    return other


def checked(given: Options) -> Options:
    """The options in their exact types, or an error that names the wrong one."""
    module, path = given.module, given.path
    if isinstance(module, str | os.PathLike) and path is None:
        module, path = None, module  # et.profile("t.pftrace"), checked below
    return replace(
        given,
        module=module,
        path=_path(path),
        perf_counters=_perf_counters(given.perf_counters),
        schedule=_function("schedule", given.schedule) or always,
        on_trace_ready=_function("on_trace_ready", given.on_trace_ready),
        **{flag: bool(getattr(given, flag)) for flag in FLAGS},
    )


def _path(path: object) -> str | None:
    if path is None or path == "":  # nothing is written
        return None
    try:
        text = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        raise UsageTypeError(f"path must be the path of a file, not {type(path).__name__}") from None
    if not isinstance(text, str) or not text.lower().endswith(FORMATS):
        raise UsageValueError(f"the suffix of {text!r} is not that of a trace format; use one of {', '.join(FORMATS)}")
    folder = os.path.dirname(text) or "."  # noqa: PTH120  (a string goes in and out)
    if not os.path.isdir(folder):  # noqa: PTH112  (as above)
        raise TraceFileError(f"there is no directory {folder!r}; make it first", errno.ENOENT, text)
    return text


def _perf_counters(names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageTypeError(f"perf_counters takes a list of names such as ['cycles'], not {type(names).__name__}")
    listed = tuple(names)
    if wrong := [name for name in listed if not isinstance(name, str)]:
        raise UsageTypeError(f"the name of a perf counter is a string, not {type(wrong[0]).__name__}")
    return tuple(dict.fromkeys(listed))


def _function(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise UsageTypeError(f"{name} must be a function, not {type(value).__name__}")
    return value
