"""Two OpenCL queues as Eventide streams: one copies, one adds, and an event between them orders the two.

`pip install 'pyopencl[pocl]'` brings a driver for the CPU. Work runs inside submit and enqueues on the stream's own
queue, `et.current_stream().native`; the Future is done when the device is.
"""

import numpy as np
import pyopencl as cl

import eventide as et

N = 1 << 20
SOURCE = "__kernel void add(__global const float *a, __global const float *b, __global float *c)\n"
SOURCE += "{ int i = get_global_id(0); c[i] = a[i] + b[i]; }"

device = et.Device("opencl:0")
add = cl.Kernel(cl.Program(device.native, SOURCE).build(), "add")  # device.native is the context
a, b, c = (et.empty(4 * N, device) for _ in range(3))


@et.work(name="add", reads=("a", "b"), writes="c")
def launch(a, b, c):
    add(et.current_stream(device).native, (N,), None, a.native, b.native, c.native)


def main():
    rng = np.random.default_rng(1)
    x, y, z = rng.random(N, np.float32), rng.random(N, np.float32), np.empty(N, np.float32)
    copies, kernels = et.Stream(device, name="copies"), et.Stream(device, name="kernels")
    start, end = et.Event(device, enable_timing=True), et.Event(device, enable_timing=True)

    start.record(copies)
    copies.copy(a, x)
    copies.copy(b, y)
    kernels.wait_stream(copies)  # without it the kernel may read what is not there yet
    kernels.submit(launch, a, b, c)
    kernels.copy(z, c)
    end.record(kernels)
    end.synchronize(timeout=60)

    assert np.array_equal(z, x + y)
    clock = device.clock
    print(f"{device.name}")
    print(f"{N:,} sums are right; {start.elapsed_time(end):.2f} ms on the device")
    print(f"its clock is {clock.name}: {clock.offset_ns} ns off CLOCK_MONOTONIC, accurate to {clock.error_ns} ns")


if __name__ == "__main__":
    main()
