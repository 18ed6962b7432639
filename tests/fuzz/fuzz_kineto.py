"""Fuzzes the whole reader of Chrome traces with atheris: a Trace that holds together, or a TraceFormatError.

An input whose first byte is even is the file itself; an odd one steers Hypothesis, which makes a document of it that is
read and compared with the plain oracle.

    python tests/fuzz/fuzz_kineto.py SEEDS -max_total_time=600
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from eventide.errors import TraceFormatError
from eventide.trace._check import check
from eventide.trace.formats.chrome import _reader
from tests.property import test_kineto_oracle as oracle

_FILE = Path(tempfile.mkdtemp()) / "trace.json"
_STEERED = [
    getattr(test, "hypothesis").fuzz_one_input  # noqa: B009 - given() adds it, which no type says
    for test in (
        oracle.test_every_document_reads_as_plain_python_reads_it,
        oracle.test_waits_and_synchronizations_are_linked_as_plain_python_links_them,
    )
]


def read_anything(data: bytes) -> None:
    """One input."""
    if data[:1] and data[0] % 2:
        _STEERED[data[0] % 4 // 2](data[1:])
        return
    _FILE.write_bytes(data[1:])
    try:
        trace = _reader.read(_FILE, max_event=1 << 20)
    except TraceFormatError as error:
        assert error.path == str(_FILE)
        assert 0 <= error.offset <= 1 << 30
        return
    check(trace)


def _instrument(names: dict[str, object]) -> None:
    """The reader's own functions: an import hook does not see them in an editable installation."""
    for value in names.values():
        if inspect.isfunction(value) and value.__module__.startswith("eventide.trace.formats.chrome._reader"):
            atheris.instrument_func(value)


if __name__ == "__main__":
    for module in [
        module for name, module in sys.modules.items() if name.startswith("eventide.trace.formats.chrome._reader")
    ]:
        _instrument(vars(module))
        for value in vars(module).values():
            _instrument(dict(vars(value)) if inspect.isclass(value) else {})
    atheris.Setup(sys.argv, read_anything)
    atheris.Fuzz()
