"""``@ported(file, case)`` names the case of another project's tests whose facts a test checks.

tests/meta/test_peer_cases.py reads the marks from the sources and compares them with tests/peers/cases.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tests.peers.cases import CASES

F = TypeVar("F", bound=Callable[..., object])


def ported(file: str, *cases: str) -> Callable[[F], F]:
    """Check that the cases are listed. The function stays as it is."""
    for case in cases:
        assert case in CASES[file], f"{case} is not listed under {file} in tests/peers/cases.py"
    return lambda function: function
