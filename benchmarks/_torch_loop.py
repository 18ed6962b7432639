"""A training loop of torch, run as a program of its own: prints the time of a step that was not disturbed.

In milliseconds: of the clock, then of the CPU, all threads together.

`python _torch_loop.py STEPS [profiler]`: alone, or under torch.profiler with the options of `eventide run`.
"""

import statistics
import sys
import time
from contextlib import nullcontext

import torch
from torch import nn


def main(steps: int, watched: bool) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    block = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    net = nn.Sequential(block, nn.Linear(256, 256))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x = torch.randn(8, 64, 256)
    settings = torch._C._profiler._ExperimentalConfig(  # noqa: SLF001
        enable_cuda_sync_events=True, profile_all_threads=True, expose_kineto_event_metadata=True
    )
    profiler = torch.profiler.profile(experimental_config=settings) if watched else nullcontext()
    took, worked = [], []
    with profiler:
        for _ in range(steps):
            begin, cpu = time.perf_counter(), time.process_time()
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
            took.append((time.perf_counter() - begin) * 1e3)
            worked.append((time.process_time() - cpu) * 1e3)
    print(*(statistics.quantiles(one[3:], n=10)[0] for one in (took, worked)))


if __name__ == "__main__":
    main(int(sys.argv[1]), "profiler" in sys.argv)
