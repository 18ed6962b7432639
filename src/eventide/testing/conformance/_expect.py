"""Assertions of checks, which ``python -O`` leaves in, with sentences for the report."""

from collections.abc import Callable
from typing import TypeVar

E = TypeVar("E", bound=BaseException)


class CheckFailedError(AssertionError):
    """The device does not do what the check expects."""


class CheckSkippedError(Exception):
    """The device cannot do what the check needs; the text names it."""


def expect(condition: object, what: str) -> None:
    """Fail with `what` unless the condition holds."""
    if not condition:
        raise CheckFailedError(what)


def equal(got: object, wanted: object, what: str) -> None:
    """Fail unless both are equal; the message has both."""
    if got != wanted:
        raise CheckFailedError(f"{what}: expected {_short(wanted)}, got {_short(got)}")


def raises(kind: type[E] | tuple[type[E], ...], call: Callable[[], object], what: str, words: str = "") -> E:
    """Fail unless the call raises such an error, with these words in its message; return it."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    names = " or ".join(one.__name__ for one in kinds)
    try:
        value = call()
    except kinds as error:
        if words not in str(error):
            raise CheckFailedError(f"{what}: the message lacks {words!r}: {error}") from error
        return error
    except Exception as error:
        raise CheckFailedError(f"{what}: expected {names}, got {type(error).__name__}: {error}") from error
    raise CheckFailedError(f"{what}: expected {names}, got {_short(value)}")


def root_cause(error: BaseException | None) -> BaseException | None:
    """The first error of a chain of causes."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    return error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
