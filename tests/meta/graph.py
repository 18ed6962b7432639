"""Prints which package imports which, and how often: `python -m tests.meta.graph [python|native]`; both by default."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.meta import test_layers as python_layers
from tests.meta import test_native_layers as native_layers
from tests.meta._project import NATIVE, PACKAGE


@dataclass(frozen=True)
class Graph:
    """Packages or folders in layers, top first."""

    title: str
    layers: tuple[tuple[str, ...], ...]
    files: Counter[str]
    edges: Counter[tuple[str, str]]
    upwards: list[str]

    def lines(self) -> Iterator[str]:
        yield self.title
        yield ""
        width = max(len(folder) for line in self.layers for folder in line)
        for line in self.layers:
            for folder in line:
                targets = [(target, count) for (source, target), count in self.edges.items() if source == folder]
                used = ", ".join(f"{target} {count}" for target, count in sorted(targets))
                yield f"{folder:{width}} {self.files[folder]:4} files  {used and '-> ' + used}".rstrip()
            yield ""
        yield f"{self.files.total()} files, {len(self.upwards)} of {self.edges.total()} imports against the layers"
        yield from self.upwards


def python() -> Graph:
    paths = sorted(PACKAGE.rglob("*.py"))
    files = Counter(python_layers.package_of(path) or TOP for path in paths)
    edges = Counter({(s or TOP, t or TOP): count for (s, t), count in python_layers.edges(PACKAGE).items()})
    layers = ((TOP,), *python_layers.LAYERS)
    return Graph("Packages of src/eventide", layers, files, edges, python_layers.violations(PACKAGE))


def native() -> Graph:
    paths = native_layers.sources(NATIVE, "core", "bindings")
    files = Counter(native_layers.folder_of(path, NATIVE) for path in paths)
    edges, upwards = native_layers.edges(NATIVE), native_layers.violations(NATIVE)
    return Graph("Folders of native/core and native/bindings", native_layers.LAYERS, files, edges, upwards)


TOP = "eventide"  # the front door, __init__.py
GRAPHS: dict[str, Callable[[], Graph]] = {"python": python, "native": native}


def main(arguments: list[str]) -> int:
    if not GRAPHS.keys() >= set(arguments):
        sys.stderr.write(f"usage: python -m tests.meta.graph [{'|'.join(GRAPHS)}]\n")
        return 2
    graphs = [GRAPHS[name]() for name in arguments or GRAPHS]
    sys.stdout.write("\n\n".join("\n".join(graph.lines()) for graph in graphs) + "\n")
    return 1 if any(graph.upwards for graph in graphs) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
