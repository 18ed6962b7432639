"""For tests of device code: no findings of the sanitizer, and budgets for synchronizations, memory and idle time.

    @pytest.mark.eventide_no_findings                 the sanitizer checks the test; what is wrong fails it
    @pytest.mark.eventide_budget(max_syncs=3)         also max_peak_bytes and max_idle_pct
    def test_step(eventide_findings): ...             the findings so far, as a list
    pytest --eventide-sanitize                        every test under the sanitizer
    eventide run -m pytest                            a span for each test

pytest loads it by its entry point. A test that uses none of these has no overhead.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from eventide.sanitizer import sanitize
    from eventide.testing import Budget

NO_FINDINGS = "eventide_no_findings"
BUDGET = "eventide_budget"
LIMITS = ("max_syncs", "max_peak_bytes", "max_idle_pct")
OPTIONS = ("predict", "suppress", "leaks", "allow_unchecked", "waste")
OF_THE_PLUGIN = ("allow_unchecked", "waste")  # the others are arguments of sanitize


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--eventide-sanitize``"""
    group = parser.getgroup("eventide")
    group.addoption(
        "--eventide-sanitize", action="store_true", help="run every test under eventide's sanitizer; findings fail it"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line(
        "markers",
        f"{NO_FINDINGS}(predict=False, suppress=None, leaks=False, allow_unchecked=False, waste=False): "
        "fail if eventide's sanitizer finds something wrong (waste=True: or redundant), or if no access is known",
    )
    config.addinivalue_line(
        "markers",
        f"{BUDGET}(max_syncs=None, max_peak_bytes=None, max_idle_pct=None): "
        "fail if the test blocks the host more often, allocates more or leaves streams idle longer",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Report misuse of a marker before any test runs: pytest prints the line and ends with code 4."""
    for item in items:
        if wrong := _misuse(item):
            raise pytest.UsageError(f"{item.nodeid}: {wrong}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test is a span, with its fixtures, if the process is recorded."""
    recording = sys.modules.get("eventide.recording")  # what records has imported it
    if recording is None:
        return (yield)
    with recording.span(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check what the markers ask for; report only on a test that passed."""
    mark = item.get_closest_marker(NO_FINDINGS)
    budget = item.get_closest_marker(BUDGET)
    everything = item.config.getoption("--eventide-sanitize")
    if mark is None and budget is None and not everything:
        return (yield)
    if wrong := _misuse(item):  # a marker that was added while tests run
        pytest.fail(wrong, pytrace=False)
    with ExitStack() as watching:
        measured = watching.enter_context(_budget()) if budget is not None else None
        options = dict(mark.kwargs) if mark is not None else {"allow_unchecked": True}
        unchecked, waste = (options.pop(name, False) for name in OF_THE_PLUGIN)
        findings = watching.enter_context(_sanitizer(options)) if mark is not None or everything else None
        result = yield
    problems = [] if findings is None else _complaints(findings, unchecked, waste)
    if findings and not problems:
        item.add_report_section("call", "eventide", str(findings))  # pytest -rP shows it
    if measured is not None and budget is not None:
        problems += measured.complaints(**budget.kwargs)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
    return result


def _misuse(item: pytest.Item) -> str:
    """What is wrong with the markers of a test, in one line; empty if nothing."""
    mark, budget = item.get_closest_marker(NO_FINDINGS), item.get_closest_marker(BUDGET)
    if mark is None and budget is None:
        return ""
    from eventide.errors import EventideError

    try:
        if mark is not None:
            _check_keywords(mark, OPTIONS)
            _sanitizer({key: value for key, value in mark.kwargs.items() if key not in OF_THE_PLUGIN})
        if budget is not None:
            _check_keywords(budget, LIMITS)
            _budget().complaints(**budget.kwargs)
    except EventideError as error:
        return " ".join(str(error).split())
    return ""


def _complaints(findings: sanitize, unchecked: bool, waste: bool) -> list[str]:
    if findings.result.faults or (waste and findings):
        return [str(findings)]
    if findings.verdict == "not checkable" and not unchecked:
        return [f"eventide_no_findings: {findings.summary}"]
    return []


def _sanitizer(options: dict[str, Any]) -> sanitize:
    from eventide.sanitizer import sanitize

    return sanitize(**options)


def _budget() -> Budget:
    from eventide.testing import Budget

    return Budget()


def _check_keywords(mark: pytest.Mark, known: Sequence[str]) -> None:
    from eventide.errors import UsageValueError

    unknown = sorted(set(mark.kwargs) - set(known))
    if mark.args or unknown:
        given = repr(mark.args[0]) if mark.args else f"{unknown[0]}="
        raise UsageValueError(f"the marker {mark.name} takes {', '.join(f'{name}=' for name in known)}; got {given}")
    if mark.name == BUDGET and not mark.kwargs:
        raise UsageValueError(f"the marker {BUDGET} needs one of {', '.join(f'{name}=' for name in known)}")


@pytest.fixture
def eventide_findings() -> Iterator[sanitize]:
    """The findings of the test so far: a sequence with `summary` and `verdict`. By itself it fails no test."""
    from eventide.sanitizer import sanitize

    with sanitize() as findings:
        yield findings
