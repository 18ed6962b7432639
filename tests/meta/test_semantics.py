"""The promises of docs/semantics.md and the checks of the conformance kit have the same names."""

from __future__ import annotations

import re

from eventide.testing.conformance import CHECKS
from eventide.testing.conformance._promises import PROMISES
from tests.meta._project import ROOT

PROMISE = re.compile(r"^- \*\*([a-z-]+)\*\*( †)?: ", re.MULTILINE)


def promises() -> list[tuple[str, bool]]:
    """(name, whether it belongs to the process) of each promise, in order."""
    text = (ROOT / "docs/semantics.md").read_text("utf-8")
    return [(name, bool(process)) for name, process in PROMISE.findall(text)]


def test_each_promise_has_a_name_of_its_own() -> None:
    names = [name for name, _ in promises()]
    assert sorted(set(names)) == sorted(names)


def test_the_kit_lists_the_promises_of_a_device_in_the_order_of_the_document() -> None:
    assert list(PROMISES) == [name for name, process in promises() if not process]


def test_each_promise_of_a_device_has_a_check_and_each_check_a_promise() -> None:
    assert {check.promise for check in CHECKS} == set(PROMISES)
