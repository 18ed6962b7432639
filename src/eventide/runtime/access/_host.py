"""What the host thread itself does with memory, and how one host thread hands over to another: told to the hooks."""

from __future__ import annotations

from eventide import _native
from eventide.errors import UsageTypeError
from eventide.runtime.access._access import Accesses, accesses_of, report_once

HOST_ACCESS = _native.HOOKS.index("host_access")
NOTHING: Accesses = ()


def host_access(reads: object = (), writes: object = ()) -> None:
    """Say that this thread itself reads and writes this memory, here and now: Buffers, arrays, tensors, lists of them.

    Work declares what it touches with ``et.work``; this is for the code between. Nobody listening costs one look.
    Memory that cannot be told is logged, once; the program goes on. Inside of work it says nothing.
    """
    if not _native.listening(HOST_ACCESS):
        return
    try:
        read, written = accesses_of(reads), accesses_of(writes)
    except Exception as error:  # noqa: BLE001 - whatever an array's protocol raises
        report_once("host_access", "host_access()", error)
        return
    _native.host_access(read, written)


def hand_over() -> int:
    """Signal: what this thread has done so far is done for whoever receives the token. Gives the token."""
    return _native.host_signal()


def receive(token: int) -> None:
    """Wait: this thread goes on after what was done before ``hand_over`` gave the token."""
    if not isinstance(token, int) or isinstance(token, bool):
        raise UsageTypeError(f"receive needs the token of hand_over(), not {type(token).__name__}")
    _native.host_wait(token)
