"""Shared by the tests of the project itself: its files, and a new interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "eventide"
NATIVE = ROOT / "native"

FOLDERS = (".ci", "benchmarks", "docs", "examples", "native", "requirements", "src", "tests")
TEXT = {".py", ".pyi", ".cpp", ".hpp", ".h", ".md", ".toml", ".txt", ".cmake", ".html", ".js", ".css", ""}


def text_files() -> Iterator[Path]:
    """Every text file we wrote: those at the root and all under FOLDERS, except native/third_party."""
    roots = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]  # a file in a second work tree
    below = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted(roots + below):
        if path.suffix in TEXT and not {"__pycache__", "third_party"} & set(path.parts):
            yield path


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def assert_found(found: list[str], reason: str | None) -> None:
    """Exactly one violation was found, for this reason; none for None."""
    assert len(found) == (reason is not None), found
    assert reason is None or reason in found[0]


def run_python(*arguments: str | Path, cwd: Path | None = None) -> str:
    """What a fresh interpreter prints; it must succeed without output on stderr, warnings included."""
    command = [sys.executable, "-W", "error", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
