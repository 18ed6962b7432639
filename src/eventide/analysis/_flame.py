"""The sampled stacks of each thread as one tree: what called what, how long; imports under the name of the module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from eventide.analysis._samples import RUNPY, SampledStack, is_import, module_name, sampled_stacks
from eventide.analysis._view import View, view_of
from eventide.trace import Trace


@dataclass
class FlameNode:
    """A function in its callers, a thread, or all threads. `time` holds the children's; `kind` decides the colour."""

    name: str
    place: str  # the file, of a function
    kind: str  # "all", "thread", "function", "import" or "waiting"
    time: int = 0
    children: dict[tuple[str, str, str], FlameNode] = field(default_factory=dict)

    def child(self, name: str, place: str, kind: str) -> FlameNode:
        """The child of this name, created on first use."""
        key = (name, place, kind)
        if key not in self.children:
            self.children[key] = FlameNode(name, place, kind)
        return self.children[key]

    def sorted(self) -> list[FlameNode]:
        """Most time first."""
        return sorted(self.children.values(), key=lambda node: (-node.time, node.name, node.place))


def flame(trace: Trace | View) -> FlameNode:
    """The tree; its root has no time if the trace has no samples."""
    root = FlameNode("all threads", "", "all")
    for stack in sampled_stacks(view_of(trace)):
        node = root
        node.time += stack.time
        for name, place, kind in path_of(stack):
            node = node.child(name, place, kind)
            node.time += stack.time
    return root


def path_of(stack: SampledStack) -> Iterator[tuple[str, str, str]]:
    """From the thread to the innermost frame; the time that it waited is a leaf of its own."""
    yield stack.thread, "", "thread"
    importing = False
    for function, file, _ in reversed(stack.frames):
        if is_import(file):
            importing = True
        elif importing and function == "<module>":
            yield f"import {module_name(file)}", file, "import"
        elif file != RUNPY:
            yield function, file, "import" if importing else "function"
    if stack.waiting:
        yield "waiting", "", "waiting"
