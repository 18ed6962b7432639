"""The documents name files and packages that exist, and the architecture draws every layer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.meta import test_layers, test_native_layers
from tests.meta._project import PACKAGE, ROOT, relative

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PLACE = re.compile(r"`((?:benchmarks|docs|examples|native|src|tests)/[^`\s<]*)`")


def broken_links(document: Path) -> list[str]:
    return [link for link in LINK.findall(document.read_text("utf-8")) if not (document.parent / link).exists()]


def missing_places(text: str) -> list[str]:
    """Paths in backticks that do not exist; `*` matches any part of a name."""
    return [place for place in PLACE.findall(text) if not list(ROOT.glob(place.rstrip("/")))]


def test_every_link_between_documents_resolves() -> None:
    assert {relative(path): found for path in DOCUMENTS if (found := broken_links(path))} == {}


def test_every_place_that_a_document_names_exists() -> None:
    texts = {relative(path): path.read_text("utf-8") for path in DOCUMENTS}
    assert {name: found for name, text in texts.items() if (found := missing_places(text))} == {}


def test_the_architecture_draws_every_layer() -> None:
    drawing = (ROOT / "docs/architecture.md").read_text("utf-8").split("```")[1]
    words = set(re.findall(r"[\w/]+", drawing))
    layers = [name for line in test_layers.LAYERS for name in line]
    folders = [name for line in test_native_layers.LAYERS for name in line]
    names = {name.rpartition(".")[2] for name in layers} | {name.removeprefix("bindings/") for name in folders}
    assert names - words - {"bindings"} == set()


def unknown_modules(package: Path) -> list[str]:
    """`package: name` for each module that the docstring of a package names and that does not exist."""
    names = {path.stem for path in package.rglob("*")} | {"_ns"}  # the unit
    found = []
    for path in sorted(package.rglob("__init__.py")):
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        named = re.findall(r"(?<![\w.(`])(_[a-z]\w*)\b", text)
        found += [f"{path.parent.relative_to(package).as_posix()}: {name}" for name in named if name not in names]
    return found


def test_the_maps_of_the_packages_name_modules_that_exist(tmp_path: Path) -> None:
    assert unknown_modules(PACKAGE) == []
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "__init__.py").write_text('"""A part.\n\n_one  this one\n_two  no such file\n"""\n', "utf-8")
    (tmp_path / "part" / "_one.py").write_text("", "utf-8")
    assert unknown_modules(tmp_path) == ["part: _two"]


def test_a_broken_link_and_a_missing_place_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("[one](b.md) [two](a.md#part) [web](https://example.org)", "utf-8")
    assert broken_links(tmp_path / "a.md") == ["b.md"]
    assert missing_places("`src/eventide/` `native/core/*/stream.cpp` `src/cellar/a.py`") == ["src/cellar/a.py"]
