"""What people do to modules besides calling them: trace, export, script, copy and store. Without Eventide."""

import copy
import io
import pickle
import warnings

import torch
from torch import nn


class Net(nn.Module):  # type: ignore[misc]  # torch has no types here
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x):
        return self.rest(self.first(x))


class Leaf(torch.fx.Tracer):  # type: ignore[misc]  # as above
    def is_leaf_module(self, module, name):
        return name == "rest"


def main():
    torch.manual_seed(7)
    warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit's, of itself
    net, x = Net(), torch.ones(3, 4)
    expected = net(x)
    graph = torch.fx.symbolic_trace(net)
    print(graph.code)
    print(Leaf().trace(net))
    exported = torch.export.export(net, (x,))
    print(exported.graph)
    print([node.meta["nn_module_stack"] for node in exported.graph.nodes if "nn_module_stack" in node.meta])
    strict = torch.export.export(net, (x,), strict=True)
    print(strict.graph)
    traced, scripted = torch.jit.trace(net, (x,)), torch.jit.script(net)
    print(traced.inlined_graph, scripted.code)
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    others = [graph, exported.module(), strict.module(), traced, scripted, copy.deepcopy(net), loaded]
    others += [pickle.loads(pickle.dumps(net)), torch.load(io.BytesIO(_stored(scripted)), weights_only=False)]
    print([bool(torch.equal(one(x), expected)) for one in others])
    print(len(pickle.dumps(net)), sorted(net.__dict__))


def _stored(scripted):
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    return file.getvalue()


main()
