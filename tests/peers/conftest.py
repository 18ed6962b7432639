"""The fixtures of the unit tests, and the mark that names the case of another project that a test has ported."""

from __future__ import annotations

from tests.unit.conftest import gate, make_gate, make_stream, other, pool, stream

__all__ = ["gate", "make_gate", "make_stream", "other", "pool", "stream"]
