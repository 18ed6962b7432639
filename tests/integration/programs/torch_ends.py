"""A few operators of torch, and then an end of the kind that is asked for."""

import os
import signal
import sys

import torch

net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print("done", flush=True)
if sys.argv[1:] == ["_exit"]:
    os._exit(3)
if sys.argv[1:] == ["SIGKILL"]:
    os.kill(os.getpid(), signal.SIGKILL)
