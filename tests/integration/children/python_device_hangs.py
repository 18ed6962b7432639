"""Exit while a method of a device hangs in a daemon thread: `python_device_hangs.py METHOD`.

Then, when Eventide has shut down, the stream is used once more; prints what that raised.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from typing import Any


def use_late() -> None:
    try:
        stream.record_event()
    except et.DeviceError as error:
        sys.stdout.write(f"DeviceError: {str(error).partition(';')[0]}\n")


atexit.register(use_late)  # before the import: it runs after Eventide's own

import eventide as et  # noqa: E402
from examples.tiny_device import Tiny  # noqa: E402

entered, held = threading.Event(), threading.Event()
METHOD = sys.argv[1]
right = getattr(Tiny, METHOD)


def hanging(*given: Any) -> Any:
    if threading.current_thread().name == "hangs":
        entered.set()
        time.sleep(3600.0)
    return right(*given)


def use() -> None:
    if METHOD == "wait":
        stream.wait_event(event)
    elif METHOD == "submit":
        stream.submit(int)
    else:
        stream.record_event()


et.Device.register(type("Hanging", (Tiny,), {METHOD: hanging, "type": "hanging", "__doc__": "Wrong on purpose"}))
other, stream = et.Stream("hanging"), et.Stream("hanging")
other.submit(held.wait, 5.0)  # so that the event is pending
event = other.record_event()
threading.Thread(target=use, name="hangs", daemon=True).start()
entered.wait()
held.set()
