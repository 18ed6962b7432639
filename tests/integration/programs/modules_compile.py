"""Modules that torch.compile takes in all the ways there are, and what its compiler counted. Without Eventide."""

import sys

import torch
import torch._dynamo
from torch import nn


class Net(nn.Module):  # type: ignore[misc]  # torch has no types here
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))

    def forward(self, x):
        return self.rest(self.first(x))


class Hooked(Net):
    def forward(self, x):
        return self.rest(self.first(x)) + 1


class Outer(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


class Broken(nn.Module):  # type: ignore[misc]  # as above
    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(4, 4)
        self.left_to_python = torch.compiler.disable(nn.Tanh())

    def forward(self, x):
        return self.left_to_python(self.inside(x))


def show(what, value):
    counted = torch._dynamo.utils.counters
    breaks = sum(counted["graph_break"].values())
    print(f"{what}: {value.sum().item():.4f} {dict(counted['stats'])} {breaks}")


def main(backend):
    torch.manual_seed(7)
    x = torch.ones(2, 4)

    def compiled(what, **options):
        return torch.compile(what, backend=backend, fullgraph=True, **options)

    net = Net()
    whole = compiled(net)
    for _ in range(3):
        out = whole(x)
        out.sum().backward()
    show("training", out)
    show("as a part", Outer(whole)(x))
    show("torch's own", compiled(nn.Linear(4, 4))(x))
    for number in range(12):  # more than torch compiles of one code
        kind = type(f"Kind{number}", (nn.Module,), {"forward": eval(f"lambda self, x: x + {number}")})
        compiled(kind())(x)
    show("many", x)
    hooked = Hooked()
    hooked.first.register_forward_hook(lambda _, __, out: out * 2)
    show("hooked", compiled(hooked)(x))
    in_place = Net()
    in_place.compile(backend=backend, fullgraph=True)
    show("in place", in_place(x))
    show("a function", compiled(lambda net, x: net(x))(net, x))
    show("with a break", torch.compile(Broken(), backend=backend)(x))


main(sys.argv[1])
