"""A program that does not use Eventide: processes by spawn and by fork, pickled work, numpy."""

import multiprocessing as mp
import os

import numpy as np


def work(n: int) -> float:
    return float(np.arange(n, dtype=np.float64).sum())


if __name__ == "__main__":
    for method in ("spawn", "fork"):
        with mp.get_context(method).Pool(2) as pool:
            print(method, pool.map(work, [10, 100, 1000]))
    print("PYTHONPATH" in os.environ, [name for name in os.environ if name.startswith("EVENTIDE")])
