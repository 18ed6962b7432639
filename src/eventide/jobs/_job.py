"""Job: the small tables of all ranks, as a directory that `import_job` made has them."""

from __future__ import annotations

import errno
import json
import os
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from eventide.errors import TraceFileError, TraceFormatError, UsageTypeError
from eventide.jobs._import import MANIFEST
from eventide.jobs._schema import TABLES, VERSION
from eventide.trace import run_query

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Rank:
    """One rank of a job."""

    rank: int
    source: str
    spans: int
    digest: str
    clock: str
    resolution: int
    first: int
    last: int
    host: str | None
    stage: int | None
    cut: str | None
    identity: str | None


class Job:
    """Ranks, and their small tables with the column `rank`. Spans stay in their files; `sql` reads them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            raise UsageTypeError(f"open_job takes the path of a directory, not {type(path).__name__}") from None
        self.manifest = _manifest(self.path)
        self.left_out: list[tuple[str, str]] = [(file, why) for file, why in self.manifest["left_out"]]

    def folder(self, rank: int) -> Path:
        """The directory of a rank; `eventide.open_trace` opens it."""
        return self.path / f"rank={rank:05d}"

    def table(self, name: str) -> pa.Table:
        """steps, collectives, summary, clock or clock_pairs of all ranks, by rank."""
        schema = TABLES[name]
        parts = []
        for about in self.manifest["ranks"]:
            file = self.folder(about["rank"]) / f"{name}.parquet"
            try:
                part = pq.ParquetFile(file).read(use_threads=False).select(schema.names).cast(schema)
            except (OSError, KeyError, pa.ArrowInvalid) as error:
                raise TraceFormatError(
                    f"rank {about['rank']} is damaged ({error}); remove its directory and import the job again",
                    str(file),
                    0,
                ) from error
            ranks = pa.array([about["rank"]] * part.num_rows, pa.int32())
            parts.append(part.replace_schema_metadata(None).add_column(0, "rank", ranks))
        return pa.concat_tables(parts).combine_chunks()

    @cached_property
    def steps(self) -> pa.Table:
        """Every step of every rank."""
        return self.table("steps")

    @cached_property
    def collectives(self) -> pa.Table:
        """Every collective of every rank; `key` joins them."""
        return self.table("collectives")

    @cached_property
    def summary(self) -> pa.Table:
        """Work by name, of every rank."""
        return self.table("summary")

    @cached_property
    def _clock(self) -> pa.Table:
        return self.table("clock")

    @cached_property
    def ranks(self) -> list[Rank]:
        """The ranks that were imported, in order."""
        clocks = self._clock.to_pylist()
        names = Rank.__dataclass_fields__
        return [
            Rank(**{name: {**about, **clock}[name] for name in names})
            for about, clock in zip(self.manifest["ranks"], clocks, strict=True)
        ]

    @cached_property
    def world_size(self) -> int | None:
        """How many ranks the job had: what most of its traces say."""
        said = Counter(each for each in self._clock.column("world_size").to_pylist() if each)
        return max(said, key=lambda each: (said[each], each), default=None)

    @property
    def missing(self) -> list[int]:
        """Ranks of the job that were not imported."""
        here = {each.rank for each in self.ranks}
        return [rank for rank in range(self.world_size or 0) if rank not in here]

    @property
    def foreign(self) -> list[int]:
        """Ranks that most traces exclude: their number is too large, or theirs is a job of another size."""
        size = self.world_size
        own = self._clock.column("world_size").to_pylist()
        pairs = zip(self.ranks, own, strict=True)
        return [each.rank for each, said in pairs if size and (each.rank >= size or said not in {None, size})]

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Query with SQL (DuckDB): the small tables (`TABLES`), and spans and tracks from their files."""
        import duckdb

        connection = duckdb.connect()
        folder = re.sub(r"([*?\[])", r"[\1]", str(self.path.resolve())).replace("'", "''")  # a pattern of DuckDB
        names = (*TABLES, "spans", "tracks", "instants", "counters", "edges")
        # A view opens the files of all ranks; a query that names no table may list all of them.
        for name in [name for name in names if re.search(rf"\b{name}\b", str(query), re.IGNORECASE)] or names:
            files = f"{folder}/rank=*/{name}.parquet"
            read = (
                f"read_parquet('{files}', hive_partitioning=true, hive_types={{'rank': INTEGER}}, union_by_name=true)"
            )
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {read}")  # noqa: S608  (our own names)
        return run_query(connection, query)

    def __repr__(self) -> str:
        return f"<Job of {len(self.manifest['ranks'])} ranks in {str(self.path)!r}>"


def open_job(path: str | os.PathLike[str]) -> Job:
    """The job in a directory that `import_job` made."""
    return Job(path)


def _manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    try:
        found = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        begun = path.is_dir() and any(path.glob("rank=*"))
        hint = "its import did not end; run it again" if begun else "make one: eventide job import rank*.json.gz -o job"
        raise TraceFileError(f"{str(path)!r} is not a job: {hint}", errno.ENOENT, str(path)) from None
    except OSError as error:
        raise TraceFileError(
            f"cannot read {str(file)!r}: {error.strerror}", error.errno or errno.EIO, str(file)
        ) from error
    except ValueError as error:
        raise TraceFormatError(f"the job's {MANIFEST} is damaged ({error}); import it again", str(file), 0) from None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise TraceFormatError("the job was imported by another version of Eventide; import it again", str(file), 0)
    return found
