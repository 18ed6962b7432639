"""The layers of docs/architecture.md: imports point down only; packages on one line do not import each other."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.meta._project import NATIVE, PACKAGE, assert_found, relative

# Top first. A package may import the packages on the lines below its own, and itself. A folder inside a package has a
# line of its own where its imports have a direction too.
LAYERS = (
    ("cli", "pytest_plugin"),
    ("run",),
    ("profiler", "testing"),
    ("report",),
    ("jobs",),
    ("analysis",),
    ("sanitizer",),
    ("integrations.torch", "integrations.jax", "integrations.numba", "integrations.triton", "integrations.pyopencl"),
    ("integrations",),
    ("recording",),
    ("trace.formats",),
    ("trace.linking",),
    ("trace",),
    ("runtime", "compiling"),
    ("runtime.access",),
    ("backends", "hooks"),
    ("_util", "errors", "_interpreter", "_native"),
)
LEVEL = {package: number for number, line in enumerate(LAYERS) for package in line}
# `import eventide` is the front door: it shows names of every package, so only the top line may import it.
FRONT_DOOR = ""


def package_in(parts: Sequence[str]) -> str:
    """("trace", "formats", "parquet") -> trace.formats; ("runtime", "_stream") -> runtime; () -> the front door."""
    names = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return next((name for name in names if name in LEVEL), parts[0] if parts else FRONT_DOOR)


def package_of(path: Path, package: Path = PACKAGE) -> str:
    """src/eventide/runtime/_stream.py -> runtime; src/eventide/__init__.py -> the front door."""
    parts = path.relative_to(package).with_suffix("").parts
    return FRONT_DOOR if parts[0] in {"__init__", "__main__"} else package_in(parts)


def imported_packages(path: Path, package: Path = PACKAGE) -> Iterator[tuple[int, str]]:
    """(line, package) of each import of our own, wherever it is: in a function or for type checking as well."""
    here = ("eventide", *path.relative_to(package).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: -node.level]] if node.level else []
            base += node.module.split(".") if node.module else []
            # `from eventide import errors` names a package, `from eventide import Stream` the front door.
            names = {alias.name for alias in node.names}
            inner = {name for name in names if ".".join([*base[1:], name]) in LEVEL}
            targets = [".".join([*base, name]) for name in sorted(inner)]
            if inner < names:
                targets.append(".".join(base))
        else:
            continue
        for target in targets:
            first, *rest = target.split(".")
            if first == "eventide":
                yield node.lineno, package_in(rest)


def forbidden(package: str, target: str) -> str | None:
    """Why `package` may not import `target`, or None."""
    if package in {FRONT_DOOR, target}:
        return None
    if target == FRONT_DOOR:
        return None if LEVEL[package] == 0 else "only the top line uses the front door; import the package itself"
    if target not in LEVEL:
        return f"there is no package {target!r}; docs/architecture.md lists them"
    if LEVEL[target] == LEVEL[package]:
        return "packages on one line do not import each other"
    return "imports point down" if LEVEL[target] < LEVEL[package] else None


def violations(root: Path) -> list[str]:
    found = []
    for path in sorted(root.rglob("*.py")):
        package = package_of(path, root)
        if package not in LEVEL and package != FRONT_DOOR:
            found.append(f"{path.relative_to(root)}: there is no package {package!r}; docs/architecture.md lists them")
            continue
        for line, target in imported_packages(path, root):
            if reason := forbidden(package, target):
                found.append(f"{path.relative_to(root)}:{line}: {package} imports {target or 'eventide'}: {reason}")
    return found


def edges(root: Path) -> Counter[tuple[str, str]]:
    """How many imports lead from one package to another."""
    found: Counter[tuple[str, str]] = Counter()
    for path in root.rglob("*.py"):
        found.update((package_of(path, root), target) for _, target in imported_packages(path, root))
    return Counter({edge: count for edge, count in found.items() if edge[0] != edge[1]})


def test_imports_point_down_only() -> None:
    assert violations(PACKAGE) == []


# Imports of another package's private module that remain: (importing module, imported module).
PRIVATE_IMPORTS: set[tuple[str, str]] = set()


def private_imports(root: Path) -> set[tuple[str, str]]:
    """(importing module, imported module) where a package imports a module of another one that starts with "_"."""
    found = set()
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                targets = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            else:
                continue
            for target in targets:
                first, *names = target.split(".")
                private = first == "eventide" and any(name.startswith("_") for name in names[1:])
                if private and names[0] != parts[0] and root.joinpath(*names).with_suffix(".py").is_file():
                    found.add((".".join(parts), ".".join(names)))
    return found


def test_no_package_imports_another_one_s_private_module() -> None:
    assert private_imports(PACKAGE) == PRIVATE_IMPORTS


@pytest.mark.parametrize(
    "code", ["from eventide.trace import _b", "from eventide.trace._b import c", "import eventide.trace._b"]
)
def test_each_import_of_a_private_module_is_found(tmp_path: Path, code: str) -> None:
    for name, text in (("analysis/_a.py", code), ("trace/_a.py", code), ("trace/_b.py", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert private_imports(tmp_path) == {("analysis._a", "trace._b")}


@pytest.mark.parametrize(
    ("file", "code", "reason"),
    [
        ("hooks/_a.py", "from eventide.runtime import Stream", "imports point down"),
        ("hooks/_a.py", "def f():\n    import eventide.runtime._stream", "imports point down"),
        ("hooks/_a.py", "from ..runtime import Stream", "imports point down"),
        ("hooks/_a.py", "from .. import runtime", "imports point down"),
        ("hooks/_a.py", "from eventide import Stream", "front door"),
        ("backends/_a.py", "from eventide import errors, hooks", "do not import each other"),
        ("unknown/_a.py", "", "there is no package 'unknown'"),
        ("runtime/_a.py", "from eventide.unknown import x", "there is no package 'unknown'"),
        ("trace/_a.py", "from eventide.trace.formats import parquet", "imports point down"),
        ("trace/_a.py", "from eventide.trace import formats", "imports point down"),
        ("trace/formats/a/_b.py", "from eventide.trace import Trace, linking", None),
        ("integrations/torch/_a.py", "from eventide.integrations import jax", "do not import each other"),
        (
            "runtime/_a.py",
            "from . import _b\nfrom eventide import _native, errors\nfrom eventide.hooks import on",
            None,
        ),
        ("cli/__init__.py", "import eventide as et\nimport numpy", None),
        ("__init__.py", "from eventide.runtime import Stream", None),
    ],
)
def test_the_check_itself_sees_each_kind_of_import(tmp_path: Path, file: str, code: str, reason: str | None) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, "utf-8")
    assert_found(violations(tmp_path), reason)


def test_edges_are_counted_between_packages(tmp_path: Path) -> None:
    code = "from eventide import errors\nfrom eventide.hooks import on\nfrom . import _b\n"
    for name, text in (
        ("runtime/_a.py", code),
        ("runtime/_b.py", code),
        ("__init__.py", "from eventide.runtime import x"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert edges(tmp_path) == {("runtime", "errors"): 2, ("runtime", "hooks"): 2, ("", "runtime"): 1}


def test_the_core_does_not_include_python() -> None:
    python = re.compile(r'#\s*include\s*[<"](Python\.h|nanobind/|.*bindings/)')
    sources = [path for folder in ("core", "include", "tests") for path in (NATIVE / folder).rglob("*.*")]
    assert sources
    assert [relative(path) for path in sources if python.search(path.read_text("utf-8"))] == []
