"""Locks of events and streams on devices written in Python: no thread waits for a lock while it holds the GIL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_an_event_is_queried_while_another_thread_records_it():
    # The device's make_marker is Python and lets other threads run: they must not wait for it with the GIL.
    code = """if True:
        import threading, time
        import eventide as et
        from tests import immediate_device

        class Slow(immediate_device.Prompt):
            inside = threading.Event()
            queried = threading.Event()

            def make_marker(self, steps, timing):
                self.inside.set()
                self.queried.wait(60)
                return super().make_marker(steps, timing)

        et.Device.register(Slow, name="slow")
        stream, event = et.Stream("slow"), et.Event("slow")
        recorder = threading.Thread(target=event.record, args=[stream])
        recorder.start()
        Slow.inside.wait(60)
        print(event.query(), event.version)
        Slow.queried.set()
        recorder.join(60)
        event.synchronize(60)
        print(event.query(), event.version)
        """
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)
    assert done.stdout.split() == ["True", "0", "True", "1"], done.stderr
