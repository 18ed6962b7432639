"""Every listed case of another project's tests is checked by a marked test or has a reason; docs/peer_tests.md says so.

``python -m tests.meta.test_peer_cases`` writes the document.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.meta._project import ROOT
from tests.peers.cases import CASES, FILES

FOLDER, DOCUMENT = ROOT / "tests/peers", ROOT / "docs/peer_tests.md"
HEAD = """\
# The tests of others, case by case

What the tests of torch check of streams, events, callbacks, the sanitizer and the profiler, checked here: the facts
of each case, in the words and on the devices of Eventide, and with the real torch. `tests/peers/cases.py` lists the
cases, the tests beside it are marked with them, and `python -m tests.meta.test_peer_cases` writes this document, which
a test compares.

"""


def marks(path: Path) -> Iterator[tuple[str, str, str]]:
    """(file, case, test) of each mark in a file of tests."""
    tree = ast.parse(path.read_text("utf-8"))
    names = {
        target.id: value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for targets in node.targets
        for target, value in _pairs(targets, node.value)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant)
    }
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for mark in function.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "ported":
                file, *cases = mark.args
                assert isinstance(file, ast.Name)
                for case in cases:
                    assert isinstance(case, ast.Constant)
                    yield str(names[file.id]), str(case.value), function.name


def _pairs(targets: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(targets, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(targets.elts, value.elts, strict=True))
    return [(targets, value)]


def covered() -> dict[tuple[str, str], str]:
    """The test of each ported case."""
    return {(file, case): test for path in sorted(FOLDER.glob("test_*.py")) for file, case, test in marks(path)}


def status(marked: bool, note: str) -> str:
    """passed, in part, or no."""
    return "no" if not marked else "in part" if note else "passed"


def document() -> str:
    tests = covered()
    rows = [
        (file, case, status((file, case) in tests, note), note) for file in CASES for case, note in CASES[file].items()
    ]
    counts = Counter(state for _, _, state, _ in rows)
    passed, part, missing = (counts[state] for state in ("passed", "in part", "no"))
    lines = [
        HEAD,
        f"{len(rows)} cases: {passed} passed, {part} in part or in another way, {missing} not here, with the reason.\n",
    ]
    for file in CASES:
        lines.append(f"\n## {file}\n{FILES[file]}.\n\n| case | | |\n| --- | --- | --- |\n")
        lines += [f"| `{case}` | {state} | {note} |\n" for where, case, state, note in rows if where == file]
    return "".join(lines)


def test_each_case_is_ported_or_has_a_reason() -> None:
    tests = covered()
    without = [
        (file, case) for file in CASES for case, note in CASES[file].items() if not note and (file, case) not in tests
    ]
    assert without == []
    assert set(tests) <= {(file, case) for file in CASES for case in CASES[file]}
    assert set(FILES) == set(CASES)


def test_the_document_lists_each_case() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "run python -m tests.meta.test_peer_cases"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), "utf-8")
