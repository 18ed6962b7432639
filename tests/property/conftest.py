"""The length of the property tests: EVENTIDE_HYPOTHESIS_PROFILE=nightly runs fifty times as many examples."""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("nightly", deadline=None, max_examples=5000, print_blob=True)
if profile := os.environ.get("EVENTIDE_HYPOTHESIS_PROFILE"):
    settings.load_profile(profile)


def _examples() -> int:
    """Of the profile in use, which `--hypothesis-profile` may have set after this file was read; light has 100."""
    profile = settings.default
    assert profile is not None
    return profile.max_examples


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A long profile gets the time it needs; every wait inside the tests stays bounded."""
    for item in items:
        if _examples() > 100 and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(_examples()))  # a second for each


@pytest.fixture(autouse=True)
def no_watchdog_for_a_long_profile() -> None:
    """pytest's own watchdog has one limit for all tests; the one above still holds."""
    if _examples() > 100:
        faulthandler.cancel_dump_traceback_later()
