"""Exit of the process and of its forked children: bounded, clean, and reported."""

import os
import subprocess
import sys
import textwrap

import pytest


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", "import os, sys, threading, eventide as et\n" + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


def test_queued_work_finishes_before_the_process_ends():
    ended = run(
        """
        s = et.Stream("cpu")
        for n in range(100):
            s.submit(lambda n=n: (sys.stdout.write(f"{n}\\n"), sys.stdout.flush()))
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == [str(number) for number in range(100)]


def test_work_that_never_ends_is_abandoned_with_one_line():
    ended = run(
        """
        s = et.Stream("cpu", name="stuck")
        s.submit(threading.Event().wait)
        print("main is over")
        """,
        EVENTIDE_EXIT_TIMEOUT="0.1",
    )
    assert (ended.returncode, ended.stdout) == (0, "main is over\n")
    assert len(ended.stderr.splitlines()) == 1
    assert "eventide" in ended.stderr.lower()


def test_abandoned_work_is_counted_exactly():
    ended = run(
        """
        a, b, c = et.Stream("cpu"), et.Stream("cpu"), et.Stream("cpu")
        a.submit(threading.Event().wait)
        b.wait_stream(a)
        b.submit(int)  # queued, and nothing runs before it on its own stream
        c.wait_stream(a)  # no work at all
        """,
        EVENTIDE_EXIT_TIMEOUT="0.1",
    )
    assert "2 work items" in ended.stderr


def test_work_abandoned_in_python_code_does_not_abort_the_process():
    ended = run(
        """
        def spin():
            while True:
                sum(range(100))
        for _ in range(3):
            et.Stream("cpu").submit(spin)
        """,
        EVENTIDE_EXIT_TIMEOUT="0.1",
    )
    assert ended.returncode == 0
    assert len(ended.stderr.splitlines()) == 1


def test_an_error_that_was_not_raised_does_not_change_the_exit_code():
    ended = run(
        """
        s = et.Stream("cpu")
        s.submit(lambda: 1 / 0).exception()
        """
    )
    assert ended.returncode == 0


def test_all_objects_may_exist_at_exit():
    ended = run(
        """
        s = et.Stream("cpu")
        pool = et.EventPool("cpu")
        e = pool.acquire(); e.record(s); e.notify(lambda e: None)
        f = s.submit(int); f.add_done_callback(lambda f: None)
        et.hooks.on("work_completion", lambda *a: None)
        et.hooks.on("event_deletion", lambda *a: None)
        b = et.empty(64, device="cpu")
        m = memoryview(b)
        s.__enter__()
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")


FORK = """
s = et.Stream("cpu")
e = s.record_event()
e.synchronize(timeout=10)
pool = et.EventPool("cpu")
kept = pool.acquire()
child = os.fork()
if child == 0:
    try:
        {body}
    except BaseException as error:
        print(type(error).__name__, error)
        sys.stdout.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)
_, status = os.waitpid(child, 0)
print("parent", os.waitstatus_to_exitcode(status), s.submit(int, "5").result(10))
"""


def test_new_objects_work_in_the_child_of_a_fork_and_old_ones_in_the_parent():
    body = 'print("child", et.Stream("cpu").submit(int, "4").result(10), et.current_stream().submit(int).result(10))'
    ended = run(FORK.format(body=body))
    assert ended.stdout.splitlines() == ["child 4 0", "parent 0 5"]


@pytest.mark.parametrize(
    "use",
    [
        "s.submit(int)",
        "s.record_event()",
        "s.synchronize(timeout=10)",
        "s.query()",
        "e.record()",
        "e.record(et.Stream('cpu'))",
        "e.synchronize(timeout=10)",
        "et.Stream('cpu').wait_event(e)",
        "et.Stream('cpu').wait_stream(s)",
    ],
)
def test_objects_of_the_parent_raise_an_error_that_names_the_fork_in_the_child(use):
    ended = run(FORK.format(body=use))
    child, parent = ended.stdout.splitlines()
    assert child.split()[0] in {"StreamError", "EventError"}
    assert "before fork" in child
    assert parent == "parent 1 5"


def test_a_fork_while_a_stream_is_held_does_not_affect_the_parent():
    # Held, not about to start: at the fork the worker must not be inside malloc, since ASan's allocator does not
    # release its locks in the child, as that of glibc does. test_fork.py forks at any moment, without ASan.
    ended = run(
        """
        held, gate = threading.Event(), threading.Event()
        s = et.Stream("cpu")
        f = s.submit(lambda: held.set() or gate.wait(10))
        held.wait(10)
        child = os.fork()
        if child == 0:
            os._exit(et.Stream("cpu").submit(int, "7").result(10))
        _, status = os.waitpid(child, 0)
        gate.set()
        print(os.waitstatus_to_exitcode(status), f.result(10))
        """
    )
    assert ended.stdout == "7 True\n"


def test_a_forked_child_exits_normally():
    ended = run(
        """
        s = et.Stream("cpu")
        s.submit(int).result(10)
        child = os.fork()
        if child == 0:
            f = et.Stream("cpu").submit(print, "from the child")
            sys.exit(0)  # atexit runs in the child and drains its own streams only
        _, status = os.waitpid(child, 0)
        print("exit", os.waitstatus_to_exitcode(status))
        """
    )
    assert ended.stdout.splitlines() == ["from the child", "exit 0"]
