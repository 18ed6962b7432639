"""Maps names and categories of Kineto's events, and of similar tools, to our categories. Imports no large package."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

Rule = str | Callable[[str], str]
ALL_STREAMS = {-1, 2**32 - 1}  # CUPTI's ids of a row that concerns all streams

_COPY = re.compile(r"mem(cpy|set)|dma|copy(host|device|buffer)|hipmemcpy|fillbuffer", re.IGNORECASE)
# Libraries at the start of a word, operations anywhere in the name but not in its arguments. Inductor names kernels
# after the operators around them: triton_poi_fused_all_reduce_0 is computation.
_COLLECTIVE = re.compile(
    r"^(?!triton_\w*fused).*((?<![a-z])(nccl|rccl|msccl|hccl|hcom|oneccl|ccl_|gloo|nvshmem|deep_ep::int(ra|er)node)|"
    r"all[-_]?(reduce|gather|to[-_]?all)|reduce[-_]?scatter|collective[-_]?permute|cross_device_reduce|userbuffers)",
    re.IGNORECASE,
)
_BLOCKS = re.compile(
    r"synchronize|QueueFinish|urEventWait|clFinish|clWaitForEvents|zeEventHostSync|hsa_signal_wait|cnrt\w+(Sync|Wait)$",
    re.IGNORECASE,
)
_CALLS = re.compile(r"(AscendCL@)?(aclrt|aclop|aclnn)[A-Z]\w+$")  # of Ascend's runtime, which has no category
_COMPILES = re.compile(r"\(dynamo_timed\)$|^(XlaCompile|backend_compile|compile_or_get_cached)\b|::Compile(AndLoad)?\b")
STEP = re.compile(r"^ProfilerStep\s*#\s*(\d{1,18})$")


_TASK = re.compile(r"(event|notify)_?(wait|record|reset)(_sqe)?$", re.IGNORECASE)  # of Ascend's streams


def on_device(name: str) -> str:
    """Computation, a copy or a collective, by its name: a trace has nothing else to distinguish them."""
    if _COPY.match(name):
        return "copy"
    if task := _TASK.match(name):
        return "wait" if task[2].lower() == "wait" else "other"
    called = name.replace("(anonymous namespace)", "").partition("(")[0]
    return "communication" if _COLLECTIVE.match(called) else "kernel"


def runtime(name: str) -> str:
    """A call of the driver; one that blocks is a synchronization."""
    return "sync" if _BLOCKS.search(name) else "runtime"


def operator(name: str) -> str:
    """An operator of the framework; old files have steps among them."""
    if STEP.match(name):
        return "step"
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
    """The category of an event without one: a call of a runtime or a compiler, if its name matches."""
    if _CALLS.match(name):
        return runtime(name)
    return "compile" if _COMPILES.search(name) else "span"


# Work on a device, and other events on the same tracks. Older Kineto wrote Kernel, Memcpy, Runtime, Operator.
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
    "cuda_profiler_range": "annotation",  # CUPTI's counters of a range: the kernels in it are rows of their own
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
    "fee": _python,  # the same, of other versions
    "cuda_api": runtime,  # converters of Nsight's files
    "nvtx": "annotation",
    "": unnamed,
}
RUNTIMES = re.compile(r"(\w+_)?(runtime|driver)$")


def is_device(category: str) -> bool:
    """True if this category of the source occurs on tracks of devices only."""
    return category.lower() in DEVICE


@lru_cache(maxsize=4096)
def category_of(activity: str, name: str, *, on_stream: bool) -> str:
    """The category of one event of a running program, whose activity is one of Kineto's."""
    rule = DEVICE.get(activity) or HOST.get(activity) or (runtime if RUNTIMES.match(activity) else "other")
    if on_stream and (rule == "other" or rule is operator):
        rule = on_device
    return rule if isinstance(rule, str) else rule(name)
