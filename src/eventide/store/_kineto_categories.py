"""What other tools call their events, and which of our categories that is."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from eventide.store._kineto_columns import Ids, Mask, Strings
from eventide.store._schema import CATEGORIES

WORDS = list(CATEGORIES)
NUMBER = {name: number for number, name in enumerate(WORDS)}
Rule = str | Callable[[str], str]

_COPY = re.compile(r"mem(cpy|set)|dma|copy(host|device|buffer)|hipmemcpy|fillbuffer", re.IGNORECASE)
_COLLECTIVE = re.compile(
    r"(void )?(nccl|rccl|msccl|hccl|oneccl|ccl_|gloo|nvshmem|all-?(reduce|gather|to-?all)|"
    r"reduce-?scatter|collective-?permute)",
    re.IGNORECASE,
)
_BLOCKS = re.compile(r"synchronize|QueueFinish|urEventWait|clFinish|clWaitForEvents|zeEventHostSync", re.IGNORECASE)
_COMPILES = re.compile(r"\(dynamo_timed\)$|^(XlaCompile|backend_compile|compile_or_get_cached)\b|::Compile(AndLoad)?\b")
STEP = re.compile(r"^ProfilerStep\s*#\s*(\d{1,18})$")


def on_device(name: str) -> str:
    """Computation, a copy or a collective: the name is all that a trace says about it."""
    if _COPY.match(name):
        return "copy"
    return "communication" if _COLLECTIVE.match(name) else "kernel"


def _runtime(name: str) -> str:
    return "sync" if _BLOCKS.search(name) else "runtime"


def _operator(name: str) -> str:
    return "compile" if _COMPILES.search(name) else "op"


def _annotation(name: str) -> str:
    if STEP.match(name):
        return "step"
    return "compile" if _COMPILES.search(name) else "annotation"


def _synchronization(name: str) -> str:
    return "wait" if "Wait" in name else "sync"


def _mtia(name: str) -> str:
    if name.startswith("event_"):
        return "wait" if name == "event_wait" else "other"
    return on_device(name)


def _python(name: str) -> str:
    return "module" if name.startswith("nn.Module: ") else "sample"


def unnamed(name: str) -> str:
    """What the source gave no category: a compiler, where the name says so."""
    return "compile" if _COMPILES.search(name) else "span"


# Work on a device, and what stands beside it on the same tracks. Older Kineto wrote Kernel, Memcpy, Runtime, Operator.
DEVICE: dict[str, Rule] = {
    "kernel": on_device,
    "concurrent_kernel": on_device,
    "gpu_op": on_device,
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "memcpy": "copy",
    "memset": "copy",
    "cuda_sync": _synchronization,
    "xpu_sync": _synchronization,
    "hip_sync": _synchronization,
    "mtia_ccp_events": _mtia,
    "mtia_insight": "annotation",
    "gpu_user_annotation": "annotation",
    "gpu_annotation": "annotation",
    "hpu_op": on_device,
    "privateuse1_kernel": on_device,
}
HOST: dict[str, Rule] = {
    "cpu_op": _operator,
    "operator": _operator,
    "user_annotation": _annotation,
    "python_function": _python,
    "dynamo_timed": "compile",
    "Op": _operator,  # TensorFlow
    "FEE": _python,  # VizTracer: function entry and exit
    "cuda_api": _runtime,  # converters of Nsight's files
    "nvtx": "annotation",
    "": unnamed,
}
_RUNTIMES = re.compile(r"(\w+_)?(runtime|driver)$")
_OURS: dict[str, Rule] = {name: name for name in CATEGORIES if name not in {"kernel", "runtime", "other"}}
RULES: dict[str, Rule] = {**_OURS, **DEVICE, **HOST}
# The core adds what the source said to the arguments of every other category.
KNOWN = sorted(
    {
        *RULES,
        *(name.capitalize() for name in ("kernel", "memcpy", "memset", "runtime", "operator")),
        *(
            f"{kind}{part}"
            for kind in ("", "cuda_", "hip_", "xpu_", "mtia_", "hpu_", "privateuse1_", "glow_")
            for part in ("runtime", "driver")
        ),
    }
)


def rule_of(category: str) -> Rule | None:
    """How events of this category of the source are named here; None for one that nobody knows."""
    rule = RULES.get(category) or RULES.get(category.lower())
    return rule or (_runtime if _RUNTIMES.match(category.lower()) else None)


def is_device(category: str) -> bool:
    """Whether this category of the source only stands on tracks of devices."""
    return category.lower() in DEVICE


def categorize(
    sources: Ids, names: Ids, strings: Strings, on_stream: Mask, beside_stream: Mask
) -> npt.NDArray[np.int8]:
    """The category of each row, as a number of WORDS. Rows of categories that nobody knows go by where they are.

    Beside the streams of a device some tools draw lines that show the same time again, by step, module or scope.
    """
    rules: list[Rule] = ["other", on_device, unnamed, "annotation", _operator]
    table = np.zeros(len(strings), np.int8)
    for number, source in strings.used(sources).items():
        rule = rule_of(source)
        if rule is not None and source:
            if rule not in rules:
                rules.append(rule)
            table[number] = rules.index(rule)
    chosen = table[sources]
    chosen[((chosen == 0) | (chosen == 4)) & on_stream] = 1
    chosen[(sources == 0) & ~on_stream] = 2
    chosen[((chosen == 0) | (chosen == 2) | (chosen == 4)) & beside_stream] = 3
    found = np.empty(len(sources), np.int8)
    for number, rule in enumerate(rules):
        rows = np.flatnonzero(chosen == number)
        found[rows] = NUMBER[rule] if isinstance(rule, str) else _by_name(rule, names[rows], strings)
    return found


def _by_name(rule: Callable[[str], str], names: Ids, strings: Strings) -> npt.NDArray[np.int8]:
    table = np.zeros(len(strings), np.int8)
    for number, name in strings.used(names).items():
        table[number] = NUMBER[rule(name)]
    return table[names]
