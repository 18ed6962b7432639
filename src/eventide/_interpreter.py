"""Refuses interpreters that the native core does not support; imported first, so that the error is one clear line."""

import sys

if "t" in sys.abiflags:
    raise ImportError("eventide needs the GIL, and this Python is free-threaded; use a Python that has the GIL")
