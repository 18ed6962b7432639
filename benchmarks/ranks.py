"""How well does the import of many ranks use the machine, and what survives? `make bench-ranks`, outside of CI.

Ranks of Kineto JSON on disk (some distinct, reused with shifted clocks), by the pool and on Dask: the wall time against
the summed CPU of importing each file alone divided by the cores, the largest process, and the digests. At a third a
worker is killed. Then the same with the driver killed at a third and started again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eventide.jobs import import_job
from tests.integration.test_job_cluster import cluster, kill_worker_of, session_of

PARTS = ["pool", "dask", "restart", "restart-dask"]
OPERATORS = 32  # of a step, each with its launch and its kernel
SPANS = 3 * OPERATORS + 3  # and the step and two collectives
TRANSFER = 40  # us

ALONE = """
import resource, sys
from eventide.jobs import import_job
begin = resource.getrusage(resource.RUSAGE_SELF)
import_job(sys.argv[1], sys.argv[2], processes=1)
end = resource.getrusage(resource.RUSAGE_SELF)
print(end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime, end.ru_maxrss * 1024)
"""

DRIVER = """
import sys
from eventide.jobs import import_job
cluster = sys.argv[3] if len(sys.argv) > 3 else None
import_job(*sys.argv[1:3], cluster=cluster, progress=lambda done, total, latest: print(done, flush=True))
"""


def write_ranks(folder: Path, ranks: int, spans: int, distinct: int) -> None:
    """Each file has the events of one of the distinct ranks, and its own rank and base of time."""
    for kind in range(min(distinct, ranks)):
        events = json.dumps(list(events_of(kind, max(spans // SPANS, 1))), separators=(",", ":"))
        for rank in range(kind, ranks, distinct):
            job = {"rank": rank, "world_size": ranks, "backend": "nccl"}
            head = {"schemaVersion": 1, "distributedInfo": job, "baseTimeNanoseconds": 10**15 + 5_000_000 * rank}
            text = f'{json.dumps(head)[:-1]}, "traceEvents": {events}}}'
            (folder / f"rank{rank:05d}.json").write_text(text, "utf-8")


def events_of(kind: int, steps: int) -> Iterator[dict[str, Any]]:
    """Operators, launches and kernels; two all-reduces, which all ranks leave together; rank 1 is slower."""
    begin, correlation = 1000, 0
    for step in range(steps):
        half = OPERATORS // 2
        length = 2 * (half * 45 + TRANSFER)
        yield event("user_annotation", f"ProfilerStep#{step}", (begin, length), HOST)
        for part in range(2):
            at = start = begin + part * length // 2
            for number in range(half):
                correlation += 1
                own = {"External id": correlation, "Sequence number": correlation, "Fwd thread id": 0,
                       "Input Dims": [[64, 1024], [1024, 1024]], "Input type": ["float", "float"]}  # fmt: skip
                yield event("cpu_op", f"aten::op{number % 20}", (at, 20), HOST, own)
                yield event("cuda_runtime", "cudaLaunchKernel", (at + 5, 8), HOST, {"correlation": correlation})
                lasts = 30 + (10 if kind == 1 else (kind * 7 + number * 3 + step) % 5)
                about = {"correlation": correlation, "stream": 7, "device": 0, "grid": [64, 1, 1], "block": [128, 1, 1],
                         "registers per thread": 32, "shared memory": 16384, "queued": 0, "context": 1}  # fmt: skip
                yield event("kernel", f"gemm_{number % 12}", (at + 14, lasts), COMPUTE, about)
                at += 44
            correlation += 1
            ready = at + (0 if kind == 1 else -(kind % 9)) + 10
            yield all_reduce(correlation, ready, start + length // 2 - ready, 2 * step + part)
        begin += length


def all_reduce(correlation: int, start: int, duration: int, number: int) -> dict[str, Any]:
    about = {
        "correlation": correlation, "stream": 20, "device": 0, "Collective name": "allreduce", "dtype": "Float",
        "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "Process Group Name": "0", "Comms Id": str(900 + number),
    }  # fmt: skip
    return event(
        "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", (start, duration), COMMUNICATION, about
    )


HOST, COMPUTE, COMMUNICATION = (7, 7), (0, 7), (0, 20)  # pid and tid


def event(
    category: str, name: str, times: tuple[int, int], where: tuple[int, int], args: dict[str, Any] | None = None
) -> dict[str, Any]:
    """`times`: start and duration in us."""
    about = {"ph": "X", "cat": category, "name": name, "ts": times[0], "dur": times[1]}
    about |= {"pid": where[0], "tid": where[1]}
    return about if args is None else {**about, "args": args}


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


def cpu_and_size(who: int) -> tuple[float, float]:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


@contextmanager
def timed(name: str, alone_cpu: float, cores: int) -> Iterator[None]:
    """The wall time is that of the machine: on a busy one, compare the CPU, which waited-for processes sum up."""
    begin, before = time.perf_counter(), cpu_and_size(resource.RUSAGE_CHILDREN)[0]
    yield
    wall = time.perf_counter() - begin
    used = cpu_and_size(resource.RUSAGE_CHILDREN)[0] - before
    ratio = f"{wall * cores / alone_cpu:.2f} of the CPU of the files alone by {cores} cores (bar: 1.3)"
    print(f"{name:6} {wall:8.1f} s, {ratio}; {used:.0f} s of CPU, {used / alone_cpu:.2f} of it", flush=True)


def by_pool(folder: Path, job: Path) -> Any:
    """A process of the pool is killed when a third is done."""
    killed: list[int] = []

    def progress(done: int, total: int, _: str) -> None:
        if not killed and 3 * done >= total:
            killed.append(children()[0])
            os.kill(killed[0], signal.SIGKILL)

    done = import_job(folder, job, progress=progress)
    print(f"       killed at a third: {killed}", flush=True)
    print(f"       largest process {cpu_and_size(resource.RUSAGE_CHILDREN)[1]:.0f} MB (bar: 1000)", flush=True)
    return done


def children() -> list[int]:
    return [int(number) for number in Path(f"/proc/self/task/{os.getpid()}/children").read_text("utf-8").split()]


def on_dask(folder: Path, job: Path, cores: int, alone_cpu: float) -> Any:
    """A worker is killed when a third is done; the cluster is started before the clock, and ends after it."""
    killed: list[int] = []
    largest = 0
    with cluster(cores) as (address, workers):

        def progress(done: int, total: int, _: str) -> None:
            nonlocal largest
            if not killed and 3 * done >= total:
                killed.extend(kill_worker_of(workers[0]))
            if done % 10 == 0:
                largest = max([largest, *(peak_of(process) for process in processes_of({one.pid for one in workers}))])

        begin = time.perf_counter()
        done = import_job(folder, job, cluster=address, progress=progress)
        wall = time.perf_counter() - begin
    ratio = f"{wall * cores / alone_cpu:.2f} of the CPU of the files alone by {cores} cores (bar: 1.3)"
    print(f"{'dask':6} {wall:8.1f} s, {ratio}; killed at a third: {killed}", flush=True)
    print(f"       largest process {largest / 1e3:.0f} MB (bar: 1000)", flush=True)
    return done


def processes_of(sessions: set[int]) -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*") if session_of(path) in sessions]


def peak_of(process: Path) -> int:
    """The most memory that it had, in kilobytes."""
    try:
        lines = (process / "status").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def killed_driver(folder: Path, job: Path, ranks: int, address: str | None = None) -> Any:
    """Kill the driver at a third; its processes end. Import again: which finished ranks are repeated?"""
    command = [sys.executable, "-c", DRIVER, str(folder), str(job), *([address] if address else [])]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert driver.stdout is not None
    while 3 * int(driver.stdout.readline()) < ranks:
        pass
    driver.kill()
    driver.wait()
    driver.stdout.close()
    begin = time.perf_counter()
    while processes_of({driver.pid}) and time.perf_counter() - begin < 60:
        time.sleep(0.01)
    print(f"driver killed: no process of it is left after {time.perf_counter() - begin:.2f} s (bar: 10)", flush=True)
    finished = len(list(job.glob("*/import.json")))  # also those that it had not renamed yet
    done = import_job(folder, job, cluster=address)
    again = done.repeated - (ranks - finished)
    print(f"restarted: {again} of {finished} finished ranks were imported again (bar: 1 %)", flush=True)
    return done


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ranks", type=int, default=1000)
    options.add_argument("--spans", type=int, default=100_000)
    options.add_argument("--distinct", type=int, default=100)
    options.add_argument("--sample", type=int, default=5)
    options.add_argument("--traces", type=Path, help="a directory that keeps the files; one that has them is used")
    options.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    given = options.parse_args()
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(dir=given.traces and given.traces.parent) as made:
        folder = given.traces or Path(made, "traces")
        if not folder.is_dir():
            folder.mkdir()
            write_ranks(folder, given.ranks, given.spans, given.distinct)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{given.ranks} ranks, {size / 1e9:.1f} GB of JSON", flush=True)
        cpu, peak = alone(folder, given.sample)
        rate = f"{cpu / given.spans * 1e6:.2f} us of CPU a span"
        print(f"alone  {cpu:8.2f} s of CPU a rank of {given.spans:,} spans: {rate}; {peak / 1e6:.0f} MB", flush=True)
        whole = cpu * given.ranks
        done = {}
        if "pool" in given.parts:
            with timed("pool", whole, cores):
                done["pool"] = by_pool(folder, Path(made, "pool"))
            stored = sum(path.stat().st_size for path in Path(made, "pool").rglob("*.parquet"))
            print(f"       {stored / done['pool'].spans:.1f} bytes a span on disk", flush=True)
        if "dask" in given.parts:
            done["dask"] = on_dask(folder, Path(made, "dask"), cores, whole)
        if "restart" in given.parts:
            done["restart"] = killed_driver(folder, Path(made, "again"), given.ranks)
        if "restart-dask" in given.parts:
            with cluster(cores) as (address, _):
                done["restart-dask"] = killed_driver(folder, Path(made, "again-dask"), given.ranks, address)
        assert {each.ranks for each in done.values()} == {given.ranks}
        assert len({each.digest for each in done.values()}) == 1
        print(f"{', '.join(done)}: digest {next(iter(done.values())).digest[:16]}")


if __name__ == "__main__":
    main()
