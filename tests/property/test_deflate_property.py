"""Whatever bytes are deflated by the core, zlib inflates them to the same."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from eventide import _native

# Pieces that come again, near and far: what a compressor is for.
repeating = st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=6).flatmap(
    lambda pieces: st.lists(st.sampled_from(pieces) | st.binary(max_size=3), max_size=400).map(b"".join)
)
far = st.tuples(st.binary(min_size=4, max_size=300), st.integers(32_000, 33_500)).map(
    lambda made: made[0] + bytes(i % 251 for i in range(made[1])) + made[0]
)


@given(st.binary(max_size=2000) | repeating | far)
def test_zlib_gives_back_what_was_deflated(data: bytes) -> None:
    assert zlib.decompress(_native.deflate(data)) == data
