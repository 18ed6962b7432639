"""What Kineto and its kin call their events, and which of our categories that is. Imports nothing that is large."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

Rule = str | Callable[[str], str]
ALL_STREAMS = {-1, 2**32 - 1}  # how CUPTI says that a row is about no one stream

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


def runtime(name: str) -> str:
    """A call of the driver; one that blocks is a synchronization."""
    return "sync" if _BLOCKS.search(name) else "runtime"


def operator(name: str) -> str:
    """An operator of the framework."""
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
    "cpu_op": operator,
    "operator": operator,
    "user_annotation": _annotation,
    "python_function": _python,
    "dynamo_timed": "compile",
    "Op": operator,  # TensorFlow
    "FEE": _python,  # VizTracer: function entry and exit
    "cuda_api": runtime,  # converters of Nsight's files
    "nvtx": "annotation",
    "": unnamed,
}
RUNTIMES = re.compile(r"(\w+_)?(runtime|driver)$")


def is_device(category: str) -> bool:
    """Whether this category of the source only stands on tracks of devices."""
    return category.lower() in DEVICE


@lru_cache(maxsize=4096)
def category_of(activity: str, name: str, *, on_stream: bool) -> str:
    """The category of one event of a running program, whose activity is one of Kineto's."""
    rule = DEVICE.get(activity) or HOST.get(activity) or (runtime if RUNTIMES.match(activity) else "other")
    if on_stream and (rule == "other" or rule is operator):
        rule = on_device
    return rule if isinstance(rule, str) else rule(name)
