"""Findings on a terminal: the lines of the sanitizer with styles, wrapped with a hanging indent."""

from rich.console import Console
from rich.text import Text

from eventide.sanitizer import Findings, lines


def show_findings(findings: Findings, console: Console) -> None:
    """Print all findings, within the width of the console."""
    for pieces in lines(findings):
        text = Text()
        for style, piece in pieces:
            text.append(piece, style)
        print_hanging(text, console)


def print_hanging(text: Text, console: Console) -> None:
    """Print one line; if it is too long, it continues below, with the same indentation."""
    plain = text.plain
    indent = len(plain) - len(plain.lstrip())
    label = 11 if indent == 3 else indent + (3 if plain[:1].isdigit() else 0)  # "   second  ": behind the label
    if len(plain) <= console.width or console.width < 40:
        console.print(text, soft_wrap=True)
        return
    first = text.wrap(console, console.width)[0]
    first.rstrip()
    console.print(first, soft_wrap=True)
    used = len(first.plain.rstrip())
    used += len(plain[used:]) - len(plain[used:].lstrip())
    for line in text[used:].wrap(console, console.width - label):
        line.rstrip()
        console.print(Text(" " * label) + line, soft_wrap=True)
