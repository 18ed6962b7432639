"""Programs of the standard library and of plain Python."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import urllib.request

from tests.programs.program import Program


def requests(process: subprocess.Popen[str]) -> None:
    """Three requests, then Ctrl-C to its group, as a terminal sends it."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"port (\d+)", line)
    assert found is not None, line
    for _ in range(3):
        with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/", timeout=60) as page:
            page.read()
    os.killpg(process.pid, signal.SIGINT)


THREADS = """
import threading, queue, time
work = queue.Queue()
def run():
    while (n := work.get()) is not None:
        sum(i * i for i in range(n))
threads = [threading.Thread(target=run, name=f"worker {n}") for n in range(3)]
for thread in threads: thread.start()
for _ in range(30): work.put(100_000)
for _ in threads: work.put(None)
for thread in threads: thread.join()
print("threads done")
"""
ASYNCIO = """
import asyncio
async def fetch(n):
    await asyncio.sleep(0.05)
    return n
async def main():
    tasks = [asyncio.create_task(fetch(n), name=f"fetch {n}") for n in range(10)]
    print(await asyncio.gather(*tasks))
asyncio.run(main())
"""
POOL = """
import multiprocessing, sys
def square(n):
    return sum(i * i for i in range(n * 20_000))
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(square, range(40))[-1])
"""
FUTURES = """
from concurrent.futures import ProcessPoolExecutor
def square(n):
    return sum(i * i for i in range(n * 20_000))
if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        print(list(pool.map(square, range(40)))[-1])
"""
SUBPROCESS = """
import subprocess, sys
for n in range(3):
    done = subprocess.run([sys.executable, "-c", f"print(sum(range({n} * 1_000_000)))"], capture_output=True, text=True)
    print(done.stdout.strip(), done.returncode)
"""
STRICT = (
    '[tool.pytest.ini_options]\nfilterwarnings = ["error", "ignore:.*_editable_:pytest.PytestAssertRewriteWarning"]\n'
)
TESTS = """
import pytest
@pytest.mark.parametrize("n", range(20))
def test_it(n):
    assert sum(range(n)) == n * (n - 1) // 2
def test_fails():
    assert "this" == "that"
"""
CRASH = (
    "import ctypes, faulthandler\nfaulthandler.enable()\nprint(sum(range(10**6)), flush=True)\nctypes.string_at(0)\n"
)
KILL = "import os, signal\nprint(sum(range(10**6)), flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
EXIT = "import sys\nprint(sys.argv[1:], file=sys.stderr)\nsys.exit(3)\n"
FAILS = "def f(n):\n    return 1 / n\nprint(f(1))\nf(0)\n"

PROGRAMS = [
    Program("timeit", ["-m", "timeit", "-n", "100000", "-r", "5", "sum(range(100))"], compared=True),
    Program("http.server and Ctrl-C", ["-m", "http.server", "0", "--bind", "127.0.0.1"], drive=requests),
    Program("threads", ["p.py"], {"p.py": THREADS}, compared=True),
    Program("asyncio", ["p.py"], {"p.py": ASYNCIO}, compared=True),
    Program("multiprocessing pool, fork", ["p.py", "fork"], {"p.py": POOL}, compared=True),
    Program("multiprocessing pool, spawn", ["p.py", "spawn"], {"p.py": POOL}),
    Program("concurrent.futures pool", ["p.py"], {"p.py": FUTURES}),
    Program("subprocess of Python programs", ["p.py"], {"p.py": SUBPROCESS}, compared=True),
    Program(
        "pytest, warnings are errors", ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"],
        {"pyproject.toml": STRICT, "test_a.py": TESTS},
    ),
    Program("exit code 3", ["p.py", "a", "--b"], {"p.py": EXIT}),
    Program("an exception", ["p.py"], {"p.py": FAILS}),
    Program("a crash (SIGSEGV)", ["p.py"], {"p.py": CRASH}),
    Program("a kill (SIGKILL)", ["p.py"], {"p.py": KILL}),
]  # fmt: skip
