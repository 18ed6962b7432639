"""Words that the project does not use: code does not speak or listen; it records and reports (CONTRIBUTING, rule 1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meta._project import ROOT, relative, text_files

# Spelled in pieces, since this file is read as well.
WORDS = "to-ld tel-ls hea-rd hea-rs hu-sh lear-nt no-body some-body who-ever do-om fa-te".replace("-", "").split()
PHRASES = ["the-room-of".replace("-", " ")]
# A word by itself, or as a part of a snake_case or CamelCase identifier.
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
PHRASE = re.compile("|".join(rf"\b{phrase}\b" for phrase in PHRASES), re.IGNORECASE)
FOLDERS = ("benchmarks", "docs", "examples", "native", "src", "tests", "web")
FILES = ("CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "README.md", "pyproject.toml")


def banned(text: str) -> list[str]:
    """The banned words and phrases in a text, in lower case."""
    words = [part.lower() for part in PART.findall(text)]
    return [word for word in words if word in WORDS] + [phrase.lower() for phrase in PHRASE.findall(text)]


def found_in(path: Path) -> list[str]:
    """`path: word` for the name of the file, and `path:line: word` for its text."""
    name = relative(path)
    found = [f"{name}: {word}" for word in banned(name)]
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        found += [f"{name}:{number}: {word}" for word in banned(line)]
    return found


def files() -> Iterator[Path]:
    """Text files, and those that only this test reads: programs of the corpus, and the page's sources."""
    yield from text_files()
    yield from (ROOT / "tests").rglob("*.json")
    yield from (ROOT / "web" / "src").iterdir()


def places() -> dict[str, list[str]]:
    """What is found in each folder, and in each file of the root."""
    found: dict[str, list[str]] = {top: [] for top in (*FOLDERS, *FILES)}
    for path in files():
        top = relative(path).partition("/")[0]
        if top in found:
            found[top] += found_in(path)
    return found


@pytest.mark.parametrize("top", [*FOLDERS, *FILES])
def test_no_banned_word_is_used(top: str) -> None:
    assert places()[top] == []


@pytest.mark.parametrize("word", WORDS)
def test_each_form_of_a_word_is_found(word: str) -> None:
    forms = (word, word.upper(), word.capitalize(), f"was {word}.", f"is_{word}", f"{word}_by", f"_{word}s_{word}")
    camel = (f"Is{word.capitalize()}By", f"is{word.capitalize()}", f"{word}By", f"HTML{word.capitalize()}")
    assert [form for form in (*forms, *camel) if banned(form) != [word]] == []


def test_a_phrase_is_found_and_other_words_are_not() -> None:
    assert banned(f"In {PHRASES[0].upper()} each") == [PHRASES[0]]
    innocent = "untold toldo shearsman hushed fated doomed heartbeat heardsman threshold private nobodys telltale"
    assert Counter(banned(innocent)) == Counter()
