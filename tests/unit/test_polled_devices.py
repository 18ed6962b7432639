"""Threads, forks, Ctrl-C and subinterpreters on devices that the core polls."""

import dataclasses
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

import eventide as et
from eventide.backends import DeviceBackend, MarkerState
from tests import immediate_device  # noqa: F401 - registers the device
from tests.helpers import TIMEOUT, eventually


def run(program, **variables):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
    )


def test_work_that_is_never_queried_does_not_accumulate():
    class Argument:
        pass

    stream = et.Stream("prompt")
    stream.record_event()
    references = []
    for _ in range(2000):
        argument = Argument()
        references.append(weakref.ref(argument))
        stream.submit(lambda argument: None, argument)
    eventually(
        lambda: (
            stream.submit(lambda: None)
            and sum(reference() is not None for reference in references) < len(references) / 2
        ),
        "completed work releases its arguments",
    )
    stream.synchronize(TIMEOUT)


def test_a_device_reads_the_name_of_work_that_ends_meanwhile():
    """Freed memory has another content with PYTHONMALLOC=debug."""
    ended = run(
        """
        import threading
        import eventide as et
        from examples.tiny_device import Tiny

        in_name, over = threading.Event(), threading.Event()

        class Function:
            def __call__(self):
                pass

            def __getattr__(self, name):
                if name == "__qualname__":
                    in_name.set()
                    assert over.wait(60)
                raise AttributeError(name)

        names = []

        class Naming(Tiny):
            "Another thread of it reads the name"
            type = "naming"

            def submit(self, steps, work):
                readers.append(threading.Thread(target=lambda: names.append(work.name)))
                readers[-1].start()
                assert in_name.wait(60)
                super().submit(steps, work)

        readers = []
        et.Device.register(Naming)
        stream = et.Stream("naming")
        future = stream.submit(Function())
        future.result(60)
        del future
        over.set()
        readers[0].join(60)
        print(names)
        """,
        PYTHONMALLOC="debug",
    )
    assert (ended.returncode, ended.stdout) == (0, "['Function']\n"), ended.stderr


def test_after_ctrl_c_in_immediate_work_a_later_submit_gives_a_skipped_future():
    def interrupt():
        raise KeyboardInterrupt

    stream = et.Stream("prompt")
    with pytest.raises(KeyboardInterrupt):
        stream.submit(interrupt)
    later = stream.submit(int)
    with pytest.raises(et.StreamError):
        later.result(TIMEOUT)
    with pytest.raises(KeyboardInterrupt):
        stream.synchronize(TIMEOUT)


@pytest.mark.parametrize("works", [1, 3])
def test_ctrl_c_in_a_completion_hook_reaches_the_waiting_call(works):
    ended = run(
        f"""
        import eventide as et
        from tests import immediate_device

        fired = []

        def interrupt(*_):
            fired.append(1)
            if len(fired) == 1:
                raise KeyboardInterrupt

        with et.hooks.on("work_completion", interrupt):
            stream = et.Stream("prompt")
            last = [stream.submit(int) for _ in range({works})][-1]
            try:
                last.result(10)
            except KeyboardInterrupt:
                print("interrupted", last.result(10))
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "interrupted 0\n"), ended.stderr


def test_a_future_made_before_a_fork_does_not_poll_the_device_in_the_child():
    ended = run(
        """
        import os
        import eventide as et
        from tests.immediate_device import Prompt

        polled = []

        class Counting(Prompt):
            type = "counting"

            def poll(self, marker):
                polled.append(marker)
                return super().poll(marker)

        et.Device.register(Counting)
        stream = et.Stream("counting")
        import threading
        gate = threading.Event()
        future = stream.submit(lambda: et.current_stream("counting").native.put(gate.wait))
        child = os.fork()
        if child == 0:
            before = len(polled)
            done = future.done()
            del future
            os._exit(0 if (done, len(polled)) == (False, before) else 1)
        _, status = os.waitpid(child, 0)
        gate.set()
        future.result(10)
        print(os.waitstatus_to_exitcode(status))
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "0\n"), ended.stderr


def test_work_submitted_before_a_fork_is_refused_in_the_child_and_runs_in_the_parent():
    ended = run(
        """
        import os
        import eventide as et
        from examples.tiny_device import Tiny

        kept = []

        class Keeping(Tiny):
            type = "keeping"

            def submit(self, steps, work):
                kept.append(work)
                super().submit(steps, work)

        et.Device.register(Keeping)
        stream = et.Stream("keeping")
        import threading
        gate = threading.Event()
        stream.submit(gate.wait)
        future = stream.submit(int, "7")
        child = os.fork()
        if child == 0:
            try:
                kept[1].run()
            except et.StreamError as error:
                os._exit(0 if "before fork" in str(error) else 2)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        gate.set()
        print(os.waitstatus_to_exitcode(status), future.result(10))
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "0 7\n"), ended.stderr


def test_callbacks_of_polled_streams_hold_the_gil_after_a_subinterpreter_was_made():
    ended = run(
        """
        import sys, threading
        if sys.version_info >= (3, 13):
            import _interpreters as interpreters
        else:
            import _xxsubinterpreters as interpreters
        import eventide as et
        from tests import immediate_device

        interpreters.destroy(interpreters.create())
        done, total = threading.Event(), []

        def count(event):
            total.append(len([[] for _ in range(1000)]))
            if len(total) == 200:
                done.set()

        with et.hooks.on("work_completion", lambda *_: [[] for _ in range(100)]):
            for _ in range(200):
                stream = et.Stream("prompt")
                stream.submit(int)
                stream.record_event().notify(count)
            while not done.wait(0.01):
                [[] for _ in range(1000)]
            stream.synchronize(10)
        print(len(total))
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "200\n"), ended.stderr


class Passive(DeviceBackend):
    """Its markers pass all at once; nothing polls them before the last one"""

    type = "passive"
    state = MarkerState.PENDING

    def capabilities(self, index):
        flags = dict.fromkeys((field.name for field in dataclasses.fields(et.Capabilities)), False)
        return et.Capabilities(**{**flags, "deferred": True, "clock": "CLOCK_MONOTONIC"})

    def open_stream(self, index, priority):
        return object()

    def submit(self, stream, work):
        work.run()

    def make_marker(self, stream, timing):
        return object()

    def wait(self, stream, marker):
        pass

    def poll(self, marker):
        return self.state

    def completed_at(self, marker):
        return 0


def test_a_chain_of_any_number_of_streams_is_polled():
    """On a thread with a stack of 512 KiB: polling what each stream waited for by recursion needed ten times that."""
    et.Device.register(Passive)
    streams = [et.Stream("passive") for _ in range(10_000)]
    event = streams[0].record_event()
    for stream in streams[1:]:
        stream.wait_event(event)
        event = stream.record_event()
    Passive.state = MarkerState.DONE
    states = []
    before = threading.stack_size(1 << 19)
    thread = threading.Thread(target=lambda: states.append(event.query()))
    thread.start()
    threading.stack_size(before)
    thread.join(TIMEOUT)
    assert states == [True]
    assert all(each.query() for each in streams)
    del stream
    streams.clear()
    et.Device.unregister("passive")
