"""The process pool: one task at a time in each process, and a process that dies costs that task one attempt."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any

Task = dict[str, Any]
_ATTEMPTS = 3
_WORKER = "from eventide.jobs._worker import main; main()"


class Pool:
    """At most `processes` of them, each with one trace in memory."""

    def __init__(self, processes: int) -> None:
        self._most = processes
        self._running: dict[subprocess.Popen[bytes], Task] = {}
        self._selector = selectors.DefaultSelector()

    def run(self, tasks: list[Task]) -> Generator[dict[str, Any]]:
        """The results, as they come. A task whose process was killed is tried again, three times in all."""
        left, attempts = deque(tasks), Counter[int]()
        try:
            while left or self._running:
                while left and len(self._running) < self._most:
                    self._start(left.popleft())
                for key, _ in self._selector.select():
                    yield from self._receive(key.data, left, attempts)
        finally:
            self._end()

    def _start(self, task: Task) -> None:
        # With the paths of this process: -m would find modules in the current directory first.
        paths = [path for path in sys.path if isinstance(path, str)]
        command = [sys.executable, "-c", f"import sys; sys.path[:] = {paths}; {_WORKER}"]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        assert worker.stdout is not None  # noqa: S101  (a pipe)
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)
        self._give(worker, task)

    def _give(self, worker: subprocess.Popen[bytes], task: Task) -> None:
        self._running[worker] = task
        assert worker.stdin is not None  # noqa: S101
        with suppress(BrokenPipeError):  # it is dead; its stdout says so
            worker.stdin.write(json.dumps(task).encode() + b"\n")
            worker.stdin.flush()

    def _receive(self, worker: subprocess.Popen[bytes], left: deque[Task], attempts: Counter[int]) -> Iterator[Task]:
        assert worker.stdout is not None  # noqa: S101
        line = worker.stdout.readline()
        task = self._running.pop(worker)
        if line.endswith(b"\n"):
            if left:
                self._give(worker, left.popleft())
            else:
                self._close(worker)
            yield {**json.loads(line), "order": task["order"]}
            return
        code = self._close(worker)
        attempts[task["order"]] += 1
        if attempts[task["order"]] < _ATTEMPTS:
            left.appendleft(task)
        else:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            error = f"the process that imported it {how}, {_ATTEMPTS} times; is there too little memory for it?"
            yield {"source": task["source"], "error": error, "order": task["order"]}

    def _close(self, worker: subprocess.Popen[bytes]) -> int:
        assert worker.stdin is not None and worker.stdout is not None  # noqa: PT018, S101
        self._selector.unregister(worker.stdout)
        with suppress(BrokenPipeError):
            worker.stdin.close()  # ends it
        worker.stdout.close()
        return worker.wait()

    def _end(self) -> None:
        """The processes of tasks whose results are not needed any more."""
        for worker in self._running:
            worker.kill()
            self._close(worker)
        self._running.clear()
        self._selector.close()
