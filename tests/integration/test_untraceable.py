"""Each framework missing, broken on import, or of another version: one clear line, and the rest is traced.

The frameworks here are made up: a package of that name in a folder of the test's own, in front of the real one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as et

FRAMEWORKS = ("torch", "jax", "numba", "triton", "pyopencl")
LIMIT = 60  # seconds
BARE = "__version__ = '0.0.1'\n"

# Versions that have some of the names that an adapter uses, and not all.
HALF = {
    "torch": {"__init__": BARE, "_dynamo/__init__": "", "_dynamo/callback": ""},
    "jax": {"__init__": BARE, "monitoring": "def register_event_listener(listener): pass", "profiler": ""},
    "numba": {
        "__init__": BARE,
        "core/__init__": "",
        "core/event": "class Listener: pass\ndef register(*_): pass\ndef unregister(*_): pass\n",
        "core/dispatcher": "",
        "core/compiler_lock": "global_compiler_lock = None",
    },
    "triton": {"__init__": BARE, "knobs": "class compilation: listener = None\nclass runtime: pass\n"},
    "pyopencl": {"__init__": BARE, "_cl": "def enqueue_copy(): pass"},
}
LACKED = {
    "torch": "torch._dynamo.callback has no callback_handler",
    "jax": "module 'jax.monitoring' has no attribute 'register_scalar_listener'",
    "numba": "module 'numba.core.dispatcher' has no attribute 'Dispatcher'",
    "triton": "type object 'runtime' has no attribute 'launch_enter_hook'",
    "pyopencl": "module 'pyopencl' has no attribute",
}
FIRST = {
    "torch": "No module named 'torch._dynamo'",
    "jax": "No module named 'jax.monitoring'",
    "numba": "No module named 'numba.core'",
    "triton": "No module named 'triton.knobs'",
    "pyopencl": "No module named 'pyopencl._cl'",
}
PROGRAM = """
import importlib
name = {name!r}
try:
    print("version", importlib.import_module(name).__version__)
    if name == "torch":
        importlib.import_module("torch._dynamo.callback")
except Exception as error:
    print(type(error).__name__, error)
import eventide as et
with et.span("the rest"):
    pass
"""
BY_HAND = """
import sys
from eventide import integrations
adapter = getattr(integrations, {name!r})
sys.path[:] = [place for place in sys.path if "site-packages" not in place]
try:
    adapter.install()
except Exception as error:
    print(type(error).__name__, error, adapter.installed())
"""


def write(folder: Path, name: str, files: dict[str, str]) -> None:
    for module, text in files.items():
        path = folder / name / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def run(folder: Path, name: str) -> tuple[str, list[str]]:
    """What the program printed, and what we said, under `eventide run`; the rest of it must be in the trace."""
    (folder / "program.py").write_text(PROGRAM.format(name=name), "utf-8")
    command = [sys.executable, "-m", "eventide", "run", "-q", "--sample", "0", "-o", "t.eventide", "program.py"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the rest" in et.open_trace(folder / "t.eventide").spans.column("name").to_pylist()
    return done.stdout.strip(), done.stderr.splitlines()


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_one_that_breaks_on_import_is_one_line_and_its_error_is_the_program_s(tmp_path, name):
    write(tmp_path, name, {"__init__": "raise OSError('libdevice.so.1: cannot\\n open')"})
    printed, (line,) = run(tmp_path, name)
    assert printed.startswith("OSError libdevice.so.1: cannot")
    why = "its import failed with OSError: libdevice.so.1: cannot open"
    assert line == f"Eventide cannot trace {name}: {why}; try python -c 'import {name}'"


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_one_of_another_version_is_one_line_that_names_what_it_lacks(tmp_path, name):
    write(tmp_path, name, {"__init__": BARE})
    printed, (line,) = run(tmp_path, name)
    assert printed.startswith("version 0.0.1")
    assert line.startswith(f"Eventide cannot trace {name} 0.0.1: {FIRST[name]}; the integration was tested with ")
    assert f": pip install --upgrade {name}" in line.replace("'pyopencl[pocl]'", "pyopencl")


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_one_that_has_half_of_the_names_is_one_line_too(tmp_path, name):
    write(tmp_path, name, HALF[name])
    printed, (*operators, line) = run(tmp_path, name)
    assert printed == "version 0.0.1"
    assert len(operators) == (name == "torch")  # whose operators and compiles are traced apart, and lack apart
    assert LACKED[name] in line
    assert "0.0.1" in line


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_one_that_is_missing_is_the_program_s_own_business(tmp_path, name):
    program = BY_HAND.format(name=name) + f"try:\n    import {name}\nexcept ImportError as error:\n    print(error)\n"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=True
    )
    package = "'pyopencl[pocl]'" if name == "pyopencl" else name
    by_hand, by_import = done.stdout.splitlines()
    assert by_hand.startswith("UsageError ")
    assert by_hand.endswith(f"not installed; pip install {package} False")
    assert (by_import, done.stderr) == (f"No module named '{name}'", "")
