"""Each Python block of the README and of the guides runs as it stands, alone, with warnings as errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eventide.trace import SCHEMAS
from eventide.trace._schema import CATEGORIES
from tests.meta._project import ROOT, run_python

GUIDES = ("README.md", "docs/recording.md")


def blocks() -> dict[str, str]:
    """The code of each block, by the file and the line on which it starts."""
    found = {}
    for guide in GUIDES:
        text = (ROOT / guide).read_text("utf-8")
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found[f"{guide} line {text.count(chr(10), 0, match.start(1)) + 1}"] = match[1]
    return found


@pytest.mark.parametrize("where", blocks())
def test_block_runs_and_prints(where: str, tmp_path: Path) -> None:
    file = tmp_path / "block.py"
    file.write_text(blocks()[where], "utf-8")
    assert run_python(file, cwd=tmp_path)


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_has_examples(guide: str) -> None:
    assert sum(where.startswith(guide) for where in blocks()) >= 2


def test_the_guide_names_every_column_and_category_of_a_trace() -> None:
    text = (ROOT / "docs/recording.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", text, re.MULTILINE))
    told = {table: re.findall(r"\w+", columns.partition(":")[0]) for table, columns in rows.items()}
    assert told == {table: schema.names for table, schema in SCHEMAS.items()}
    listed = text.partition("Categories of spans:")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", listed) == list(CATEGORIES)
