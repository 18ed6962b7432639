"""Compiles of JAX, Numba or Triton under its adapter. Prints JSON: what was traced in each part of the story.

argv: the framework, and a folder for its caches.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

FRAMEWORK, FOLDER = sys.argv[1], sys.argv[2]
os.environ |= {"NUMBA_CACHE_DIR": FOLDER, "TRITON_CACHE_DIR": FOLDER}

from eventide import compiling, integrations  # noqa: E402

waiting = integrations.install_when_imported(FRAMEWORK)
traced: list[Any] = []
story: dict[str, Any] = {}
compiling.on_compile_start(lambda args: traced.append(["start", args.callback_trigger.name, args.compile_id]))
compiling.on_compile_end(lambda args: traced.append(["end", args.callback_trigger.name, args.compile_id]))


def note(record: compiling.CompileRecord) -> None:
    traced.append(
        {
            "trigger": record.trigger.name,
            "name": record.name,
            "depth": record.depth,
            "ok": record.ok,
            "error": record.error,
            "cache_hit": record.cache_hit,
            "duration": record.duration_ns,
            "phase": record.details.get("phase"),
            "stages": record.stages_ns and [name for name, _ in record.stages_ns],
            "own_thread": record.thread == threading.get_native_id(),
        }
    )


compiling.on_each_compile(note)
compiling.on_each_compile(lambda record: 1 / 0)  # never into the framework


def part(name: str, act: Any, *arguments: Any) -> None:
    traced.clear()
    try:
        act(*arguments)
    except Exception as error:
        traced.append(["raised", type(error).__name__])
    story[name] = list(traced)


def jax_story() -> None:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_compilation_cache_dir", FOLDER)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    x = jnp.arange(8.0)
    square = jax.jit(lambda v: v * v + 1)
    square.__wrapped__.__name__ = "square"

    @jax.jit
    def outer(v: Any) -> Any:
        return square(v).sum()

    @jax.jit
    def broken(v: Any) -> Any:
        raise ValueError("cannot be traced")

    part("first", outer, x)
    part("cached", outer, x)
    jax.clear_caches()
    part("from disk", outer, x)
    part("broken", broken, x)
    try:
        raise KeyError("handled by the program")
    except KeyError:
        part("in a handler", jax.jit(lambda v: v - 1), x)
    integrations.jax.uninstall()
    part("uninstalled", jax.jit(lambda v: v + 2), x)


def numba_story() -> None:
    import numba

    @numba.njit
    def inner(n: int) -> int:
        return n + 1

    @numba.njit
    def outer(n: int) -> int:
        return inner(n) * 2

    @numba.njit
    def broken(n: Any) -> Any:
        return n.nothing

    namespace: dict[str, Any] = {}
    path = Path(FOLDER, "kept_code.py")  # Numba's disk cache is keyed by the file of the code
    path.write_text("def kept(n):\n    return n * 3\n", "utf-8")
    exec(compile(path.read_text("utf-8"), str(path), "exec"), namespace)

    part("first", outer, 3)
    part("cached", outer, 3)
    part("broken", broken, 3)
    part("kept", numba.njit(cache=True)(namespace["kept"]), 3)
    part("from disk", numba.njit(cache=True)(namespace["kept"]), 3)
    lock = numba.core.compiler_lock.global_compiler_lock
    free: list[bool] = []
    compiling.on_compile_start(lambda args: free.append(lock.is_locked()))
    compiling.on_compile_end(lambda args: free.append(lock.is_locked()))
    compiling.on_each_compile(lambda record: free.append(lock.is_locked()))
    part("locks", outer, 3.5)
    story["locks"] = free
    integrations.numba.uninstall()
    part("uninstalled", outer, 3j)


def triton_story() -> None:
    import eventide_triton_kernel as kernels  # type: ignore[import-not-found]
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    def build(target: Any) -> None:
        source = ASTSource(kernels.add, {"x": "*fp32", "y": "*fp32", "n": "constexpr"}, {(2,): 64})
        triton.compile(source, target=target)

    part("first", build, GPUTarget("cuda", 80, 32))
    part("from disk", build, GPUTarget("cuda", 80, 32))
    others: list[bool] = []
    integrations.triton.uninstall()
    assert knobs.compilation.listener is None
    knobs.compilation.listener = lambda **reported: others.append(reported["cache_hit"])
    integrations.triton.install()
    integrations.triton.install()
    part("chained", build, GPUTarget("cuda", 80, 32))
    integrations.triton.uninstall()
    part("uninstalled", build, GPUTarget("cuda", 80, 32))
    story["others"] = others


KERNEL = """
import triton
import triton.language as tl

@triton.jit
def add(x, y, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(y + at, tl.load(x + at) + 1.0)
"""
if FRAMEWORK == "triton":  # Triton reads the source of a kernel from its file
    Path(FOLDER, "eventide_triton_kernel.py").write_text(KERNEL, "utf-8")
    sys.path.insert(0, FOLDER)
{"jax": jax_story, "numba": numba_story, "triton": triton_story}[FRAMEWORK]()
story["status"] = waiting.status[FRAMEWORK]
story["running"] = compiling.callback_handler.statistics()["running"]
sys.stdout.write(json.dumps(story))
