"""Nothing is written twice: no run of six lines, imports and comments apart, is in two places without a reason."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from tests.meta._project import ROOT, relative, text_files

LENGTH = 6
# docs/decisions/0015-packages-build-tests.md has these reasons too.
ALLOWED = {
    ("examples/tiny_device.py", "tests/immediate_device.py"): "an example is complete in one file",
    ("native/core/runtime/polled_stream.hpp", "native/core/runtime/push_stream.hpp"): "overrides of one interface",
    ("src/eventide/backends/sim/_device.py", "src/eventide/backends/sim/_device.py"): "type checkers show parameters",
    ("tests/sanitized/hosts.py", "tests/sanitized/hosts.py"): "programs as people write them, each complete",
}
# Comments, lines of punctuation, and lines of a list of names.
TRIVIAL = re.compile(r"(#(?!\s*(define|if|el|endif)).*|//.*|[\W_]*|\"[\w.]+\",?)", re.ASCII)


def imports(text: str) -> set[int]:
    """The numbers of the lines of Python that import something."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def lines_of(path: Path) -> list[tuple[int, str]]:
    """(number, text) of the lines that count, with single spaces."""
    text = path.read_text("utf-8")
    without = imports(text) if path.suffix == ".py" else set()
    numbered = ((number, " ".join(line.split())) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line) for number, line in numbered if number not in without and not TRIVIAL.fullmatch(line)]


def duplicates(paths: Iterable[Path], root: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """((file, file), "file:line ~ file:line") of each run that is in two places; no run overlaps itself."""
    places: dict[tuple[str, ...], list[tuple[str, int, int]]] = defaultdict(list)
    for path in paths:
        lines = lines_of(path)
        name = path.relative_to(root).as_posix()
        for begin in range(len(lines) - LENGTH + 1):
            run = lines[begin : begin + LENGTH]
            places[tuple(line for _, line in run)].append((name, run[0][0], run[-1][0]))
    for found in places.values():
        for (one, first, last), (other, second, _) in combinations(found, 2):
            if one != other or last < second:
                yield (one, other), f"{one}:{first} ~ {other}:{second}"


def code() -> list[Path]:
    tops = ("benchmarks", "examples", "native", "src", "tests")
    files = [path for path in text_files() if path.suffix in {".py", ".cpp", ".hpp", ".h"}]
    return sorted(path for path in files if relative(path).partition("/")[0] in tops)


def test_no_six_lines_are_written_twice_without_a_reason() -> None:
    found = list(duplicates(code(), ROOT))
    assert [place for files, place in found if files not in ALLOWED] == []
    assert {files for files, _ in found} == set(ALLOWED), "a reason that is no longer needed"


def test_six_equal_lines_are_found_and_imports_comments_and_five_lines_are_not(tmp_path: Path) -> None:
    body = "\n".join(f"x{n} = {n}" for n in range(5))
    same = "import a\nfrom b import (\n    c,\n    d,\n    e,\n    f,\n    g,\n)\n# one\n"
    for name, text in (("a.py", same + body + "\ny = 1"), ("b.py", same + body + "\nz = 1")):
        (tmp_path / name).write_text(text, "utf-8")
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    assert list(duplicates(paths, tmp_path)) == []
    paths[1].write_text(
        f"w = 0\n{body}  # here it is indented otherwise\n".replace("  #", "\n#") + "\n\n  \ny  = 1", "utf-8"
    )
    assert list(duplicates(paths, tmp_path)) == [(("a.py", "b.py"), "a.py:10 ~ b.py:2")]


def test_a_run_that_is_twice_in_one_file_is_found_and_one_that_repeats_a_line_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text("f(x);\n" * 11, "utf-8")
    assert list(duplicates([path], tmp_path)) == []
    body = "".join(f"f({n});\n" for n in range(6))
    path.write_text(f"{body}}}\n// two\n{body}", "utf-8")
    assert list(duplicates([path], tmp_path)) == [(("a.cpp", "a.cpp"), "a.cpp:1 ~ a.cpp:9")]
