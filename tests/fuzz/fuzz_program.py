"""Fuzzes the sanitizer's reader of stream programs with atheris: a verdict, or a UsageError.

python tests/fuzz/fuzz_program.py SEEDS -max_total_time=600
"""

from __future__ import annotations

import inspect
import json
import sys

import atheris

from eventide.errors import UsageError, UsageTypeError, UsageValueError
from eventide.sanitizer.program import _check, _program, _queues, _walk
from eventide.sanitizer.program._check import VERDICTS, check_program


def check_anything(data: bytes) -> None:
    """One input."""
    try:
        program = json.loads(data)
    except (ValueError, RecursionError):
        return
    try:
        verdict = check_program(program)
    except (UsageError, UsageTypeError, UsageValueError):
        return
    assert verdict in {"ok", *VERDICTS}


if __name__ == "__main__":
    for module in (_check, _program, _queues, _walk):
        for owner in (module, *(value for value in vars(module).values() if inspect.isclass(value))):
            for value in list(vars(owner).values()):
                if inspect.isfunction(value) and value.__globals__ is vars(module):
                    atheris.instrument_func(value)
    atheris.Setup(sys.argv, check_anything)
    atheris.Fuzz()
