"""Prints how many files a part of the tree has, and their lines: `python -m tests.meta.sizes [COMMIT...]`.

Without a commit: the files as they are now. With two or more also the lines that went and came, renamed files apart.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import pairwise
from statistics import median

from tests.meta._project import ROOT

PARTS = ("src/eventide", "native/core", "native/bindings")
CODE = (".py", ".pyi", ".cpp", ".hpp", ".h")
CHANGED = ("src", "native", "tests", "benchmarks", "docs")


def git(*arguments: str) -> str:
    return subprocess.run(("git", "-C", str(ROOT), *arguments), capture_output=True, text=True, check=True).stdout


def lengths(commit: str, part: str) -> dict[str, int]:
    """Lines of each file of code below a folder; "" is the working tree."""
    if not commit:
        names = git("ls-files", "--cached", "--others", "--exclude-standard", "--", part).splitlines()
        paths = [ROOT / name for name in names]
        return {
            name: path.read_text("utf-8").count("\n") for name, path in zip(names, paths, strict=True) if path.exists()
        }
    names = git("ls-tree", "-r", "--name-only", commit, "--", part).splitlines()
    return {name: git("show", f"{commit}:{name}").count("\n") for name in names if name.endswith(CODE)}


def describe(commit: str, part: str) -> str:
    sizes = {name: count for name, count in lengths(commit, part).items() if name.endswith(CODE)}
    folders = Counter(name.rpartition("/")[0] for name in sizes)
    short = sum(count <= 40 for name, count in sizes.items() if not name.endswith("/__init__.py"))
    if not sizes:
        return f"{part:16} no files"
    return (
        f"{part:16} {len(sizes):4} files, {short:3} of at most 40 lines  median {median(sizes.values()):4.0f}"
        f"  {sum(sizes.values()):7,} lines  {len(folders):3} folders, the largest {max(folders.values())} files"
    )


def changed(old: str, new: str) -> str:
    rows = [line.split("\t")[:2] for line in git("diff", "-M", "--numstat", old, new, "--", *CHANGED).splitlines()]
    came, went = (sum(int(row[side]) for row in rows if row[side] != "-") for side in (0, 1))
    return f"{old} to {new}: {went:,} lines went, {came:,} came ({', '.join(CHANGED)})"


def main(commits: list[str]) -> int:
    lines = []
    for commit in commits or [""]:
        lines += [commit or "now", *(f"  {describe(commit, part)}" for part in PARTS)]
    lines += [changed(old, new) for old, new in pairwise(commits)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
