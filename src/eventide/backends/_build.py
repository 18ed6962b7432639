"""Compiling a device from C++ sources. One call of the compiler, no cache; errors contain its whole output."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.errors import DeviceError, TraceFileError, UsageTypeError, UsageValueError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    StrPath = str | os.PathLike[str]


def include_path() -> str:
    """The folder with ``eventide/device.h``: in the wheel beside the package, else in the source tree."""
    package = Path(__file__).resolve().parents[1]
    places = (package / "include", package.parents[1] / "native" / "include")
    for place in places:
        if (place / "eventide" / "device.h").is_file():
            return str(place)
    raise DeviceError(f"eventide/device.h was not found in {', '.join(map(str, places))}; install eventide again")


def build_library(
    name: str,
    sources: Sequence[StrPath],
    *,
    include_paths: Sequence[StrPath] = (),
    build_directory: StrPath | None = None,
    extra_flags: Sequence[str] = (),
    verbose: bool = False,
    python: bool = False,
) -> str:
    """Compile sources into ``lib<name>.so`` in the build directory (a new temporary one by default); returns its path.

    Paths go to the compiler as they are, one argument each: spaces and quotes in them are not interpreted. The
    compiler is $CXX, or c++, or g++, or clang++.
    """
    if isinstance(sources, str | os.PathLike) or isinstance(include_paths, str | os.PathLike):
        raise UsageTypeError("sources and include_paths are lists of paths, not one path")
    if not name.isidentifier():
        raise UsageValueError(f"the name of a device is an identifier such as 'mine', not {name!r}")
    files = [Path(source).resolve() for source in sources]
    if not files:
        raise UsageValueError(f"device {name!r} has no sources; give at least one path")
    if lost := [str(file) for file in files if not file.is_file()]:
        message = f"the sources of device {name!r} do not all exist: {', '.join(lost)}; check the paths"
        raise TraceFileError(message, errno.ENOENT, lost[0])
    folder = Path(build_directory) if build_directory is not None else Path(tempfile.mkdtemp(prefix="eventide-"))
    folder.mkdir(parents=True, exist_ok=True)
    library = folder.resolve() / f"lib{name}.so"
    headers = [sysconfig.get_path("include")] if python else []
    includes = [f"-I{Path(path).resolve()}" for path in (*include_paths, include_path(), *headers)]
    command = [
        _compiler(),
        *("-std=c++20", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread"),
        *includes,
        *map(str, files),
        *extra_flags,
        *("-o", str(library)),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the caller's command
    if ended.returncode:
        shown = f"{ended.stdout}{ended.stderr}".strip()
        raise DeviceError(f"compiling device {name!r} failed with code {ended.returncode}: {command}\n{shown}")
    if verbose:
        sys.stderr.write(f"{command}\n{ended.stdout}{ended.stderr}")
    return str(library)


def import_library(name: str, library: str) -> ModuleType:
    """Import a library as the extension module `name`, which is in ``sys.modules`` from then on."""
    if name in sys.modules:
        raise UsageValueError(f"there is a module {name!r} already, {sys.modules[name]!r}; use another name")
    spec = importlib.util.spec_from_file_location(name, library, loader=ExtensionFileLoader(name, library))
    assert spec is not None  # noqa: S101  (a loader was given)
    assert spec.loader is not None  # noqa: S101  (as above)
    try:
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        if not isinstance(error, ImportError):
            raise
        message = (
            f"{library} is not a Python module: {error}; it needs a function PyInit_{name}, or is_python_module=False"
        )
        raise DeviceError(message) from error
    return module


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise DeviceError("there is no C++ compiler: install g++ or clang++, or name one in the environment variable CXX")
