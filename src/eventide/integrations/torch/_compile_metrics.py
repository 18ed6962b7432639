"""The details of a complete compile: torch's CompilationMetrics, taken when torch stores them.

torch appends them to a bounded deque; ours calls us when one is added and is otherwise the same. torch appends them on
the thread that compiled, after the compile, and only for the outermost compile.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from types import CodeType
from typing import Any

from eventide.compiling import CallbackTrigger, Compile

_log = logging.getLogger("eventide.integrations")
_local = threading.local()  # .pending: (compile, known details) of compiles whose metrics are pending
_names: OrderedDict[str, CodeType] = OrderedDict()  # by compile id: backward compiles have the id of their forward
_NAMES = 4096

STAGES = {
    "dynamo": "dynamo_cumulative_compile_time_us",
    "aot_autograd": "aot_autograd_cumulative_compile_time_us",
    "inductor": "inductor_cumulative_compile_time_us",
    "inductor code generation": "inductor_code_gen_cumulative_compile_time_us",
    "triton": "triton_compile_time_us",
    "backward": "backward_cumulative_compile_time_us",
}
CACHES = ("inductor_fx_local", "inductor_fx_remote", "aotautograd_local", "aotautograd_remote")
DETAILS = {
    "file": "co_filename",
    "line": "co_firstlineno",
    "guards": "guard_count",
    "graph_ops": "graph_op_count",
    "failed_as": "fail_type",
    "failed_because": "fail_reason",
}


class _Deque(deque[Any]):
    """torch's deque of metrics, which calls us when one is added."""

    def append(self, item: Any) -> None:
        super().append(item)
        try:
            _arrived(item)
        except Exception:  # noqa: BLE001  (never into torch)
            _log.exception("metrics of a compile of torch were not recorded")


def collect() -> None:
    """Replace torch's deque; again if torch has created a new one."""
    utils = sys.modules.get("torch._dynamo.utils")
    theirs = getattr(utils, "_compilation_metrics", None)
    if isinstance(theirs, deque) and not isinstance(theirs, _Deque):
        utils._compilation_metrics = _Deque(theirs, theirs.maxlen)  # type: ignore[union-attr]  # noqa: SLF001


def stop_collecting() -> None:
    """Restore a plain deque."""
    utils = sys.modules.get("torch._dynamo.utils")
    ours = getattr(utils, "_compilation_metrics", None)
    if isinstance(ours, _Deque):
        utils._compilation_metrics = deque(ours, ours.maxlen)  # type: ignore[union-attr]  # noqa: SLF001


def expected() -> bool:
    """Will torch store metrics on this thread at the end of the compile?"""
    utils = sys.modules.get("torch._dynamo.utils")
    if not isinstance(getattr(utils, "_compilation_metrics", None), _Deque):
        return False
    try:
        return bool(utils.get_metrics_context().in_progress())  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001  (another version of torch: the record has none)
        return False


def remember(compile_id: str, code: CodeType) -> None:
    """Store the function of a compile id, for later compiles with the same id."""
    _names[compile_id] = code
    while len(_names) > _NAMES:
        _names.popitem(last=False)


def name_of(compile_id: str) -> str | None:
    """The function's name, if its compile was traced."""
    code = _names.get(compile_id)
    return code.co_name if code is not None else None


def publish_with_metrics(compile_: Compile, known: dict[str, Any]) -> None:
    """Publish this compile when its metrics are stored, or at the next flush()."""
    _pending().append((compile_, known))


def flush() -> None:
    """Publish the compiles of this thread whose metrics are pending, without them."""
    pending = _pending()
    while pending:
        compile_, known = pending.pop(0)
        compile_.publish(**known)


def _pending() -> list[tuple[Compile, dict[str, Any]]]:
    pending: list[tuple[Compile, dict[str, Any]]] = _local.__dict__.setdefault("pending", [])
    return pending


def _arrived(item: Any) -> None:
    pending = _pending()
    for number, (compile_, known) in enumerate(pending):
        backward = compile_.args.callback_trigger is CallbackTrigger.LAZY_BACKWARD
        if str(getattr(item, "compile_id", "")) == compile_.args.compile_id and backward == _is_backward(item):
            del pending[number]
            compile_.publish(**_merge(known, item))
            return


def _is_backward(item: Any) -> bool:
    return getattr(item, "is_forward", None) is False


def _merge(known: dict[str, Any], item: Any) -> dict[str, Any]:
    details = dict(_details(item)) | known.get("details", {})
    breaks = _graph_breaks(item)
    if breaks:
        details["graph_break_reasons"] = breaks
    return known | {
        "name": getattr(item, "co_name", None),
        "reason": getattr(item, "recompile_reason", None),
        "graph_breaks": None if breaks is None else len(breaks),
        "cache_hit": _cache_hit(item),
        "stages_ns": tuple(_stages(item)) or None,
        "details": details,
    }


def _graph_breaks(item: Any) -> list[str] | None:
    """The reasons of graph breaks; torch restarts at each, and lists the reasons. None: not reported."""
    restarts = getattr(item, "restart_reasons", None)
    return None if restarts is None else sorted(str(text) for text in restarts if "graph break" in str(text).lower())


def _stages(item: Any) -> Iterator[tuple[str, int]]:
    for name, field in STAGES.items():
        microseconds = getattr(item, field, None)
        if microseconds:
            yield name, int(microseconds) * 1000


def _details(item: Any) -> Iterator[tuple[str, Any]]:
    for name, field in DETAILS.items():
        value = getattr(item, field, None)
        if value is not None and value != "":
            yield name, value


def _cache_hit(item: Any) -> bool | None:
    """True if there were only hits; None if no cache was used."""
    hits = sum(getattr(item, f"{cache}_cache_hit_count", 0) or 0 for cache in CACHES)
    misses = sum(getattr(item, f"{cache}_cache_miss_count", 0) or 0 for cache in CACHES)
    return None if hits + misses == 0 else misses == 0
