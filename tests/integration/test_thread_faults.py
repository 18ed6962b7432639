"""No thread or no memory is available for a stream: a clear exception, nothing is lost, and it works again later."""

import os
import resource
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.helpers import TIMEOUT

compiler = shutil.which("cc") or shutil.which("gcc")

INTERPOSED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

int failing = 0;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (failing) return EAGAIN;
    if (!real) real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, function, argument);
}
"""

PROGRAM = """
import ctypes, sys, threading
import eventide as et

failing = ctypes.c_int.in_dll(ctypes.CDLL(sys.argv[1]), "failing")
called, gate = [], threading.Event()
stream = et.Stream("cpu")
failing.value = 1
for attempt in range(3):
    try:
        et.Stream("cpu")
    except et.DeviceError as error:
        print(error)
held = stream.submit(gate.wait, 10)
future = stream.submit(int, "7")
future.add_done_callback(called.append)  # its end starts the notifier, which cannot be had
gate.set()
print(future.result(10), held.result(10), called)
failing.value = 0
print(et.Stream("cpu").submit(int, "6").result(10))
done = threading.Event()
gate.clear()
stream.submit(gate.wait, 10)
stream.submit(int).add_done_callback(lambda future: done.set())
gate.set()
print(done.wait(10), called == [future])
"""


@pytest.mark.skipif(compiler is None, reason="no C compiler")
def test_without_threads_a_stream_cannot_be_made_and_everything_else_continues(tmp_path: Path) -> None:
    source, library = tmp_path / "threads.c", tmp_path / "threads.so"
    source.write_text(INTERPOSED)
    subprocess.run([str(compiler), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(library)],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=6 * TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused = "cannot start a worker thread: Resource temporarily unavailable; close streams that are no longer needed"
    assert done.stdout.splitlines() == [refused] * 3 + ["7 True []", "6", "True True"]
    assert done.stderr == ""


def test_without_memory_a_stream_cannot_be_made_until_memory_is_available_again() -> None:
    program = """
        import resource
        import eventide as et
        stream = et.Stream("cpu")
        stream.submit(int).result(10)
        pages = int(open("/proc/self/statm").read().split()[0])
        before = resource.getrlimit(resource.RLIMIT_AS)
        made = []
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (20 << 20), before[1]))
        try:
            while True:
                made.append(et.Stream("cpu"))
        except (et.DeviceError, MemoryError) as error:
            refused = str(error)
        working = stream.submit(int, "7").result(10)
        resource.setrlimit(resource.RLIMIT_AS, before)
        print(refused)
        print(working, et.Stream("cpu").submit(int, "6").result(10), all(s.submit(int).result(10) == 0 for s in made))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=6 * TIMEOUT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert done.returncode == 0, done.stderr
    refused, working = done.stdout.splitlines()
    assert refused.startswith("cannot start a worker thread: ")
    assert working == "7 6 True"
