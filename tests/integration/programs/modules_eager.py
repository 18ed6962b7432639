"""Modules of many kinds, called in many ways, each on a thread of its own. Without Eventide."""

import os
import threading
import traceback

import torch
from torch import nn


class Block(nn.Module):  # type: ignore[misc]  # torch has no types here
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x):
        return x + self.layers(self.norm(x))


class Net(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Countdown(nn.Module):  # type: ignore[misc]  # as above
    """Calls itself, and one module by two names."""

    def __init__(self):
        super().__init__()
        self.first = self.second = nn.Identity()

    def forward(self, number):
        return self.second(self(number - 1)) if number else self.first(0)


class Failing(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        try:
            return self.inner(x[:, :3])
        except RuntimeError:
            return self.inner(x, "too many")


class Called(nn.Linear):  # type: ignore[misc]  # as above
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs) + 1


class Waits(nn.Module):  # type: ignore[misc]  # as above
    """Is inside its forward while another thread calls what it has inside."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Identity()

    def forward(self, x):
        other = threading.Thread(target=self.inner, args=(x,), name="in the middle")
        other.start()
        other.join()
        return x


def train(x):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net(x).sum().backward()
        optimizer.step()
    print(f"{net(x).sum().item():.4f}")


def fail(x):
    try:
        Failing()(x)
    except TypeError:
        traceback.print_exc()
    nn.Identity()(x)


def change(x):
    """A child is replaced, and another moves."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    net(x)
    net[0], net[1] = net[1], nn.Sigmoid()
    net(x)


def hook(x):
    traced = []
    every = nn.modules.module.register_module_forward_hook(lambda *_: traced.append("every"))
    net = nn.Sequential(nn.Identity())
    net.register_forward_pre_hook(lambda *_: traced.append("before"))
    net[0].register_forward_hook(lambda _, __, out: out + 1)
    print(f"{net(x).sum().item():.1f}", traced, Called(4, 1)(x).shape)
    every.remove()


def fork(x):
    child = os.fork()
    if child == 0:
        Net()(x)
        print(nn.Module.__call__.__qualname__, nn.Module.__call__ is nn.Module._wrapped_call_impl, flush=True)
        os._exit(0)
    os.waitpid(child, 0)


def on_a_thread(act, x):
    thread = threading.Thread(target=act, args=(x,), name=act.__name__)
    thread.start()
    return thread


def main():
    torch.manual_seed(7)
    x = torch.ones(3, 4)
    for act in (train, fail, change, hook, fork):
        on_a_thread(act, x).join()
    Countdown()(2)
    Waits()(x)
    barrier = threading.Barrier(2)

    def left(x):
        met = nn.Sequential(Block(), nn.Tanh())
        met[0].register_forward_pre_hook(lambda *_: [barrier.wait(), None][1])
        met(x)

    def right(x):
        met = nn.Sequential(nn.Sigmoid())
        met[0].register_forward_pre_hook(lambda *_: [barrier.wait(), None][1])
        met(x)

    for thread in [on_a_thread(left, x), on_a_thread(right, x)]:
        thread.join()


main()
