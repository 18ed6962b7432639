"""A free-threaded Python is refused in one line: by CMake, by the compiler, and at import."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.meta._project import NATIVE, ROOT, run_python

LINE = "is free-threaded"


def test_the_import_is_refused() -> None:
    program = "import sys; sys.abiflags += 't'; import eventide"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == (
        "ImportError: eventide needs the GIL, and this Python is free-threaded; use a Python that has the GIL"
    )


def test_the_compiler_refuses_its_headers() -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    assert compiler, "the package was built here with a C++ compiler"
    line = [compiler, "-std=c++20", "-fsyntax-only", "-DPy_GIL_DISABLED=1", "-DNB_DOMAIN=eventide"]
    folders = [
        sysconfig.get_path("include"),
        run_python("-m", "nanobind", "--include_dir").strip(),
        str(NATIVE),
        str(NATIVE / "core"),
        str(NATIVE / "include"),
    ]
    source = NATIVE / "bindings" / "module.cpp"
    done = subprocess.run(
        [*line, *(f"-I{folder}" for folder in folders), source], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert [text for text in done.stderr.splitlines() if "error: #error" in text and LINE in text]


def test_cmake_refuses_its_configuration(tmp_path: Path) -> None:
    """The real interpreter, with the configuration of a free-threaded one: Python reads the module named here."""
    data = {**sysconfig.get_config_vars(), "Py_GIL_DISABLED": 1}
    (tmp_path / "free_threaded_data.py").write_text(f"build_time_vars = {data!r}\n", "utf-8")
    cmake = Path(sys.executable).with_name("cmake")
    if not cmake.exists():
        pytest.skip("cmake is not in this environment; the build puts it there")
    path = f"{cmake.parent}{os.pathsep}{os.environ['PATH']}"  # ninja is beside cmake
    settings = {"_PYTHON_SYSCONFIGDATA_NAME": "free_threaded_data", "PYTHONPATH": str(tmp_path), "PATH": path}
    done = subprocess.run(
        [cmake, "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert LINE in " ".join(done.stderr.split())
