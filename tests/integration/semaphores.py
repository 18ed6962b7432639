"""POSIX semaphores through ctypes: native work that blocks, and that signals, without Python and without the GIL.

`sem_wait` and `sem_post` are `int f(sem_t*)`; as work (`void f(void*)`) their result is ignored.
"""

from __future__ import annotations

import ctypes
import time

LIBC = ctypes.CDLL(None)  # releases the GIL during a call
LIBC_WITH_GIL = ctypes.PyDLL(None)  # keeps the GIL
SEM_WAIT, SEM_POST = LIBC.sem_wait, LIBC.sem_post


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class Semaphore:
    """A semaphore that starts at 0. Its memory has to outlive the work that uses it."""

    def __init__(self) -> None:
        self.memory = (ctypes.c_char * 64)()  # sem_t has 32 bytes on 64-bit Linux
        assert LIBC.sem_init(self.memory, 0, 0) == 0

    @property
    def address(self) -> int:
        return ctypes.addressof(self.memory)

    def post(self) -> None:
        assert LIBC_WITH_GIL.sem_post(self.memory) == 0

    def wait(self, seconds: float, *, with_gil: bool = False) -> bool:
        """One long C call; False if there was no post in time. `with_gil`: no other thread runs Python meanwhile."""
        until = time.time() + seconds  # sem_timedwait takes the wall clock
        spec = _Timespec(int(until), int(until % 1 * 1e9))
        library = LIBC_WITH_GIL if with_gil else LIBC
        return bool(library.sem_timedwait(self.memory, ctypes.byref(spec)) == 0)

    @property
    def value(self) -> int:
        number = ctypes.c_int()
        LIBC_WITH_GIL.sem_getvalue(self.memory, ctypes.byref(number))
        return number.value
