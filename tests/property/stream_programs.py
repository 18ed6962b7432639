"""Random stream programs that mean something: steps are drawn freely, and those that would be mistakes are left out."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Op = dict[str, Any]

streams = st.sampled_from([1, 2, 3])
with_default = st.sampled_from([0, 1, 2])
threads = st.sampled_from([0, 0, 0, 1])
events = st.sampled_from(["e", "f"])
buffers = st.sampled_from(["x", "y"])
bounds = st.sampled_from([(0, 64), (0, 64), (0, 32), (32, 64), (16, 48), (8, 8)])
accesses = st.lists(
    st.builds(lambda b, r: {"buffer": b, "from": r[0], "to": r[1]}, buffers, bounds), max_size=2, unique_by=str
)


def step(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Op]:
    return st.fixed_dictionaries({"op": st.just(kind), "thread": threads, **fields})


def steps(stream: st.SearchStrategy[int], *, memory: bool, semaphores: bool) -> st.SearchStrategy[Op]:
    work = step("work", stream=stream, reads=accesses, writes=accesses)
    kinds = [
        work,
        work,
        work,
        step("host", reads=accesses, writes=accesses),
        step("record", event=events, stream=stream),
        step("wait", event=events, stream=stream),
        step("record", event=events, stream=stream),
        step("wait", event=events, stream=stream),
        step("synchronize_event", event=events),
        step("synchronize_stream", stream=stream),
        step("synchronize_device"),
        step("host_signal", token=st.just("k")),
        step("host_wait", token=st.just("k")),
    ]
    if memory:
        kinds += [
            step("allocate", buffer=buffers, stream=stream),
            step("allocate", buffer=buffers, stream=stream, reuses=buffers),
            step("free", buffer=buffers, stream=stream),
            step("free", buffer=buffers),
            step("record_stream", buffer=buffers, stream=stream),
            step("create_event", event=events),
            step("delete_event", event=events),
        ]
    if semaphores:
        kinds += [
            step("wait_value", semaphore=st.sampled_from(["A", "B"]), value=st.sampled_from([1, 2]), stream=stream),
            step("signal_value", semaphore=st.sampled_from(["A", "B"]), value=st.sampled_from([1, 2]), stream=stream),
            step("wait_value", semaphore=st.just("A"), value=st.just(1), stream=stream),
            step("signal_value", semaphore=st.just("A"), value=st.just(1), stream=stream),
            step("collective", name=st.sampled_from(["a", "b"]), rank_stream=st.sampled_from([1, 2])),
        ]
    return st.one_of(kinds)


def legal(ops: list[Op], leave: bool) -> list[Op]:
    """Without steps that the format forbids: a second allocation, a reuse of what lives, a use before the allocation."""
    state: dict[str, str] = {}
    address: dict[str, str] = {}
    owner: dict[str, str] = {}
    out: list[Op] = []
    for op in ops:
        kind, buffer = op["op"], op.get("buffer")
        if kind == "allocate":
            if state.get(buffer) in {"live", "outside"}:
                continue
            old = op.get("reuses")
            if old is not None and (state.get(old) != "freed" or state.get(owner[address[old]]) != "freed" or old == buffer):
                continue
            address[buffer] = address[old] if old is not None else f"{buffer}{len(out)}"
            owner[address[buffer]] = buffer
            state[buffer] = "live"
        elif kind in {"free", "record_stream"}:
            if state.get(buffer) not in {"live", "freed"}:
                continue
            state[buffer] = "freed" if kind == "free" else state[buffer]
        for access in [*op.get("reads", []), *op.get("writes", [])]:
            state.setdefault(access["buffer"], "outside")
        out.append(op)
    return [*out, {"op": "exit", "thread": 0}] if leave else out


@st.composite
def programs(draw: st.DrawFn, *, size: int = 10) -> dict[str, Any]:
    memory = draw(st.booleans())
    semaphores = draw(st.sampled_from([False, False, True]))
    blocks = draw(st.sampled_from([None, None, None, [1], [1, 2]]))
    some = st.lists(steps(streams if blocks is None else with_default, memory=memory, semaphores=semaphores), max_size=size)
    ops = legal(draw(some), draw(st.booleans()) if memory else False)
    return {"ops": ops} if blocks is None else {"ops": ops, "default_stream_blocks": blocks}
