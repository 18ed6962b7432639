"""Becomes the program that `eventide run` was given, if that is not Python: its Python processes are recorded."""

import os
import sys

if __name__ == "__main__":
    try:
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - the program of the user
    except OSError as error:
        sys.exit(f"eventide: cannot start {sys.argv[1]}: {error.strerror}")
