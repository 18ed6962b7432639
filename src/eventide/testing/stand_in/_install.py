"""Builds the guard, connects it to the cpu device, and registers 'torch:mtia' over it."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import torch

from eventide import _native
from eventide.backends import Capabilities, include_path, registry
from eventide.backends.torch import TorchStreams
from eventide.errors import DeviceError
from eventide.runtime import Device, Stream

SOURCE = Path(__file__).with_name("stand_in.cpp")
_LONGEST = 600.0  # seconds that a gate holds a stream whose owner forgot it


@functools.cache
def install(build_directory: str | os.PathLike[str] | None = None, verbose: bool = False) -> Device:
    """Build and load the stand-in; returns its first device. Takes half a minute the first time in a folder."""
    if torch.cuda.is_available() or torch.xpu.is_available():  # torch.accelerator would fix its choice
        raise DeviceError("torch has a real accelerator here, and supports one at a time")
    library = _library(_build(build_directory, verbose))
    library.eventide_stand_in_connect(ctypes.c_void_p(_native.cpu_table()))
    found = torch.accelerator.current_accelerator()
    if found is None or found.type != "mtia":
        raise DeviceError("torch queried MTIA before the stand-in was installed; install it first")
    registry.add("torch:mtia", StandIn(library))
    return Device("torch:mtia")


def _build(build_directory: str | os.PathLike[str] | None, verbose: bool) -> str:
    """Compile it with torch's own tool."""
    from torch.utils import cpp_extension

    folder = os.fspath(build_directory or tempfile.mkdtemp(prefix="eventide-stand-in-"))
    Path(folder).mkdir(parents=True, exist_ok=True)
    return str(
        cpp_extension.load(
            name="eventide_stand_in",
            sources=[str(SOURCE)],
            extra_include_paths=[include_path()],
            extra_cflags=["-O1"],
            build_directory=folder,
            is_python_module=False,
            verbose=verbose,
        )
        or Path(folder) / "eventide_stand_in.so"
    )


def _library(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.eventide_stand_in_connect.argtypes = [ctypes.c_void_p]
    library.eventide_stand_in_stream.argtypes = [ctypes.c_int64]
    library.eventide_stand_in_stream.restype = ctypes.c_void_p
    library.eventide_stand_in_give_back.argtypes = [ctypes.c_int, ctypes.c_int64]
    library.eventide_stand_in_spare.restype = ctypes.c_int64
    return library


class StandIn(TorchStreams):
    """Eventide's cpu streams as an accelerator of torch's"""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__("mtia")
        self._library = library

    def name(self, index: int) -> str:
        """What it is."""
        return f"a stand-in over cpu for torch {torch.__version__}: the API, not a GPU (mtia:{index})"

    def capabilities(self, index: int) -> Capabilities:
        """The cpu stream below can be held, and memory is the host's."""
        return dataclasses.replace(super().capabilities(index), gate=True, host_visible=True)

    def close_stream(self, stream: torch.Stream) -> None:
        """Torch never frees a stream; we do, or threads would accumulate."""
        self._library.eventide_stand_in_give_back(stream.device.index, stream.stream_id)

    def spare_streams(self) -> int:
        """How many closed streams are kept for reuse, each with its thread."""
        return int(self._library.eventide_stand_in_spare())

    def gate(self, stream: torch.Stream) -> threading.Event:
        """Work on the cpu stream below that waits."""
        token = threading.Event()
        underlying(stream).submit(token.wait, _LONGEST)
        return token

    def open(self, token: threading.Event) -> None:
        """Let it end."""
        token.set()


def underlying(stream: Any) -> Stream:
    """The cpu stream below a stream of the stand-in's: what is submitted there runs in its order."""
    backend = registry.BACKENDS.get("torch:mtia")
    if not isinstance(backend, StandIn):
        raise DeviceError("the stand-in is not installed; call eventide.testing.stand_in.install()")
    return _below(backend._library.eventide_stand_in_stream(stream.stream_id))  # noqa: SLF001 - of this file


_handles: dict[int, Stream] = {}  # kept: dropping the last handle of a stream closes it
_making = threading.Lock()  # guards it


def _below(address: int) -> Stream:
    with _making:
        if address not in _handles:
            capsule = ctypes.pythonapi.PyCapsule_New
            capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            stream = Stream.__new__(Stream)
            stream._adopt(capsule(address, b"eventide.stream", None))  # noqa: SLF001 - of our own base class
            _handles[address] = stream
        return _handles[address]
