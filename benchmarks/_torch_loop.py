"""A training loop of torch, run as a program of its own: prints the time of a step that was not disturbed, in ms.

`python _torch_loop.py STEPS [profiler]`: alone, or under torch.profiler with what `eventide run` asks Kineto for.
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
    settings = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)  # noqa: SLF001
    profiler = torch.profiler.profile(experimental_config=settings) if watched else nullcontext()
    took = []
    with profiler:
        for _ in range(steps):
            begin = time.perf_counter()
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
            took.append((time.perf_counter() - begin) * 1e3)
    print(statistics.quantiles(took[3:], n=10)[0])


if __name__ == "__main__":
    main(int(sys.argv[1]), "profiler" in sys.argv)
