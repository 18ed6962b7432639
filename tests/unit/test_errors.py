"""The tree of errors, and that each can be caught by the name a person would guess (section 11)."""

import pytest

import eventide as et

TREE = {
    "EventideError": ("Exception",),
    "UsageError": ("EventideError",),
    "UsageTypeError": ("UsageError", "TypeError"),
    "UsageValueError": ("UsageError", "ValueError"),
    "DeviceError": ("EventideError", "RuntimeError"),
    "StreamError": ("EventideError", "RuntimeError"),
    "EventError": ("EventideError", "RuntimeError"),
    "DeadlockError": ("EventideError", "RuntimeError"),
}
BUILTINS = {"Exception": Exception, "TypeError": TypeError, "ValueError": ValueError, "RuntimeError": RuntimeError}


@pytest.mark.parametrize("name", TREE)
def test_the_tree_of_errors(name):
    error = getattr(et, name)
    assert error is getattr(et.errors, name)
    for base in TREE[name]:
        assert issubclass(error, BUILTINS.get(base) or getattr(et, base))
    assert error.__doc__


@pytest.mark.parametrize("name", ["TraceFormatError", "SanitizerError", "InternalError"])
def test_every_other_error_is_an_eventide_error(name):
    assert issubclass(getattr(et.errors, name), et.EventideError)


def test_a_trace_format_error_has_path_and_offset():
    error = et.errors.TraceFormatError("the chunk is torn", path="trace.eventide", offset=4096)
    assert (error.path, error.offset) == ("trace.eventide", 4096)
    for part in ("the chunk is torn", "trace.eventide", "4096"):
        assert part in str(error)


def test_a_sanitizer_error_carries_its_findings():
    error = et.errors.SanitizerError("two findings", findings=["race", "leak"])
    assert list(error.findings) == ["race", "leak"]


def test_an_internal_error_requests_a_report():
    assert "report" in str(et.errors.InternalError("the ring is torn"))


def test_a_usage_error_can_be_caught_as_the_builtin_one():
    with pytest.raises(ValueError):
        raise et.UsageValueError("value")
    with pytest.raises(TypeError):
        raise et.UsageTypeError("type")


def test_errors_report_the_public_module():
    for name in TREE:
        assert not any(part.startswith("_") for part in getattr(et, name).__module__.split("."))
