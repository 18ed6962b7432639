"""From the shape and strides of a view to the bytes it covers."""

from __future__ import annotations

from collections.abc import Sequence

Access = tuple[int, int] | tuple[int, int, int, int, bool]
"""Address and bytes; of a strided view also run, stride (the first `run` bytes of every `stride`) and "possible"."""

MOST_PIECES = 64
"""A view of several dimensions is reported as up to this many pieces, or as one possible access."""


def covered(address: int, shape: Sequence[int], strides: Sequence[int] | None, itemsize: int) -> list[Access]:
    """The bytes of a view: exact, or one access marked possible that covers them all. Strides are in bytes."""
    if 0 in shape or itemsize == 0:
        return []
    if strides is None:
        total = itemsize
        for n in shape:
            total *= n
        return [(address, total)]
    levels = []
    for n, stride in zip(shape, strides, strict=True):
        if stride < 0:
            address += stride * (n - 1)
        if n > 1 and stride:
            levels.append((abs(stride), n))
    levels.sort()
    run, rest = _grow(itemsize, levels)
    return _pieces(address, run, _joined(rest))


def _grow(run: int, levels: list[tuple[int, int]]) -> tuple[int, list[tuple[int, int]]]:
    """Merge the dimensions that only extend the run."""
    for done, (stride, n) in enumerate(levels):
        if stride > run:
            return run, levels[done:]
        run += stride * (n - 1)
    return run, []


def _joined(levels: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge dimensions that continue one another."""
    out: list[tuple[int, int]] = []
    for stride, n in levels:
        if out and stride == out[-1][0] * out[-1][1]:
            out[-1] = (out[-1][0], out[-1][1] * n)
        else:
            out.append((stride, n))
    return out


def _pieces(address: int, run: int, levels: list[tuple[int, int]]) -> list[Access]:
    if not levels:
        return [(address, run)]
    (stride, n), *outer = levels
    inner = stride * (n - 1) + run
    count = 1
    for _, times in outer:
        count *= times
    if count > MOST_PIECES:
        return [(address, inner + sum(step * (times - 1) for step, times in outer), 0, 0, True)]
    starts = [address]
    for step, times in outer:
        starts = [start + step * i for start in starts for i in range(times)]
    return [(start, inner, run, stride, False) for start in starts]
