"""How well does the import of many ranks use the machine? `make bench-ranks`, outside of CI.

Ranks of Kineto JSON on disk (some distinct, reused with shifted clocks), by the pool and on Dask: the wall time against
the summed CPU of importing each file alone divided by the cores, the largest process, and the digests.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eventide.jobs import import_job
from tests.integration.test_job_cluster import cluster
from tests.reference.jobs import Plan, write_rank

ALONE = """
import resource, sys
from eventide.jobs import import_job
begin = resource.getrusage(resource.RUSAGE_SELF)
import_job(sys.argv[1], sys.argv[2], processes=1)
end = resource.getrusage(resource.RUSAGE_SELF)
print(end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime, end.ru_maxrss * 1024)
"""


def write_ranks(folder: Path, ranks: int, spans: int, distinct: int) -> None:
    """Each rank is the text of one of the distinct ones, with another rank and other times."""
    plan = Plan(ranks=ranks, steps=spans // 3, slow=1)
    for rank in range(ranks):
        kind = rank % distinct
        path = write_rank(folder / f"rank{rank}.json", kind, plan, offset=1000 * rank)
        if kind != rank:
            trace = json.loads(path.read_text("utf-8"))
            trace["distributedInfo"]["rank"] = rank
            path.write_text(json.dumps(trace), "utf-8")


def alone(folder: Path, sample: int) -> tuple[float, int]:
    """CPU seconds of a file alone, in the mean of a sample, and the largest process in bytes."""
    files = sorted(folder.iterdir())[:: max(len(list(folder.iterdir())) // sample, 1)]
    times, sizes = [], []
    for file in files:
        with tempfile.TemporaryDirectory(dir=folder.parent) as out:
            command = [sys.executable, "-c", ALONE, str(file), f"{out}/job"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        cpu, size = done.stdout.split()
        times.append(float(cpu))
        sizes.append(int(size))
    return sum(times) / len(times), max(sizes)


@contextmanager
def timed(name: str, expected: float) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    wall = time.perf_counter() - begin
    print(
        f"{name:6} {wall:8.1f} s, {wall / expected:.2f} of the CPU of the files alone by the cores (bar: 1.3)",
        flush=True,
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ranks", type=int, default=1000)
    options.add_argument("--spans", type=int, default=100_000)
    options.add_argument("--distinct", type=int, default=100)
    options.add_argument("--sample", type=int, default=5)
    given = options.parse_args()
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "traces")
        folder.mkdir()
        write_ranks(folder, given.ranks, given.spans, given.distinct)
        cpu, size = alone(folder, given.sample)
        rate = f"{cpu / given.spans * 1e6:.2f} us of CPU a span"
        print(f"alone  {cpu:8.2f} s of CPU a rank of {given.spans:,} spans: {rate}; {size / 1e6:.0f} MB", flush=True)
        expected = cpu * given.ranks / cores
        with timed("pool", expected):
            pool = import_job(folder, Path(made, "pool"))
        print(
            f"       largest process {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3:.0f} MB (bar: 1000)"
        )
        with cluster(cores) as (address, _), timed("dask", expected):
            dask = import_job(folder, Path(made, "dask"), cluster=address)
        assert pool.digest == dask.digest
        assert pool.ranks == dask.ranks == given.ranks
        print("the digests are the same")


if __name__ == "__main__":
    main()
