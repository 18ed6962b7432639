"""The layers of the native half, as docs/architecture.md draws them: an include points down, never up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.meta._project import NATIVE, ROOT, assert_found, relative, text_files

# Top first. A folder may include its own files and those of the lines below its own.
LAYERS = (
    ("bindings",),
    ("bindings/devices", "bindings/recorder", "bindings/sanitizer", "bindings/trace"),
    ("bindings/types",),
    ("bindings/hooks",),
    ("bindings/base",),
    ("devices", "profiler"),
    ("recorder", "formats/chrome", "formats/perfetto", "formats/xplane"),
    ("runtime", "tracefile", "formats", "analysis", "sanitizer"),
    ("encoding", "hooks"),
    ("base",),
)
LAYER = {folder: number for number, line in enumerate(LAYERS) for folder in line}
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def sources(native: Path, *folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (native / folder).rglob("*.[ch]pp"))


def folder_of(path: Path, native: Path) -> str:
    """native/core/runtime/stream.hpp -> runtime; native/bindings/types/current.hpp -> bindings/types."""
    return path.relative_to(native).parent.as_posix().removeprefix("core/")


def includes(path: Path) -> Iterator[tuple[int, str, bool]]:
    """(line, what is included, whether in quotes) of each include."""
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if found := INCLUDE.match(line):
            yield number, found[1] or found[2], found[1] is not None


def our_includes(path: Path, native: Path) -> Iterator[tuple[int, Path]]:
    """(line, file) of each include in quotes, apart from the C interface, native/include/eventide."""
    for line, name, quoted in includes(path):
        if quoted and not name.startswith("eventide/"):
            yield line, (native if name.startswith("bindings/") else native / "core") / name


def edges(native: Path) -> Counter[tuple[str, str]]:
    """How many includes lead from one folder to another."""
    found: Counter[tuple[str, str]] = Counter()
    for path in sources(native, "core", "bindings"):
        for _, target in our_includes(path, native):
            found[folder_of(path, native), folder_of(target, native)] += 1
    return Counter({edge: count for edge, count in found.items() if edge[0] != edge[1]})


def cycle(graph: Counter[tuple[str, str]]) -> list[str]:
    """Folders that include each other in a circle, the first one again at the end; empty if there is no such circle."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for source, target in graph:
        sorter.add(target, source)
    try:
        sorter.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def forbidden(folder: str, target: str) -> str | None:
    """Why a file of `folder` may not include one of `target`, or None."""
    if folder == target:
        return None
    if target not in LAYER:
        return f"{target!r} has no layer"
    if LAYER[target] == LAYER[folder]:
        return "folders of one layer do not include each other"
    return "includes point down" if LAYER[target] < LAYER[folder] else None


def violations(native: Path) -> list[str]:
    found = []
    for path in sources(native, "core", "bindings"):
        folder, name = folder_of(path, native), path.relative_to(native).as_posix()
        if folder not in LAYER:
            found.append(f"{name}: {folder!r} has no layer; add it to LAYERS and docs/architecture.md")
            continue
        for line, target in our_includes(path, native):
            if not target.is_file() or ".." in target.parts:
                found.append(f"{name}:{line}: write the path from native/core, or bindings/... for the bindings")
            elif reason := forbidden(folder, folder_of(target, native)):
                found.append(f"{name}:{line}: {folder} includes {folder_of(target, native)}: {reason}")
    return found


def test_includes_point_down_only() -> None:
    assert violations(NATIVE) == []


def test_no_folders_include_each_other_in_a_circle() -> None:
    assert cycle(edges(NATIVE)) == []


def test_every_layer_exists() -> None:
    assert set(LAYER) == {folder_of(path, NATIVE) for path in sources(NATIVE, "core", "bindings")}


def test_tests_and_fuzz_targets_include_the_core_by_the_same_root() -> None:
    wrong = [
        f"{relative(path)}: {name}"
        for path in sources(NATIVE, "tests", "fuzz")
        for _, name, quoted in includes(path)
        if quoted and (".." in name or not any((root / name).is_file() for root in (NATIVE / "core", path.parent)))
    ]
    assert wrong == []


def test_no_file_of_ours_hides_a_header_of_the_system() -> None:
    roots = (NATIVE, NATIVE / "core")
    system = {name for path in sources(NATIVE, ".") for _, name, quoted in includes(path) if not quoted}
    assert "vector" in system
    assert [name for name in sorted(system) if any((root / name).exists() for root in roots)] == []


def test_every_native_file_that_a_text_names_exists() -> None:
    named = re.compile(r"\bnative/(?:core|bindings|fuzz|include|tests)/[\w/]+\.(?:cpp|hpp|h)\b")
    wrong = [
        f"{relative(path)}: {name}"
        for path in text_files()
        for name in named.findall(path.read_text("utf-8"))
        if not (ROOT / name).is_file() and path != Path(__file__)
    ]
    assert wrong == []


def write_tree(native: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = native / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("core/base/a.hpp", '#include "runtime/b.hpp"', "includes point down"),
        ("core/base/a.cpp", '#ifdef X\n  #  include "runtime/b.hpp"\n#endif', "includes point down"),
        ("core/runtime/a.hpp", '#include "bindings/types/b.hpp"', "includes point down"),
        ("core/tracefile/a.hpp", '#include "runtime/b.hpp"', "do not include each other"),
        ("core/formats/a.hpp", '#include "formats/chrome/b.hpp"', "includes point down"),
        ("core/runtime/a.hpp", '#include "b.hpp"', "write the path from native/core"),
        ("core/runtime/a.hpp", '#include "../base/b.hpp"', "write the path from native/core"),
        ("core/cellar/a.hpp", "", "'cellar' has no layer"),
        ("core/a.hpp", "", "'core' has no layer"),
        ("core/runtime/a.hpp", '#include <vector>\n#include "base/b.hpp"\n#include "runtime/b.hpp"', None),
        ("core/devices/a.cpp", '#include "eventide/device.h"\n// #include "bindings/types/b.hpp"', None),
        ("bindings/types/a.cpp", '#include "runtime/b.hpp"\n#include "bindings/base/b.hpp"', None),
        ("bindings/module.cpp", '#include "bindings/types/b.hpp"', None),
    ],
)
def test_the_check_finds_each_kind_of_include(tmp_path: Path, name: str, code: str, reason: str | None) -> None:
    folders = ("core/base", "core/runtime", "core/formats/chrome", "bindings/base", "bindings/types")
    write_tree(tmp_path, {f"{folder}/b.hpp": "" for folder in folders})
    write_tree(tmp_path, {name: code})
    assert_found(violations(tmp_path), reason)


def test_edges_are_counted_between_folders_and_circles_found(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "core/base/a.hpp": "",
            "core/hooks/a.hpp": '#include "base/a.hpp"',
            "core/hooks/a.cpp": '#include "hooks/a.hpp"\n#include "base/a.hpp"',
            "core/runtime/a.hpp": '#include "hooks/a.hpp"',
        },
    )
    assert edges(tmp_path) == {("hooks", "base"): 2, ("runtime", "hooks"): 1}
    assert cycle(edges(tmp_path)) == []
    write_tree(tmp_path, {"core/base/a.hpp": '#include "runtime/a.hpp"'})
    found = cycle(edges(tmp_path))
    assert found[0] == found[-1]
    assert set(found) == {"base", "hooks", "runtime"}
