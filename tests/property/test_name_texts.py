"""The names of a recording as one column are those that Python decodes, also where a damaged file is not UTF-8."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from eventide.trace.formats.eventide._columns import Pair, texts, words

NAMES = st.one_of(st.text().map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary(max_size=6))


def pair(data: bytes, ends: list[int]) -> Pair:
    return np.array([0, *ends], np.int64), np.frombuffer(data, np.uint8)


@given(names=st.lists(NAMES))
def test_each_name_is_decoded_as_python_does(names: list[bytes]) -> None:
    given_names = pair(b"".join(names), np.cumsum([len(name) for name in names]).tolist())
    column = words(given_names)
    assert column.type == pa.string()
    assert column.to_pylist() == [name.decode("utf-8", "replace") for name in names] == texts(given_names)


def test_a_character_that_is_cut_between_two_names_is_replaced_in_both() -> None:
    assert words(pair("ä".encode(), [1, 2])).to_pylist() == ["�", "�"]
