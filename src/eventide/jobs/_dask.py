"""Imports on a Dask cluster: a task a rank, and a shared file system, which is checked first."""

from __future__ import annotations

import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any

from eventide.errors import UsageError, UsageValueError
from eventide.jobs._import_rank import import_rank
from eventide.jobs._schema import VERSION

_RETRIES = 3


class Cluster:
    """Workers of Dask that see the sources and the job's directory under the same paths as this process."""

    def __init__(self, address: str, target: Path) -> None:
        self._address, self._target = address, target

    def run(self, tasks: list[dict[str, Any]]) -> Generator[dict[str, Any]]:
        """The results, as they come. A task whose worker died is repeated by the scheduler."""
        if not tasks:
            return
        with _connect(self._address) as client, client.as_current():  # for as_completed
            self._check(client, tasks)
            from distributed import as_completed

            futures = [client.submit(import_rank, task, pure=False, retries=_RETRIES) for task in tasks]
            orders = {future.key: task for future, task in zip(futures, tasks, strict=True)}
            for future in as_completed(futures):
                task = orders[future.key]
                if future.status == "finished":
                    yield {**future.result(), "order": task["order"]}
                else:
                    reason = " ".join(str(future.exception()).split())
                    yield {"source": task["source"], "error": f"its worker failed: {reason}", "order": task["order"]}
                future.release()

    def _check(self, client: Any, tasks: list[dict[str, Any]]) -> None:
        """Each worker reads what is written here, and writes what is read here."""
        if not client.scheduler_info()["workers"]:
            client.wait_for_workers(1, timeout=30)
        token = uuid.uuid4().hex
        folder = self._target / f".shared-{token}"
        folder.mkdir()
        try:
            (folder / "driver").write_text(token, "utf-8")
            paths = [task["source"] for task in tasks[:: max(len(tasks) // 16, 1)]]
            answers = client.run(look_around, str(folder), token, paths)
            for worker, (problem, version, mark) in sorted(answers.items()):
                seen = problem is not None or (folder / mark).exists()
                wrong = problem if seen else "what it writes there is not seen here"
                if wrong is not None:
                    raise UsageValueError(
                        f"the Dask worker {worker} cannot import: {wrong}. All workers and this process must see "
                        f"{str(self._target)!r} and the traces under the same paths, on a shared file system"
                    )
                if version != VERSION:
                    raise UsageValueError(
                        f"the Dask worker {worker} has another version of Eventide; install the same one"
                    )
        finally:
            for path in folder.iterdir():
                path.unlink(missing_ok=True)
            folder.rmdir()


def look_around(folder: str, token: str, sources: list[str]) -> tuple[str | None, int, str]:
    """On a worker: why it cannot import, or None; the version of its tables; the file that it wrote."""
    mark = f"worker-{uuid.uuid4().hex}"
    try:
        if Path(folder, "driver").read_text("utf-8") != token:
            return f"its {folder!r} is another directory", VERSION, mark
        Path(folder, mark).write_text(token, "utf-8")
    except OSError as error:
        return f"it has no access to {str(Path(folder).parent)!r} ({error.strerror})", VERSION, mark
    for source in sources:
        try:
            with Path(source).open("rb"):
                pass
        except OSError as error:
            return f"it cannot read {source!r} ({error.strerror})", VERSION, mark
    return None, VERSION, mark


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("--cluster needs Dask: pip install 'eventide-trace[dask]'") from error
    try:
        return Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageValueError(
            f"there is no Dask scheduler at {address!r} ({error}); start one: dask scheduler"
        ) from error
