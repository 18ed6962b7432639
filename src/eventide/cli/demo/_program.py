"""Finds and loads the program that the demo measures: examples/prefetch.py, which the wheel contains.

It is loaded by path, since it is a script for people to read and not a module of the package.
"""

import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from eventide.errors import InternalError

_PACKAGE = Path(__file__).resolve().parents[2]
_PLACES = (
    _PACKAGE / "examples" / "prefetch.py",
    _PACKAGE.parents[1] / "examples" / "prefetch.py",
)  # wheel, source tree
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
DELETED = "load.wait_event(free[k])"  # the line that is missing in the broken variant

Shard = Any  # (bytes, labels): what the program makes and takes back


@dataclass(frozen=True)
class Run:
    """One training run, as the program returns it."""

    seconds: float
    cores: float  # CPU time over wall time
    loss: float
    digest: str  # of every bit of the final weights


@dataclass(frozen=True)
class Program:
    """The loaded program."""

    path: Path
    module: ModuleType
    deleted_line: int  # the line number of DELETED
    one_blas_thread: bool  # False: numpy was imported before

    @property
    def variants(self) -> tuple[str, str, str]:
        """Serial, with events, with one wait deleted."""
        serial, events, broken = self.module.VARIANTS
        return serial, events, broken

    def run(self, variant: str, shards: Sequence[Shard], **options: Any) -> Run:
        """Train once on the shards in this order."""
        return Run(*self.module.run(variant, shards, **options))


def load_program() -> Program:
    """Load the program; its setting of BLAS threads has an effect only if this is the first import of numpy."""
    path = next((place for place in _PLACES if place.is_file()), None)
    if path is None:
        raise InternalError(f"examples/prefetch.py is not at {_PLACES[0]}; install eventide again")
    one_thread = "numpy" not in sys.modules or all(os.environ.get(name) == "1" for name in _THREADS)
    spec = importlib.util.spec_from_file_location("eventide_example_prefetch", path)
    if spec is None or spec.loader is None:
        raise InternalError(f"{path} cannot be loaded as Python; install eventide again")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines = path.read_text("utf-8").splitlines()
    deleted = next(number for number, line in enumerate(lines, 1) if line.strip().startswith(DELETED))
    return Program(path, module, deleted, one_thread)
