"""The house of docs/design.md, chapter 2: imports point down only, and rooms on one line do not see each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meta._project import NATIVE, PACKAGE, relative

# Top first. A room may import the rooms on the lines below its own, and itself.
HOUSE = (
    ("cli", "pytest_plugin"),
    ("report",),
    ("analysis",),
    ("profiler", "sanitizer", "testing"),
    ("adapters",),
    ("runtime",),
    ("backends", "compiling"),
    ("hooks",),
    ("store",),
    ("errors", "_interpreter", "_native"),
)
FLOOR = {room: number for number, line in enumerate(HOUSE) for room in line}
# `import eventide` is the front door: it shows names of every room, so only the top line may come in through it.
FRONT_DOOR = ""


def room_of(path: Path, package: Path = PACKAGE) -> str:
    """src/eventide/runtime/_stream.py -> runtime; src/eventide/__init__.py -> the front door."""
    first = path.relative_to(package).parts[0].removesuffix(".py").removesuffix(".pyi")
    return FRONT_DOOR if first in {"__init__", "__main__"} else first


def imported_rooms(path: Path, package: Path = PACKAGE) -> Iterator[tuple[int, str]]:
    """(line, room) of each import of our own, wherever it stands: in a function or for type checking as well."""
    here = ("eventide", *path.relative_to(package).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: -node.level]] if node.level else []
            base += node.module.split(".") if node.module else []
            # `from eventide import errors` names a room, `from eventide import Stream` the front door.
            inner = [alias.name for alias in node.names if base == ["eventide"] and alias.name in FLOOR]
            targets = [f"eventide.{name}" for name in inner]
            if len(inner) < len(node.names):
                targets.append(".".join(base))
        else:
            continue
        for target in targets:
            parts = target.split(".")
            if parts[0] == "eventide":
                yield node.lineno, parts[1] if len(parts) > 1 else FRONT_DOOR


def forbidden(room: str, target: str) -> str | None:
    """Why `room` may not import `target`, or None."""
    if room in {FRONT_DOOR, target}:
        return None
    if target == FRONT_DOOR:
        return None if FLOOR[room] == 0 else "only the top line uses the front door; import the room itself"
    if target not in FLOOR:
        return f"no room is called {target!r}; the house is drawn in docs/design.md"
    if FLOOR[target] == FLOOR[room]:
        return "rooms on one line do not see each other"
    return "imports point down" if FLOOR[target] < FLOOR[room] else None


def violations(package: Path) -> list[str]:
    found = []
    for path in sorted(package.rglob("*.py")):
        room = room_of(path, package)
        if room not in FLOOR and room != FRONT_DOOR:
            found.append(f"{path.relative_to(package)}: no room is called {room!r}")
            continue
        for line, target in imported_rooms(path, package):
            if reason := forbidden(room, target):
                found.append(f"{path.relative_to(package)}:{line}: {room} imports {target or 'eventide'}: {reason}")
    return found


def test_imports_point_down_only() -> None:
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("room", "code", "reason"),
    [
        ("hooks/_a.py", "from eventide.runtime import Stream", "imports point down"),
        ("hooks/_a.py", "def f():\n    import eventide.runtime._stream", "imports point down"),
        ("hooks/_a.py", "from ..runtime import Stream", "imports point down"),
        ("hooks/_a.py", "from .. import runtime", "imports point down"),
        ("hooks/_a.py", "from eventide import Stream", "front door"),
        ("backends/_a.py", "from eventide import errors, compiling", "do not see each other"),
        ("cellar/_a.py", "", "no room is called 'cellar'"),
        ("runtime/_a.py", "from eventide.attic import x", "no room is called 'attic'"),
        (
            "runtime/_a.py",
            "from . import _b\nfrom eventide import _native, errors\nfrom eventide.hooks import on",
            None,
        ),
        ("cli/__init__.py", "import eventide as et\nimport numpy", None),
        ("__init__.py", "from eventide.runtime import Stream", None),
    ],
)
def test_the_check_itself_sees_each_kind_of_import(tmp_path: Path, room: str, code: str, reason: str | None) -> None:
    file = tmp_path / room
    file.parent.mkdir(exist_ok=True)
    file.write_text(code, "utf-8")
    found = violations(tmp_path)
    if reason is None:
        assert found == []
    else:
        assert len(found) == 1
        assert reason in found[0]


def test_the_core_knows_no_python() -> None:
    python = re.compile(r'#\s*include\s*[<"](Python\.h|nanobind/|.*bindings/)')
    sources = [path for folder in ("core", "include", "tests") for path in (NATIVE / folder).rglob("*.*")]
    assert sources
    assert [relative(path) for path in sources if python.search(path.read_text("utf-8"))] == []
