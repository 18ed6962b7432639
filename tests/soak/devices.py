"""The devices that the random programs run on, by the name that `--device` takes."""

from __future__ import annotations

import functools
import inspect
import os
import runpy
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eventide as et
from eventide.backends import DeviceBackend

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LIGHT = ("cpu", "sim", "python", "immediate", "plugin")
HEAVY = ("opencl", "torch")


def yielding(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with a hand-over of the GIL before and after it: what the core holds meanwhile is put to the test."""

    @functools.wraps(method)
    def with_yields(*arguments: Any) -> Any:
        time.sleep(0)
        answer = method(*arguments)
        time.sleep(0)
        return answer

    return with_yields


def register_yielding(base: type[DeviceBackend], name: str) -> str:
    """Register a device of Python whose every method yields the GIL."""
    public = {
        method: yielding(function)
        for kind in reversed(base.__mro__[:-2])  # neither object nor DeviceBackend, whose defaults the core skips
        for method, function in vars(kind).items()
        if inspect.isfunction(function) and not method.startswith("_")
    }
    et.Device.register(type(f"Yielding{base.__name__}", (base,), {**public, "type": name, "__doc__": base.__doc__}))
    return name


def _python() -> str:
    return register_yielding(runpy.run_path(str(EXAMPLES / "tiny_device.py"))["Tiny"], "yielding")


def _immediate() -> str:
    from tests.immediate_device import Prompt

    return register_yielding(Prompt, "prompt_yielding")


def _plugin() -> str:
    return str(et.Device.build("threads", sources=[EXAMPLES / "threads_device" / "threads_device.cpp"]))


def _torch() -> str:
    from eventide.testing import stand_in

    folder = tempfile.mkdtemp(prefix="eventide-stand-in-")
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", folder)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # ninja
    return str(stand_in.install(folder))


_MAKERS = {"python": _python, "immediate": _immediate, "plugin": _plugin, "torch": _torch}


def prepare(name: str) -> et.Device:
    """Make the device known to Eventide where it is not, and return it."""
    return et.Device(_MAKERS[name]() if name in _MAKERS else name)
