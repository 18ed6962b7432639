"""Training: gradient reduction, checkpoints, parameter servers, evaluation beside training, optimizers."""

import threading

import numpy as np

import eventide as et


@et.work(reads=("weights", "batch"), writes="gradient")
def backward(weights, batch, gradient):
    gradient[:] = weights * batch.mean()


@et.work(reads="gradient", writes="weights")
def optimize(weights, gradient):
    weights -= 0.1 * gradient


@et.work(reads="parts", writes="total")
def reduce(parts, total):
    total[:] = sum(parts)


@et.work(reads="weights", writes="copy")
def snapshot(weights, copy):
    copy[:] = weights


def gradient_reduction(device, bug):
    compute, network = et.Stream(device, name="compute"), et.Stream(device, name="network")
    layers = [np.ones(32) for _ in range(4)]
    gradients, reduced, batch = [np.zeros(32) for _ in layers], [np.zeros(32) for _ in layers], np.ones(8)
    for n in reversed(range(4)):
        compute.submit(backward, layers[n], batch, gradients[n])
        network.wait_event(compute.record_event())
        network.submit(reduce, [gradients[n]], reduced[n])
    if not bug:
        compute.wait_event(network.record_event())
    for n in range(4):
        compute.submit(optimize, layers[n], reduced[n])
    et.synchronize(device)


def checkpoint_while_training(device, bug):
    train, save = et.Stream(device, name="train"), et.Stream(device, name="save")
    weights, gradient, batch, copy = np.ones(64), np.zeros(64), np.ones(8), np.zeros(64)
    for step in range(6):
        train.submit(backward, weights, batch, gradient)
        train.submit(optimize, weights, gradient)
        if step % 3 == 2:
            save.wait_event(train.record_event())
            save.submit(snapshot, weights, copy)
            if not bug:
                train.wait_event(save.record_event())  # the weights change in the next step
    et.synchronize(device)
    et.host_access(reads=copy)


def parameter_server(device, bug):
    server, weights, lock = et.Stream(device, name="server"), np.zeros(32), threading.Lock()

    def worker(n):
        mine, gradient, local = et.Stream(device, name=f"worker {n}"), np.zeros(32), np.zeros(32)
        for _ in range(3):
            with lock:
                server.submit(snapshot, weights, local)
                pulled = server.record_event()
                pulled.synchronize()
            mine.submit(backward, local, np.ones(4), gradient)
            pushed = mine.record_event()
            with lock:
                if not bug:
                    server.wait_event(pushed)
                server.submit(optimize, weights, gradient)
                server.synchronize()
        mine.synchronize()

    threads = [threading.Thread(target=worker, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.synchronize()


def evaluate_beside_training(device, bug):
    train, test = et.Stream(device), et.Stream(device)
    weights, gradient, batch, frozen = np.ones(16), np.zeros(16), np.ones(4), np.zeros(16)
    for _ in range(3):
        train.submit(backward, weights, batch, gradient)
        train.submit(optimize, weights, gradient)
        train.submit(snapshot, weights, frozen)
        test.wait_event(train.record_event())
        test.submit(et.work(frozen.sum, name="evaluate", reads=weights if bug else frozen))
        train.wait_event(test.record_event()) if not bug else None
    et.synchronize(device)


def all_reduce_in_a_ring(device, bug):
    ranks = [et.Stream(device, name=f"rank {n}") for n in range(4)]
    values = [np.full(16, float(n)) for n in range(4)]
    for n, stream in enumerate(ranks):
        stream.submit(et.work(values[n].fill, name="local", writes=values[n]), 1.0)
    for n in range(1, 4):
        if not (bug and n == 3):
            ranks[n].wait_event(ranks[n - 1].record_event())
        ranks[n].submit(et.work(np.add, name="add", reads=values[n - 1], writes=values[n]), 1, 1)
    et.synchronize(device)


def accumulate_gradients(device, bug):
    streams = [et.Stream(device) for _ in range(2)]
    weights, batch, total = np.ones(8), np.ones(4), np.zeros(8)
    parts = [np.zeros(8), np.zeros(8)]
    for n, stream in enumerate(streams):
        stream.submit(backward, weights, batch, total if bug else parts[n])  # the bug: both into one .grad
    for stream in streams:
        stream.synchronize()
    if not bug:
        np.add(*parts, out=total)
    et.host_access(reads=total)
