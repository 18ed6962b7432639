"""Programs of frameworks."""

from __future__ import annotations

import subprocess
from pathlib import Path

from eventide.backends import include_path
from tests.programs.program import Program

TRAIN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(256, 64), torch.randint(0, 10, (256,)))
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    net = {wrap}
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in DataLoader(data, batch_size=32, num_workers={workers}):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    print(f"{{loss.item():.3f}}")
"""
GLOO = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
for _ in range(20):
    x = torch.ones(1000) * dist.get_rank()
    dist.all_reduce(x)
print(f"rank {dist.get_rank()} {x[0].item()}\\n", end="")
dist.destroy_process_group()
"""
JAX = """
import jax, jax.numpy as jnp
@jax.jit
def f(x):
    return jnp.sin(x) * 2 + 1
print(f(jnp.ones(3)).shape, f(jnp.ones(5)).shape)
"""
NUMBA = """
import numba, numpy
@numba.njit
def total(a):
    s = 0.0
    for x in a:
        s += x
    return s
print(total(numpy.ones(1000)), total(numpy.ones(1000, "f4")))
"""
OPENCL = """
import numpy as np, pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
a = np.arange(1000, dtype="f4")
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=a)
program = cl.Program(context, "__kernel void twice(__global float *a) { a[get_global_id(0)] *= 2; }").build()
program.twice(queue, a.shape, None, buffer)
cl.enqueue_copy(queue, a, buffer)
print(a.sum())
"""
NUMPY = """
import numpy as np
a = np.random.default_rng(0).random((400, 400))
for _ in range(30):
    a = a @ a / np.linalg.norm(a)
print(a.shape)
"""
SKLEARN = """
from sklearn.ensemble import RandomForestClassifier
from sklearn.datasets import make_classification
x, y = make_classification(500, random_state=0)
print(RandomForestClassifier(20, random_state=0).fit(x, y).score(x, y))
"""
SPANS = """
#include <eventide/profiler.h>
extern "C" void work() {
    for (int n = 0; n < 10; ++n) { EVENTIDE_SPAN("outer"); EVENTIDE_SPAN("inner"); }
}
"""
EXTENSION = 'import ctypes\nctypes.CDLL("./libspans.so").work()\nprint("worked")\n'


def build_extension(folder: Path) -> None:
    source = folder / "spans.cpp"
    source.write_text(SPANS)
    command = ["g++", "-shared", "-fPIC", f"-I{include_path()}", str(source), "-o", str(folder / "libspans.so")]
    subprocess.run(command, check=True)


def training(wrap: str, workers: int) -> dict[str, str]:
    return {"p.py": TRAIN.format(wrap=wrap, workers=workers)}


PROGRAMS = [
    Program("NumPy", ["p.py"], {"p.py": NUMPY}, ["numpy"], compared=True),
    Program("scikit-learn", ["p.py"], {"p.py": SKLEARN}, ["sklearn"]),
    Program("torch, eager training", ["p.py"], training("model", 0), ["torch"], torch=True, compared=True),
    Program(
        "torch.compile (aot_eager)", ["p.py"], training("torch.compile(model, backend='aot_eager')", 0), ["torch"],
        torch=True,
    ),
    Program("torch, DataLoader with 2 workers", ["p.py"], training("model", 2), ["torch"], torch=True),
    Program(
        "torchrun with gloo, 2 ranks",
        ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "p.py"], {"p.py": GLOO}, ["torch"],
        sorted_output=True,
    ),
    Program("JAX", ["p.py"], {"p.py": JAX}, ["jax"]),
    Program("Numba", ["p.py"], {"p.py": NUMBA}, ["numba"]),
    Program("pyopencl", ["p.py"], {"p.py": OPENCL}, ["pyopencl"]),
    Program("C++ extension with spans", ["p.py"], {"p.py": EXTENSION}, ["g++"], prepare=build_extension),
]  # fmt: skip
