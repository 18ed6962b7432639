"""The committed _native.pyi is what nanobind generates for the installed module."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

from eventide import _native
from tests.meta._project import NATIVE, PACKAGE, run_python


def test_the_stub_is_the_generated_one(tmp_path: Path) -> None:
    patterns = NATIVE / "bindings" / "stub_patterns.txt"
    options = ["-p", str(patterns)] if patterns.exists() else []
    run_python("-m", "nanobind.stubgen", "-q", "-m", "eventide._native", "-O", tmp_path, *options)
    committed = (PACKAGE / "_native.pyi").read_text("utf-8").splitlines()
    generated = (tmp_path / "_native.pyi").read_text("utf-8").splitlines()
    difference = "\n".join(difflib.unified_diff(committed, generated, "committed", "generated", lineterm=""))
    assert not difference, f"run `make stubs`:\n{difference}"


def test_the_classes_of_the_stub_have_the_members_of_the_real_ones() -> None:
    """For what native/bindings/stub_patterns.txt replaces: stubgen writes that down as it is given."""
    wrong = []
    for node in ast.parse((PACKAGE / "_native.pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            described = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            real = set(dir(getattr(_native, node.name)))
            public = {name for name in vars(getattr(_native, node.name)) if not name.startswith("_")}
            # A slot without a name before Python 3.12.
            wrong += [f"{node.name}.{name} does not exist" for name in described - real - {"__buffer__"}]
            wrong += [f"{node.name}.{name} is missing" for name in public - described]
    assert wrong == []
