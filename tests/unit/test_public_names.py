"""`import eventide`: names that are imported on first use, and dir()."""

import importlib
import inspect
import re

import eventide as et


def test_every_public_name_is_an_attribute():
    assert [name for name in et.__all__ if not hasattr(et, name)] == []


def test_analysis_is_reachable():
    assert et.analysis is importlib.import_module("eventide.analysis")


def test_dir_lists_the_public_names():
    assert {name for name in dir(et) if not name.startswith("__")} == set(et.__all__)


def parameters():
    """`name.method(parameter)` of everything public, for callables whose signature is known."""
    for name in et.__all__:
        value = getattr(et, name)
        methods = [key for key in vars(value) if not key.startswith("_")] if inspect.isclass(value) else []
        for called in (name, *(f"{name}.{method}" for method in methods)):
            function = getattr(value, called.partition(".")[2]) if "." in called else value
            try:
                known = inspect.signature(function).parameters
            except (TypeError, ValueError):  # no function, or one that is native and has no signature
                continue
            yield from (f"{called}({parameter})" for parameter in known)


# The names and units of torch's edge profiler, whose functions these are.
MICROSECONDS_AS_IN_TORCH = {
    "profile.record_backend_event": ["start_us", "end_us"],
    "profile.record_backend_clock": ["before_us", "backend_us", "after_us"],
}


def test_durations_that_are_passed_in_are_seconds_and_only_timestamps_have_a_unit_in_their_name():
    found = list(parameters())
    assert "Recorder(hang_seconds)" in found
    others = [name for name in found if re.search(r"_(ms|us|millis|micros|milliseconds|microseconds)\)", name)]
    assert others == [f"{name}({each})" for name, names in MICROSECONDS_AS_IN_TORCH.items() for each in names]
    assert {name for name in found if name.endswith("_ns)")} == set()
