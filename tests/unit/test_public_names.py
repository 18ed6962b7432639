"""`import eventide`: names that are imported on first use, and dir()."""

import importlib
import inspect
import re

import pytest

import eventide as et
from tests.meta._project import run_python


def test_every_public_name_is_an_attribute():
    assert [name for name in et.__all__ if not hasattr(et, name)] == []


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


PACKAGES = [name for name in et.__all__ if inspect.ismodule(getattr(et, name))]
IN_C = {"span"}  # a class in C reports the module in which it is


def test_the_packages_are_attributes_of_a_fresh_import():
    code = f"import eventide as et; print(*[getattr(et, name).__name__ for name in {PACKAGES}])"
    assert run_python("-c", code).split() == [f"eventide.{name}" for name in PACKAGES]
    assert {"analysis", "jobs", "report", "testing", "trace"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_of_a_package_lists_its_public_names_also_before_they_are_imported(package):
    code = f"import eventide.{package} as package; print(set(package.__all__) - set(dir(package)))"
    assert run_python("-c", code) == "set()\n"


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_classes_and_functions_report_a_public_module(package):
    module = importlib.import_module(f"eventide.{package}".rstrip("."))
    found = {name: getattr(module, name) for name in module.__all__ if name not in IN_C}
    modules = {name: one.__module__ for name, one in found.items() if callable(one) and hasattr(one, "__module__")}
    assert {name: where for name, where in modules.items() if "._" in where} == {}
    for where in set(modules.values()):
        importlib.import_module(where)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_functions_and_classes_have_a_text(package):
    module = importlib.import_module(f"eventide.{package}")
    found = {name: getattr(module, name) for name in module.__all__}
    without = [name for name, one in found.items() if not inspect.getdoc(one)]
    assert [name for name in without if inspect.isroutine(found[name]) or inspect.isclass(found[name])] == []


def test_help_of_a_method_of_trace_shows_its_parameters():
    assert str(inspect.signature(et.Trace.idle)) == "(self, by: \"Literal['device', 'stream']\" = 'device') -> 'Result'"
    assert et.Trace.idle.__doc__.startswith("Explain the gaps")


@pytest.mark.parametrize("given", ["trace.json", None, 3])
def test_an_analysis_of_something_else_than_a_trace_says_what_it_takes(given):
    with pytest.raises(et.UsageTypeError, match=f"takes a Trace, as open_trace.*, not {type(given).__name__}"):
        et.analysis.summary(given)
    with pytest.raises(et.UsageTypeError, match="takes a Trace"):
        et.Trace({}).compare(given)
