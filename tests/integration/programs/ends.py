"""A program that ends as its first argument selects."""

import os
import signal
import sys


def inner(how: str) -> None:
    if how == "exit":
        sys.exit(3)
    if how == "text":
        sys.exit("a last word")
    if how == "raise":
        raise KeyError("not caught")
    if how == "_exit":
        os._exit(4)
    if how == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    else:
        os.kill(os.getpid(), getattr(signal, how))


print("before", flush=True)
inner(sys.argv[1])
print("after", flush=True)
