"""Train a network on compressed shards while the next shard is being inflated: two streams, two slots, events.

`load` inflates into a slot and records ready; `train` waits for it, takes a gradient step from the slot and records
free; `load` waits for that before it fills the slot again. Delete this last wait (--drop-wait): nothing is raised, and
now and then the network trains on a slot that is being overwritten. `eventide check` finds that in every run.
"""

import hashlib
import os
import sys
import time
import zlib
from contextlib import closing

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # before numpy: the other core is for the other stream
import numpy as np

import eventide as et

VARIANTS = SERIAL, EVENTS, BROKEN = ("one after the other", "two streams, events", "one wait deleted")
ROWS = [1120] * 4 + [560] * 4 + [800] * 16  # 24 shards of three sizes; a row is an image of 784 bytes


def make_shards():
    rng = np.random.default_rng(0)
    shapes = rng.integers(0, 200, (10, 784), np.uint8) * (rng.random((10, 784)) < 0.35)
    labels = [rng.integers(0, 10, rows) for rows in ROWS]
    return [(zlib.compress(shapes[y] + rng.integers(0, 56, (len(y), 784), np.uint8)), y) for y in labels]


@et.work(name="load", writes="slot")
def inflate(packed, slot):  # and normalise, in pieces of 32 KiB
    inflater, pixels, end = zlib.decompressobj(), slot.reshape(-1), 0
    for at in range(0, len(packed), 1 << 15):
        piece = np.frombuffer(inflater.decompress(packed[at : at + (1 << 15)]), np.uint8)
        start, end = end, end + piece.size
        np.multiply(piece, np.float32(1 / 255), out=pixels[start:end])


@et.work(name="train", reads="slot", writes=("w1", "w2"))
def step(slot, labels, w1, w2):  # forward, backward, SGD in place
    hidden = np.maximum(slot @ w1, 0)
    odds = np.exp(hidden @ w2)
    guess, truth = odds / odds.sum(axis=1, keepdims=True), np.eye(10, dtype=np.float32)[labels]
    error = (guess - truth) * np.float32(0.1 / len(labels))  # 0.1: the learning rate
    w1 -= slot.T @ ((error @ w2.T) * (hidden > 0))
    w2 -= hidden.T @ error
    return float(-np.log((guess * truth).sum(axis=1) + 1e-9).mean())  # the loss


def run(variant, shards, width=88, fill=inflate):  # seconds, cores used, last loss, digest of every bit of the weights
    w1, w2 = (np.random.default_rng(1).normal(0, 0.05, s).astype(np.float32) for s in ((784, width), (width, 10)))
    slots = [np.frombuffer(et.empty(784 * 4 * max(ROWS)), np.float32).reshape(-1, 784) for _ in range(2)]
    with closing(et.Stream("cpu", name="load")) as load, closing(et.Stream("cpu", name="train")) as train:
        ready, free = [et.Event(), et.Event()], [train.record_event(), train.record_event()]  # both slots start free
        wall, cpu = time.perf_counter(), time.process_time()
        for i, (packed, labels) in enumerate(shards):
            k, slot = i % 2, slots[i % 2][: len(labels)]
            if variant == EVENTS:
                load.wait_event(free[k])  # the line that BROKEN does without
            load.submit(fill, packed, slot)
            load.record_event(ready[k])
            train.wait_event(ready[k])
            loss = train.submit(step, slot, labels, w1, w2)
            train.record_event(free[k])
            if variant == SERIAL or i + 1 == len(shards):
                train.synchronize()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return wall, cpu / wall, loss.result(), hashlib.sha256(w1.tobytes() + w2.tobytes()).hexdigest()


if __name__ == "__main__":
    shards = make_shards()
    orders = [[shards[j] for j in np.random.default_rng(seed).permutation(len(shards))] for seed in range(10)]
    runs = {v: [run(v, order) for order in orders] for v in VARIANTS[: 3 if "--drop-wait" in sys.argv else 2]}
    for variant, results in runs.items():
        seconds, _, _, digests = zip(*results, strict=True)
        same = sum(digest == truth for digest, (*_, truth) in zip(digests, runs[SERIAL], strict=True))
        print(f"{variant:20} {1e3 * np.median(seconds):4.0f} ms   same weights in {same} of {len(orders)} runs")
