"""import_job: many files become one directory, a rank at a time, in whatever order they are done."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eventide.errors import EventideError, TraceFileError, UsageValueError
from eventide.jobs._import_rank import ABOUT, PART, import_in_any_case, sizes_of
from eventide.jobs._pool import Pool
from eventide.jobs._schema import VERSION
from eventide.jobs._sources import Source, find_sources

MANIFEST, LOCK = "job.json", ".lock"
Progress = Callable[[int, int, str], None]  # ranks done, ranks in all, the file that was finished last
Engine = Callable[[list[dict[str, Any]]], Generator[dict[str, Any]]]


@dataclass(frozen=True)
class Imported:
    """What an import did. The digest is that of all ranks: the same files have the same one, whatever imported them."""

    path: str
    ranks: int
    spans: int
    repeated: int  # files that were read now; the others had been imported before
    left_out: tuple[tuple[str, str], ...]  # (file, reason)
    digest: str


def import_job(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    job: str | os.PathLike[str],
    *,
    processes: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Import the traces of a job's ranks into the directory `job`; what is there already is not read again.

    `sources` are files, patterns and directories of any trace format. `cluster` is the address of a Dask scheduler;
    without one a pool of `processes` does it, by default one for each CPU, and 1 is this process. A file that cannot be
    read is left out, and named in the result.
    """
    if processes is not None and processes < 1:
        raise UsageValueError(f"processes is {processes}; it must be at least 1")
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    files = find_sources([os.fspath(each) for each in given])
    target = Path(job).resolve()
    with _written_to(target), _only_one(target):
        state = _State(target, {source.source: source for source in files})
        state.resume()
        tasks = [{**asdict(source), "job": str(target)} for source in files if source.source not in state.done]
        total = len(files)
        if progress is not None:
            progress(total - len(tasks), total, "")
        # Whatever ends the loop ends the processes of the engine, now.
        with closing(_engine(target, processes, cluster)(tasks)) as results:
            for count, result in enumerate(results, total - len(tasks) + 1):
                state.commit(result)
                if progress is not None:
                    progress(count, total, Path(result["source"]).name)
        return state.finish(len(tasks))


@contextmanager
def _written_to(target: Path) -> Iterator[None]:
    """A full disk, or a directory that cannot be written, is one error in words."""
    _make(target)
    try:
        yield
    except EventideError:
        raise
    except OSError as error:
        if error.errno is None:  # not of the file system
            raise
        number = error.errno
        raise TraceFileError(
            f"cannot write the job's directory {str(target)!r}: {os.strerror(number)}; the ranks that are complete are "
            "kept, and the same command continues with the others",
            number,
            str(target),
        ) from error


def _engine(target: Path, processes: int | None, cluster: str | None) -> Engine:
    if cluster is None:
        count = processes or len(os.sched_getaffinity(0))
        return Pool(count).run if count > 1 else _in_this_process
    from eventide.jobs._dask import Cluster

    return Cluster(cluster, target).run


def _in_this_process(tasks: list[dict[str, Any]]) -> Generator[dict[str, Any]]:
    for task in tasks:
        yield {**import_in_any_case(task), "order": task["order"]}


def _make(target: Path) -> None:
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the job's directory {str(target)!r} cannot be made: {error.strerror}; choose another one"
        raise TraceFileError(message, error.errno or errno.EIO, str(target)) from error
    foreign = [each.name for each in target.iterdir() if not _ours(each)]
    if foreign:
        raise UsageValueError(f"{str(target)!r} holds {foreign[0]!r}, so it is not a job; choose another directory")


def _ours(path: Path) -> bool:
    return path.name in {MANIFEST, LOCK, f"{MANIFEST}.part"} or path.name.startswith(("rank=", PART, ".shared-"))


@contextmanager
def _only_one(target: Path) -> Iterator[None]:
    """Two imports into one directory would remove each other's parts. The lock ends with the process."""
    import fcntl

    with (target / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
                raise UsageValueError(f"another import into {str(target)!r} is running; wait until it ends") from None
            # A file system without locks: nothing to lose but the check.
        yield


@dataclass
class _State:
    """Which file is which rank: in memory, and as directories."""

    target: Path
    files: dict[str, Source]
    done: dict[str, dict[str, Any]] = field(default_factory=dict)  # by file: about the rank that it is
    without: dict[str, dict[str, Any]] = field(default_factory=dict)  # files whose rank neither content nor name says
    left_out: dict[str, str] = field(default_factory=dict)

    def resume(self) -> None:
        """Keep the ranks that these files made, remove the parts of an import that did not end, and other ranks."""
        for path in list(self.target.iterdir()):
            if path.name.startswith((PART, ".shared-")):
                _remove(path)
            elif path.name.startswith("rank="):
                about = _about(path)
                source = self.files.get(str(about.get("source")))
                same = source is not None and source.same_as(about) and about.get("version") == VERSION
                if source is None or not same or about.get("files") != sizes_of(path):
                    _remove(path)
                else:
                    self.done[source.source] = about

    def commit(self, result: dict[str, Any]) -> None:
        """Make a rank of what a task has made."""
        source = result["source"]
        if "cannot_write" in result:
            raise OSError(result["cannot_write"], os.strerror(result["cannot_write"]))
        if "error" in result:
            self.left_out[source] = result["error"]
        elif result["rank"] is None:
            self.without[source] = result
        else:
            self._place(result, result["rank"])

    def _place(self, result: dict[str, Any], rank: int) -> None:
        """Of two files of one rank the first by name is kept, whichever was done first."""
        source = result["source"]
        part, place = self.target / result["part"], self.target / f"rank={rank:05d}"
        there = next((path for path, about in self.done.items() if about["rank"] == rank), None)
        if there is not None:
            loser, keeper = (there, source) if self._order(source) < self._order(there) else (source, there)
            self.left_out[loser] = f"it is rank {rank}, as {Path(keeper).name} is; give one file for each rank"
            if loser == source:
                _remove(part)
                return
            del self.done[there]
            _remove(place)
        about = {**{key: value for key, value in result.items() if key not in {"part", "order"}}, "rank": rank}
        (part / ABOUT).write_text(json.dumps(about), "utf-8")
        part.rename(place)
        self.done[source] = about

    def _order(self, path: str) -> int:
        return self.files[path].order

    def finish(self, repeated: int) -> Imported:
        """Place what has no rank, and write the manifest."""
        self._place_others()
        for path in self.target.glob(f"{PART}*"):  # of processes that were killed
            _remove(path)
        ranks = sorted(self.done.values(), key=lambda about: about["rank"])
        total = hashlib.sha256("".join(f"{about['rank']} {about['digest']}\n" for about in ranks).encode()).hexdigest()
        left_out = sorted(self.left_out.items(), key=lambda item: self._order(item[0]))
        if not ranks:
            reasons = "; ".join(f"{Path(path).name}: {reason}" for path, reason in left_out[:3])
            raise UsageValueError(f"none of {len(self.files)} files could be imported: {reasons}")
        manifest = {"version": VERSION, "digest": total, "ranks": ranks, "left_out": left_out}
        part = self.target / f"{MANIFEST}.part"
        part.write_text(json.dumps(manifest, indent=1), "utf-8")
        part.replace(self.target / MANIFEST)
        spans = sum(about["spans"] for about in ranks)
        return Imported(str(self.target), len(ranks), spans, repeated, tuple(left_out), total)

    def _place_others(self) -> None:
        """Files without a rank are left out if others have one; if none has, they are numbered in order."""
        some = bool(self.done)
        for number, source in enumerate(sorted(self.without, key=self._order)):
            result = self.without[source]
            if some:
                _remove(self.target / result["part"])
                self.left_out[source] = "neither its content nor its name says which rank it is"
            else:
                self._place(result, number)


def _about(path: Path) -> dict[str, Any]:
    try:
        found = json.loads((path / ABOUT).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
