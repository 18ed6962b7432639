"""Each Python block of the README and of the guides runs unchanged, alone, with warnings as errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eventide.trace import SCHEMAS
from eventide.trace._schema import CATEGORIES
from tests.meta._project import ROOT, run_python

GUIDES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))


def blocks(*, tests: bool) -> dict[str, str]:
    """The code of each block that defines tests, or does not, by the file and the line on which it starts."""
    found = {}
    for guide in GUIDES:
        text = (ROOT / guide).read_text("utf-8")
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if ("def test_" in match[1]) == tests:
                found[f"{guide} line {text.count(chr(10), 0, match.start(1)) + 1}"] = match[1]
    return found


@pytest.mark.parametrize("where", blocks(tests=False))
def test_block_runs_and_prints(where: str, tmp_path: Path) -> None:
    file = tmp_path / "block.py"
    file.write_text(blocks(tests=False)[where], "utf-8")
    assert run_python(file, cwd=tmp_path)


def test_the_tests_of_the_guides_pass(tmp_path: Path) -> None:
    """Together: later blocks use the names of earlier ones."""
    code = "\n\n".join(blocks(tests=True).values())
    (tmp_path / "test_guides.py").write_text(code, "utf-8")
    said = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_guides.py", cwd=tmp_path)
    assert f"{code.count('def test_')} passed" in said


@pytest.mark.parametrize("guide", ["README.md", "docs/recording.md", "docs/sanitizer.md", "docs/testing.md"])
def test_a_guide_has_examples(guide: str) -> None:
    found = {**blocks(tests=False), **blocks(tests=True)}
    assert sum(where.startswith(guide) for where in found) >= 2


def test_the_guide_names_every_column_and_category_of_a_trace() -> None:
    text = (ROOT / "docs/recording.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", text, re.MULTILINE))
    documented = {table: re.findall(r"\w+", columns.partition(":")[0]) for table, columns in rows.items()}
    assert documented == {table: schema.names for table, schema in SCHEMAS.items()}
    listed = text.partition("Categories of spans:")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", listed) == list(CATEGORIES)
