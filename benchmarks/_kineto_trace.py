"""Makes a Kineto trace of any size: a training loop with operators, launches, kernels on three streams, flows, steps.

python -m benchmarks._kineto_trace EVENTS FILE
"""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Iterator
from pathlib import Path

_HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 84987740160}],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
  "displayTimeUnit": "ms", "baseTimeNanoseconds": 1735632360000000000,
  "traceEvents": ["""
_OP = """
  {
    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 4000, "tid": 4000,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type": ["float", "Scalar"],
      "Input Dims": [[64, 512], [512, 512], []], "Ev Idx": %d
    }
  },"""
_CALL = """
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4000, "tid": 4000,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },"""
_KERNEL = """
  {
    "ph": "X", "cat": "%s", "name": "%s", "pid": 0, "tid": %d,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d, "queued": 0, "device": 0, "context": 1, "stream": %d, "correlation": %d,
      "registers per thread": 32, "shared memory": 0, "blocks per SM": 25.6, "warps per SM": 102.400002,
      "grid": [2048, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": 100
    }
  },"""
_FLOW = """
  {
    "ph": "%s", "id": %d, "pid": %d, "tid": %d, "ts": %.3f, "cat": "ac2g", "name": "ac2g"%s
  },"""
_STEP = """
  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 4000, "tid": 4000, "ts": %.3f, "dur": %.3f,
    "args": {"External id": %d}
  },"""
_NAMES = [f"aten::op_{number}" for number in range(200)]
_KERNELS = [
    f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor_{n}<float> >(int)" for n in range(150)
]
_GROUP = 5  # events of one operator: itself, the call, the kernel, two ends of an arrow


def events(count: int) -> Iterator[str]:
    """About `count` events as text; the same for the same count."""
    random_of = random.Random(count)
    now, free = 4203669603259.796, {7: 0.0, 20: 0.0, 24: 0.0}
    per_step = max(count // _GROUP // 10, 1)
    for number in range(count // _GROUP):
        if number % per_step == 0:
            yield _STEP % (number // per_step, now, per_step * 30.0, number)
        stream = 24 if number % 50 == 0 else 20 if number % 7 == 0 else 7
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if stream == 24 else random_of.choice(_KERNELS)
        begin = max(now + 8.0, free[stream])
        length = random_of.randint(1000, 40000) / 1000
        free[stream] = begin + length + 0.5
        yield _OP % (random_of.choice(_NAMES), now, 20.5, number, number)
        yield _CALL % (now + 4.25, 6.125, number, number + 1)
        yield _KERNEL % ("kernel", name, stream, begin, length, number, stream, number + 1)
        yield _FLOW % ("s", number + 1, 4000, 4000, now + 4.25, "")
        yield _FLOW % ("f", number + 1, 0, stream, begin, ', "bp": "e"')
        now += 30.0


def write(path: Path, count: int) -> Path:
    """Write a trace of about `count` events."""
    compressed = path.suffix == ".gz"
    with gzip.open(path, "wt", compresslevel=1) if compressed else path.open("w", encoding="utf-8") as file:
        file.write(_HEAD)
        for text in events(count):
            file.write(text)
        file.write(
            '\n  {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "GPU 0"}}\n  ]}'
        )
    return path


if __name__ == "__main__":
    write(Path(sys.argv[2]), int(sys.argv[1]))
