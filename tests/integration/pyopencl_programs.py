"""Programs that only use pyopencl, in order and out of it, and how to run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LIMIT = 240  # seconds

SOURCE = """
__kernel void fill(__global float *a, float v) { a[get_global_id(0)] = v; }
__kernel void twice(__global const float *a, __global float *b) { b[get_global_id(0)] = 2 * a[get_global_id(0)]; }
"""
START = f"""
import sys
import numpy as np
import pyopencl as cl

device = next(d for p in cl.get_platforms() for d in p.get_devices())
context = cl.Context([device])
one, two = cl.CommandQueue(context), cl.CommandQueue(context)
program = cl.Program(context, '''{SOURCE}''').build()
fill, twice = program.fill, program.twice
a = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
b = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
out = np.empty(1024, np.float32)
"""
END = "cl.enqueue_copy(two, out, b)\nassert out.shape == (1024,)\nprint('ended')\n"
# Ways to let `twice` on the second queue come after `fill` on the first.
ORDERED = {
    "wait_for": "event = fill(one, (1024,), None, a, np.float32(3))\ntwice(two, (1024,), None, a, b, wait_for=[event])",
    "barrier": (
        "event = fill(one, (1024,), None, a, np.float32(3))\ncl.enqueue_barrier(two, wait_for=[event])\n"
        "twice(two, (1024,), None, a, b)"
    ),
    "marker": (
        "fill(one, (1024,), None, a, np.float32(3))\nevent = cl.enqueue_marker(one)\n"
        "twice(two, (1024,), None, a, b, wait_for=[event])"
    ),
    "finish": "fill(one, (1024,), None, a, np.float32(3))\none.finish()\ntwice(two, (1024,), None, a, b)",
    "event.wait": "fill(one, (1024,), None, a, np.float32(3)).wait()\ntwice(two, (1024,), None, a, b)",
    "wait_for_events": (
        "cl.wait_for_events([fill(one, (1024,), None, a, np.float32(3))])\ntwice(two, (1024,), None, a, b)"
    ),
    "same queue": "two = one\nfill(one, (1024,), None, a, np.float32(3))\ntwice(two, (1024,), None, a, b)",
    "blocking copy": "cl.enqueue_copy(one, a, out)\ntwice(two, (1024,), None, a, b)",
    "dropped copy": "cl.enqueue_copy(one, a, out, is_blocking=False)\ntwice(two, (1024,), None, a, b)",
    "both read": (
        "cl.enqueue_copy(one, a, out)\nc = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)\n"
        "twice(one, (1024,), None, a, c)\ntwice(two, (1024,), None, a, b)"
    ),
    "halves": (
        "cl.enqueue_fill_buffer(one, a, np.float32(1), 0, 2048)\n"
        "cl.enqueue_fill_buffer(two, a, np.float32(1), 2048, 2048)\n"
        "cl.enqueue_copy(two, b, b, byte_count=16, src_offset=0, dst_offset=64)"
    ),
}
RACES = {
    "kernels": "fill(one, (1024,), None, a, np.float32(3))\ntwice(two, (1024,), None, a, b)",
    "set_args": (
        "fill.set_args(a, np.float32(3))\ncl.enqueue_nd_range_kernel(one, fill, (1024,), None)\n"
        "twice.set_arg(0, a)\ntwice.set_arg(1, b)\ncl.enqueue_nd_range_kernel(two, twice, (1024,), None)"
    ),
    "kept copy": (
        "kept = cl.enqueue_copy(one, a, np.ones(1024, np.float32), is_blocking=False)\ntwice(two, (1024,), None, a, b)"
    ),
    "fills": (
        "cl.enqueue_fill_buffer(one, a, np.float32(1), 0, 2052)\n"
        "cl.enqueue_fill_buffer(two, a, np.float32(1), 2048, 2048)"
    ),
    "sub-buffer": (
        "part = a.get_sub_region(2048, 2048)\ncl.enqueue_fill_buffer(one, part, np.float32(1), 0, 2048)\n"
        "twice(two, (1024,), None, a, b)"
    ),
}
# Nothing is wrong with these, and nothing in them is too much.
FINE = {
    "a sub-buffer outlives its buffer": (
        "part = cl.Buffer(context, cl.mem_flags.READ_WRITE, 8192)[4096:8192]\n"
        "kept = cl.enqueue_copy(one, part, out, is_blocking=False)\nkept.wait()"
    ),
    "two threads read into one address after the other": (
        "import _thread\nsaid = []\n"
        "def read():\n    small = np.empty(1, np.float32)\n    cl.enqueue_copy(one, small, a)\n"
        "    said.append(small.__array_interface__['data'][0])\n    del small\n    said.append('over')\n"
        "_thread.start_new_thread(read, ())\nwhile len(said) < 2: pass\n"
        "small = np.empty(1, np.float32)\nassert small.__array_interface__['data'][0] == said[0]\n"
        "cl.enqueue_copy(two, small, b)"
    ),
    "each command of an out-of-order queue is waited for": (
        "free = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)\n"
        "first, second = fill(free, (1024,), None, a, np.float32(3)), fill(free, (1024,), None, b, np.float32(3))\n"
        "second.wait()\nfirst.wait()\nfree.finish()"
    ),
    "a queue that is idle is left": "with cl.CommandQueue(context) as queue:\n    pass",
    "a queue that was finished is left": (
        "with cl.CommandQueue(context) as queue:\n    fill(queue, (1024,), None, b, np.float32(3))\n    queue.finish()"
    ),
    "a queue whose result was waited for is left": (
        "with cl.CommandQueue(context) as queue:\n    fill(queue, (1024,), None, a, np.float32(3))\n"
        "    cl.enqueue_copy(queue, out, a)"
    ),
    "leaving a queue waits for what it has": (
        "with cl.CommandQueue(context) as queue:\n    fill(queue, (1024,), None, b, np.float32(3))\n"
        "twice(one, (1024,), None, b, a).wait()"
    ),
    "the host waits for what another thread releases": (
        "import threading\ngate = cl.UserEvent(context)\nevent = cl.enqueue_marker(one, wait_for=[gate])\none.flush()\n"
        "threading.Thread(target=gate.set_status, args=(0,)).start()\nevent.wait()"
    ),
}


def eventide(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eventide", *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
