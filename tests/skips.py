"""With CI=true, a test that is skipped because something is missing fails.

Allowed there: what the device or the Python version cannot do, accelerators, and in a run without the heavy tests the
packages that only those have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator

import pytest

ALLOWED = re.compile(
    r"it is '\w+'|it has a '\w+'|no '\w+'|there is one device of type|its time is not real"  # capabilities of a device
    r"|there is no accelerator for|there is a CUDA device"
    r"|(sys\.monitoring|sys\.remote_exec|Queue\.shutdown) came with|work does not run on threads of the device's own"
)
PACKAGES = re.compile(r"is not installed|could not import|needs (torch|pyopencl)")


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """What a skipped report says."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def unexpected(reason: str, markers: str) -> bool:
    """Whether this is a failure in CI; `markers` is the expression of pytest's -m."""
    if os.environ.get("CI") != "true" or ALLOWED.match(reason):
        return False
    return not (markers == "not heavy" and PACKAGES.search(reason))


def judge(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and unexpected(reason_of(report), config.option.markexpr):
        reason = reason_of(report)
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {reason}; install what is missing in .ci/run or in requirements/heavy.txt"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    judge(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    judge(report, collector.config)
    return report
