"""What to do with each recorded cycle: functions for on_trace_ready."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """Write each cycle as `<worker>.<time>.pt.trace.json` into a directory, which is made: for on_trace_ready.

    The names are those of torch's function, which TensorBoard's plug-in and HTA look for.
    """
    folder, worker = Path(dir_name), worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(prof: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        prof.export_chrome_trace(folder / f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}")

    return write
