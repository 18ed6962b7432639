"""A thread with a name computes while the main thread waits for it."""

import threading
import time


def spin() -> None:
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        sum(range(1000))


worker = threading.Thread(target=spin, name="worker")
worker.start()
worker.join()
