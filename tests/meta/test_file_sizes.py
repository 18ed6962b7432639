"""One idea a file: Python files have at most 500 lines, C++ files at most 600."""

from __future__ import annotations

from tests.meta._project import relative, text_files

LIMITS = {".py": 500, ".cpp": 600, ".hpp": 600, ".h": 600}
# "path": lines it may have, with the reason in a comment.
ALLOWED: dict[str, int] = {}


def test_no_file_is_too_long() -> None:
    too_long = []
    for path in text_files():
        limit = ALLOWED.get(relative(path), LIMITS.get(path.suffix))
        lines = path.read_text("utf-8").count("\n")
        if limit is not None and lines > limit:
            too_long.append(f"{relative(path)}: {lines} lines, at most {limit}")
    assert too_long == []


def test_the_allow_list_names_only_files_that_need_it() -> None:
    lines = {relative(path): path.read_text("utf-8").count("\n") for path in text_files() if path.suffix in LIMITS}
    assert [name for name in ALLOWED if lines.get(name, 0) <= LIMITS["." + name.rpartition(".")[2]]] == []
