"""The accesses of any view hold exactly the bytes that numpy touches, or say that they are an upper bound."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eventide.runtime.access._layout import covered

INDEX = st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([-3, -2, -1, 1, 2, 3, 4])).map(
    lambda part: slice(*part)
)


@st.composite
def views(draw):
    shape = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    array = np.zeros(shape, dtype=draw(st.sampled_from([np.uint8, np.int16, np.float64])))
    view = array[tuple(draw(INDEX) for _ in shape)]
    if draw(st.booleans()):
        view = view.T
    if draw(st.booleans()):
        view = np.broadcast_to(view, (2, *view.shape))
    return array, view


def touched(array: np.ndarray, view: np.ndarray) -> set[int]:
    """Byte offsets into array, found element by element."""
    base = array.ctypes.data
    start = view.__array_interface__["data"][0]
    return {
        start + sum(i * stride for i, stride in zip(index, view.strides, strict=True)) + byte - base
        for index in np.ndindex(*view.shape)
        for byte in range(view.itemsize)
    }


def reported(array: np.ndarray, accesses) -> set[int]:
    out: set[int] = set()
    for address, length, *strided in accesses:
        run, stride, _ = strided or (0, 0, False)
        starts = range(0, length, stride) if stride else (0,)
        for start in starts:
            first = address + start - array.ctypes.data
            out.update(range(first, first + (run or length)))
    return out


@given(views())
def test_a_view_covers_the_bytes_that_its_elements_have(pair):
    array, view = pair
    accesses = covered(view.__array_interface__["data"][0], view.shape, view.strides, view.itemsize)
    exact = not any(len(access) == 5 and access[4] for access in accesses)
    if exact:
        assert reported(array, accesses) == touched(array, view)
    else:
        assert reported(array, accesses) >= touched(array, view)


def test_two_dimensions_are_one_strided_access_whatever_their_size():
    array = np.zeros((1000, 64), dtype=np.float32)
    half = array[:, 32:]
    assert covered(half.__array_interface__["data"][0], half.shape, half.strides, 4) == [
        (array.ctypes.data + 128, 999 * 256 + 128, 128, 256, False)
    ]


def test_too_many_pieces_are_reported_as_one_possible_access():
    array = np.zeros((100, 8, 8), dtype=np.uint8)
    part = array[:, 2:4, 2:4]
    ((address, length, run, stride, possible),) = covered(
        part.__array_interface__["data"][0], part.shape, part.strides, 1
    )
    assert (address - array.ctypes.data, length, run, stride, possible) == (18, 99 * 64 + 8 + 2, 0, 0, True)
