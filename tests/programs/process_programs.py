"""Programs whose processes, signals or exit matter: attached to, without space on the disk, and so on."""

from __future__ import annotations

from pathlib import Path

from tests.programs.program import Program

RUNS_ALREADY = """
import threading, time
def spin(until):
    while time.monotonic() < until:
        sum(range(2000))
until = time.monotonic() + 4
threads = [threading.Thread(target=spin, args=(until,), name=f"worker {n}") for n in range(2)]
for thread in threads: thread.start()
spin(until)
for thread in threads: thread.join()
print("done")
"""
FULL = "print(sum(range(10**6)))\n"
MANAGER = """
import multiprocessing
def put(table, n):
    table[n] = sum(range(n * 100_000))
if __name__ == "__main__":
    with multiprocessing.get_context("forkserver").Manager() as manager:
        table = manager.dict()
        processes = [multiprocessing.Process(target=put, args=(table, n)) for n in range(3)]
        for process in processes: process.start()
        for process in processes: process.join()
        print(sorted(table.items()), [process.exitcode for process in processes])
"""
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for n in range(3): os.dup2(os.open(os.devnull, os.O_RDWR), n)
        open("done", "w").close()
    os._exit(0)
os.wait()
while not os.path.exists("done"): time.sleep(0.01)
print("the daemon has run")
"""
BECOMES = """
import os, sys
if sys.argv[1:]: sys.exit(f"now {sys.argv[1]}")
os.execv(sys.executable, [sys.executable, "p.py", "another program"])
"""
RANK = """
import os
total = sum(i * i for i in range(2_000_000))
print("rank", os.environ["OMPI_COMM_WORLD_RANK"], total)
"""


def fill(folder: Path) -> None:
    """What is written to the recording finds no space."""
    (folder / "t.eventide").symlink_to("/dev/full")


PROGRAMS: list[Program] = [
    Program("--pid: a process that runs already", ["p.py"], {"p.py": RUNS_ALREADY}, ["remote_exec"], attached=True),
    Program("a full disk", ["p.py"], {"p.py": FULL}, prepare=fill, options=["-o", "t.eventide"]),
    Program("multiprocessing Manager, forkserver", ["p.py"], {"p.py": MANAGER}),
    Program("a daemon, fork twice", ["p.py"], {"p.py": DAEMON}),
    Program("os.execv", ["p.py"], {"p.py": BECOMES}),
    Program(
        "mpirun of two", ["p.py"], {"p.py": RANK}, ["mpirun"],
        launcher=["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"], sorted_output=True,
    ),
]  # fmt: skip
