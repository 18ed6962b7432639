"""What several of these tests begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import eventide as et
from tests.helpers import TIMEOUT


@pytest.fixture
def streams() -> Iterator[list[et.Stream]]:
    """Two streams of the cpu, "one" and "two", which are closed at the end."""
    pair = [et.Stream("cpu", name=name) for name in ("one", "two")]
    yield pair
    for stream in pair:
        stream.close(TIMEOUT)


@pytest.fixture
def torch_adapter() -> Iterator[None]:
    """torch's adapter is in."""
    from eventide.integrations.torch import install, uninstall

    install()
    yield
    uninstall()
