"""A process of the pool: tasks as lines of JSON on stdin, results on stdout. It ends when stdin does.

It is a program of its own, so the program that imports needs no `if __name__ == "__main__"`. A thread reads stdin: when
the parent dies in any way, that thread ends the process, in the middle of a task as well.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading

from eventide.jobs._import_rank import import_in_any_case


def main() -> None:
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not be read as a result
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, and so this process
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(tasks,), daemon=True).start()
    while True:
        results.write(json.dumps(import_in_any_case(json.loads(tasks.get()))) + "\n")
        results.flush()


def _read(tasks: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)
