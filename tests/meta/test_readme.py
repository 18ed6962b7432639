"""Each Python block of the README runs as it stands, in an interpreter of its own, with warnings as errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.meta._project import ROOT, run_python


def blocks() -> dict[str, str]:
    """The code of each block, by the line on which it starts."""
    text = (ROOT / "README.md").read_text("utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {f"line {text.count(chr(10), 0, match.start(1)) + 1}": match[1] for match in found}


@pytest.mark.parametrize("where", blocks())
def test_block_runs_and_prints(where: str, tmp_path: Path) -> None:
    file = tmp_path / "block.py"
    file.write_text(blocks()[where], "utf-8")
    assert run_python(file)


def test_the_readme_has_examples() -> None:
    assert len(blocks()) >= 3
