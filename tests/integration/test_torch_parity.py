"""The ten hooks that come from torch have torch's names and arguments: what was written for it works here unchanged."""

import inspect

import pytest

import eventide as et

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def torch_trace():
    return pytest.importorskip("torch.xpu._gpu_trace", reason="torch is not installed")


def test_every_registry_and_function_of_torch_exists_here(torch_trace):
    theirs = {
        name for name in vars(torch_trace) if name.endswith("Callbacks") or name.startswith("register_callback_for_")
    }
    assert len(theirs) == 20
    assert theirs <= set(dir(et.hooks))


def test_their_functions_take_the_same_arguments(torch_trace):
    for name in vars(torch_trace):
        if name.startswith("register_callback_for_"):
            theirs, ours = inspect.signature(getattr(torch_trace, name)), inspect.signature(getattr(et.hooks, name))
            assert list(ours.parameters) == list(theirs.parameters), name


def test_a_callback_gets_what_torch_would_give_it(torch_trace):
    traced: dict[str, list[tuple[object, ...]]] = {"theirs": [], "ours": []}
    for side, module in (("theirs", torch_trace), ("ours", et.hooks)):
        for count, name in (
            (2, "EventRecord"),
            (2, "EventWait"),
            (1, "MemoryAllocation"),
            (0, "DeviceSynchronization"),
        ):
            registry = getattr(module, f"{name}Callbacks")
            registry.add_callback(lambda *args, side=side, name=name: traced[side].append((name, *args)))
            registry.fire_callbacks(*range(7, 7 + count))
    for name in ("EventRecord", "EventWait", "MemoryAllocation", "DeviceSynchronization"):
        getattr(et.hooks, f"{name}Callbacks").clear_callbacks()
        getattr(torch_trace, f"{name}Callbacks").callback_list.clear()
    assert traced["ours"] == traced["theirs"]
    assert len(traced["ours"]) == 4
