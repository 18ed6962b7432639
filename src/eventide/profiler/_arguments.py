"""What et.profile was asked for, checked, with the names of other profilers understood."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eventide.errors import UsageTypeError, UsageValueError
from eventide.profiler._schedule import always

# Other people's word -> ours.
ALIASES = {
    "record_shapes": "report_input_shapes",
    "events": "perf_counters",
    "adjust_vulkan_timestamps": "adjust_timestamps",
    "fname": "path",
    "m": "module",
}
# Arguments of torch.profiler.profile that mean nothing here: what they choose is always on, or not there to choose.
IGNORED = (
    "activities",
    "use_cuda",
    "acc_events",
    "experimental_config",
    "execution_trace_observer",
    "custom_trace_id_callback",
)
FLAGS = ("report_input_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "adjust_timestamps")
FORMATS = (".pftrace", ".perfetto-trace", ".json", ".json.gz", ".parquet", ".eventide")


@dataclass(frozen=True)
class Options:
    """The arguments of et.profile."""

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
        """Is more asked of operators than when they ran?"""
        wanted = (self.report_input_shapes, self.profile_memory, self.with_stack, self.with_flops, self.with_modules)
        return any(wanted)

    def without_module(self) -> Options:
        """The same, for those who must not keep the module alive."""
        return replace(self, module=None)

    def told(self) -> dict[str, Any]:
        """What the trace says about them."""
        return {name: getattr(self, name) for name in (*FLAGS, "perf_counters")}


def read(module: object, path: object, given: Mapping[str, Any]) -> Options:
    """The options, or an error that says which argument is wrong and why."""
    known: dict[str, Any] = {"module": module, "path": path}
    for name, value in given.items():
        ours = ALIASES.get(name, name)
        if ours in IGNORED:
            continue
        if ours not in Options.__dataclass_fields__:
            raise UsageTypeError(
                f"profile() has no argument {name!r}; it has {', '.join(Options.__dataclass_fields__)}"
            )
        if name in ALIASES and known.get(ours) not in (None, False, ()) and value != known[ours]:
            raise UsageTypeError(f"profile() got both {ours}= and {name}=, which is the same thing by another name")
        known[ours] = value
    if isinstance(known["module"], str | os.PathLike) and known["path"] is None:
        known["module"], known["path"] = None, known["module"]  # et.profile("t.pftrace")
    for flag in FLAGS:
        known[flag] = bool(known.get(flag, False))
    known["path"] = _path(known["path"])
    known["perf_counters"] = _perf_counters(known.get("perf_counters", ()))
    known["schedule"] = _function("schedule", known.get("schedule")) or always
    known["on_trace_ready"] = _function("on_trace_ready", known.get("on_trace_ready"))
    return Options(**known)


def _path(path: object) -> str | None:
    if path is None or path == "":  # no name: nothing is written, and the profiler stops all the same
        return None
    try:
        text = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        raise UsageTypeError(f"path must be the path of a file, not {type(path).__name__}") from None
    if not isinstance(text, str) or not text.lower().endswith(FORMATS):
        raise UsageValueError(f"cannot tell from {text!r} what to write; use one of {', '.join(FORMATS)}")
    folder = os.path.dirname(text) or "."  # noqa: PTH120  (a string goes in and out)
    if not os.path.isdir(folder):  # noqa: PTH112  (as above)
        raise UsageValueError(f"there is no directory {folder!r}; make it first")
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
