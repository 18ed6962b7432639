"""What torch's operators read and write: the cases of its CUDA sanitizer's arguments, on work of a stream."""

from __future__ import annotations

from typing import Any

import pytest

import eventide as et
from tests.peers.ported import ported

pytestmark = pytest.mark.heavy
torch: Any = pytest.importorskip("torch", reason="torch is not installed")

FILE = "test_cuda_sanitizer.py"


class Accesses(et.hooks.Observer):
    """The addresses that work reads and writes."""

    def __init__(self) -> None:
        self.read: set[int] = set()
        self.written: set[int] = set()

    def host_access(self, record: et.hooks.HookRecord) -> None:
        if record.work:
            self.read |= {access[0] for access in record.reads or ()}
            self.written |= {access[0] for access in record.writes or ()}


def accesses_of(fn: Any, *args: Any, **kwargs: Any) -> tuple[Any, set[int], set[int]]:
    seen = Accesses()
    with et.sanitize(), et.hooks.observe(seen), et.Stream.open("cpu") as stream:
        result = stream.submit(lambda: fn(*args, **kwargs)).result()
    return result, seen.read, seen.written


def addresses(*tensors: Any) -> set[int]:
    return {tensor.data_ptr() for tensor in tensors}


@ported(FILE, "test_add")
def test_a_sum_reads_both_and_writes_what_it_makes() -> None:
    a, b = torch.ones(5, 3), torch.randn(5, 3)
    c, read, written = accesses_of(torch.add, a, b)
    assert (read, written) == (addresses(a, b), addresses(c))


@ported(FILE, "test_cat")
def test_a_list_of_tensors_is_read() -> None:
    parts = [torch.ones(2, n, 5) for n in (4, 1, 7)]
    joined, read, written = accesses_of(torch.cat, parts, dim=1)
    assert (read, written) == (addresses(*parts), addresses(joined))


@ported(FILE, "test_split")
def test_views_access_nothing() -> None:
    _, read, written = accesses_of(torch.split, torch.arange(10).reshape(5, 2), 2)
    assert (read, written) == (set(), set())


@ported(FILE, "test_inplace")
def test_an_operator_in_place_writes() -> None:
    a = torch.rand(4, 2)
    _, read, written = accesses_of(a.add_, 5)
    assert (read, written) == (set(), addresses(a))


@ported(FILE, "test_out")
def test_what_is_given_as_out_is_written() -> None:
    a, b = torch.arange(8), torch.empty(8, dtype=torch.int64)
    _, read, written = accesses_of(torch.mul, a, 3, out=b)
    assert (read, written) == (addresses(a), addresses(b))


@ported(FILE, "test_nonzero")
def test_the_memory_behind_several_results_is_written() -> None:
    a = torch.ones(5, 3, 2)
    results, read, written = accesses_of(torch.nonzero, a, as_tuple=True)
    assert read == addresses(a)
    storages = {result.untyped_storage().data_ptr() for result in results}
    assert written == storages


@ported(FILE, "test_tensor_names")
def test_a_tensor_that_is_given_twice_is_read_once() -> None:
    vector, matrix = torch.arange(1, 4), torch.zeros(3, 3)
    out, read, written = accesses_of(torch.addr, matrix, vector, vector)
    assert (read, written) == (addresses(matrix, vector), addresses(out))
