"""Self times by stack, one line a stack, as Brendan Gregg's FlameGraph reads them and torch.profiler writes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.errors import UsageError, UsageValueError

if TYPE_CHECKING:
    from eventide.trace import Trace

METRICS = ("self_cpu_time_total", "self_device_time_total", "self_cuda_time_total")
_SEPARATORS = str.maketrans(" ;\t\n", "____")  # they have a meaning in the file


def write_stacks(trace: Trace, path: str | os.PathLike[str], metric: str) -> Path:
    """A line a stack: the frames, outermost first, and the microseconds."""
    from eventide.analysis import self_time_by_stack
    from eventide.report import write_whole

    if metric not in METRICS:
        raise UsageValueError(f"there is no metric {metric!r} of stacks; use one of {', '.join(METRICS)}")
    if not trace.stacks.num_rows or trace.spans["stack"].null_count == trace.spans.num_rows:
        raise UsageError("this profile has no stacks; record it with et.profile(with_stack=True)")
    times = self_time_by_stack(trace, on_device=metric != METRICS[0])
    lines = [
        f"{';'.join(frame.translate(_SEPARATORS) for frame in reversed(frames))} {time // 1000}\n"
        for frames, time in times.items()
        if frames and time >= 1000
    ]
    write_whole("".join(sorted(lines)), path)
    return Path(path)
