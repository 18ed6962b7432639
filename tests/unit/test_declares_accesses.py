"""A recorded program that declares accesses has its hand-over traced from its first line."""

import subprocess
import sys

import pytest

from eventide.run._declares import declares_accesses
from eventide.sanitizer import check_trace
from eventide.trace import open_trace

LOCK_AT_THE_TOP = """
import threading
import numpy as np
import eventide as et

lock = threading.Lock()  # before anything is declared
total = np.zeros(8)
add = et.work(lambda x: np.add(x, 1, out=x), name="add", reads="x", writes="x")


def worker():
    stream = et.Stream("cpu")
    for _ in range(3):
        with lock:
            stream.submit(add, total).result()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize(
    ("text", "declares"),
    [
        ("import eventide as et\net.work(print, reads=x)", True),
        ("from eventide import host_access", True),
        ("import eventide as et\nb = et.empty(8)", True),
        ("import eventide as et\nwith et.span('x'): pass", False),
        ("print('reads=')", False),
    ],
)
def test_a_file_declares_accesses_if_it_names_them(text, declares, tmp_path, monkeypatch):
    (tmp_path / "main.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    for arguments in (["main.py", "-x"], ["-W", "error", "-m", "main"], [str(tmp_path / "main.py")]):
        assert declares_accesses(arguments) is declares


def test_a_file_beside_the_main_one_counts(tmp_path, monkeypatch):
    (tmp_path / "main.py").write_text("import work")
    (tmp_path / "work.py").write_text("import eventide as et\net.work(print, writes=())")
    monkeypatch.chdir(tmp_path)
    assert declares_accesses(["main.py"])


@pytest.mark.parametrize("arguments", [[], ["-c", "import eventide"], ["-m"], ["-m", "missing"], ["missing.py"], ["-"]])
def test_without_a_file_nothing_is_declared(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not declares_accesses(arguments)


def test_a_lock_at_the_top_of_a_recorded_program_is_traced(tmp_path):
    (tmp_path / "main.py").write_text(LOCK_AT_THE_TOP)
    command = [sys.executable, "-m", "eventide", "run", "-o", "run.eventide", "main.py"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    findings = check_trace(open_trace(tmp_path / "run.eventide"))
    assert list(findings) == []
    assert findings.coverage.known == 9
