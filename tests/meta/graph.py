"""Prints which folder uses which, and how often: `python -m tests.meta.graph native`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.meta import test_native_layers as native_layers
from tests.meta._project import NATIVE


@dataclass(frozen=True)
class Graph:
    """Folders in layers, top first."""

    layers: tuple[tuple[str, ...], ...]
    files: Counter[str]
    edges: Counter[tuple[str, str]]
    upwards: list[str]

    def lines(self) -> Iterator[str]:
        width = max(len(folder) for line in self.layers for folder in line)
        for line in self.layers:
            for folder in line:
                targets = [(target, count) for (source, target), count in self.edges.items() if source == folder]
                used = ", ".join(f"{target} {count}" for target, count in sorted(targets))
                yield f"{folder:{width}} {self.files[folder]:4} files  {used and '-> ' + used}".rstrip()
            yield ""
        wrong = len(self.upwards)
        yield f"{self.files.total()} files, {self.edges.total()} uses between folders, {wrong} against the layers"
        yield from self.upwards


def native() -> Graph:
    paths = native_layers.sources(NATIVE, "core", "bindings")
    files = Counter(native_layers.folder_of(path, NATIVE) for path in paths)
    return Graph(native_layers.LAYERS, files, native_layers.edges(NATIVE), native_layers.violations(NATIVE))


GRAPHS: dict[str, Callable[[], Graph]] = {"native": native}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in GRAPHS:
        sys.stderr.write(f"usage: python -m tests.meta.graph {'|'.join(GRAPHS)}\n")
        return 2
    sys.stdout.writelines(f"{line}\n" for line in GRAPHS[arguments[0]]().lines())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
