"""OpenCL devices through pyopencl, which _device and _queue import; _probe.py is run as a program of its own."""
