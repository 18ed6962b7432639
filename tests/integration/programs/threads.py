"""A program that does not use Eventide: threads, a queue and a pool, a result on stdout."""

import queue
import sys
import threading
from concurrent.futures import ThreadPoolExecutor


def square(n: int) -> int:
    return sum(n for _ in range(n))


def consume(source: "queue.Queue[int | None]", sink: list[int]) -> None:
    while (n := source.get()) is not None:
        sink.append(square(n))


def main() -> int:
    source: queue.Queue[int | None] = queue.Queue(4)
    sink: list[int] = []
    thread = threading.Thread(target=consume, args=(source, sink))
    thread.start()
    for n in range(200):
        source.put(n)
    source.put(None)
    thread.join()
    with ThreadPoolExecutor(2) as pool:
        pooled = list(pool.map(square, range(200)))
    print(__name__, sys.argv[1:], sink == pooled, sum(sink), threading.active_count())
    return 3 if "--fail" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
