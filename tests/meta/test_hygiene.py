"""What no text file of the project contains: a path of one machine, notes about unfinished work, stray white space."""

from __future__ import annotations

import re

import pytest

from tests.meta._project import relative, text_files

# Spelled in pieces, since this file is read as well.
RULES = {
    "a path of one machine": re.compile(r"(?<![\w.~<])/(?:work|root|home|Users|mnt|opt)" + r"/[\w.]"),
    "unfinished business": re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b"),
    "white space at the end of a line": re.compile(r"[ \t\r]$"),
}


@pytest.mark.parametrize("rule", RULES)
def test_no_file_holds(rule: str) -> None:
    found = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in text_files()
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
        if RULES[rule].search(line)
    ]
    assert found == []


def test_every_file_ends_with_one_newline() -> None:
    texts = {relative(path): path.read_text("utf-8") for path in text_files()}
    assert [name for name, text in texts.items() if text and (not text.endswith("\n") or text.endswith("\n\n"))] == []
