"""Devices in C++ for the tests: the example with its threads, and a faulty variant. Each is built once."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eventide as et
from eventide.backends import build_library

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "threads_device" / "threads_device.cpp"
FAULTY = Path(__file__).parent / "plugins" / "faulty.cpp"
_numbers = itertools.count(1)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="eventide-plugins-")  # removed when the process ends


@functools.cache
def example_library() -> str:
    return build_library("threads", [EXAMPLE], build_directory=_folder().name)


@functools.cache
def faulty_library() -> str:
    return build_library("faulty", [FAULTY], include_paths=[EXAMPLE.parent], build_directory=_folder().name)


def build_text(folder: Path, text: str, **options: Any) -> et.Device:
    """Build and load one source as device "made"."""
    source = folder / "made.cpp"
    source.write_text(text)
    return et.Device.build("made", sources=[source], build_directory=folder, **options)


@functools.cache
def native_function(name: str) -> Any:
    """A function of turns.cpp, as native work."""
    library = build_library("turns", [FAULTY.parent / "turns.cpp"], build_directory=_folder().name)
    function = getattr(ctypes.CDLL(library), name)
    function.argtypes, function.restype = [ctypes.c_void_p], None
    return function


@functools.cache
def threads_device() -> et.Device:
    """The example as device type "threads", for the rest of the process."""
    known = {device.type for device in et.devices()}
    return et.Device("threads") if "threads" in known else et.Device.load(example_library())


@contextlib.contextmanager
def loaded(name: str = "example", fault: str | None = None) -> Iterator[et.Device]:
    """The example, or with a fault the faulty one, under a name with a number behind it; unregistered afterwards.

    The number keeps a test whose device could not be unregistered from failing those after it.
    """
    os.environ["PLUGIN_FAULT"] = fault or ""
    library = example_library() if fault is None else faulty_library()
    device = et.Device.load(library, f"{name}{next(_numbers)}")
    yield device
    unregister(device.type)  # not after an error, which is the one to report


def unregister(name: str) -> None:
    gc.collect()  # errors hold frames, frames hold streams
    et.Device.unregister(name)
