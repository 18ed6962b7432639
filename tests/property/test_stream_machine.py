"""Random programs over streams, events and work, step by step against the oracle in tests/reference.

Work can wait at a gate that a later step opens, so the interleavings are forced and not slept for. Every step may be
made by the main thread or by another one; calls that block do so on threads of their own while the program goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.helpers import Background
from tests.property.device_under_test import GATES, examples
from tests.property.quiescent_comparison import QuiescentComparison

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

MOST = 6  # blocked threads of one program
Queued = tuple[str, int, int, int]  # a verb, a stream, an event, another stream; each taken modulo what there is

index = st.integers(0, 11)
flag = st.booleans()
seldom = st.integers(0, 3).map(lambda drawn: drawn == 3)
verbs = st.sampled_from(
    ["submit", "record", "wait", "gated", "record", "wait", "submit", "raising", "copy", "wait_stream", "gated"]
)
queued: st.SearchStrategy[list[Queued]] = st.lists(st.tuples(verbs, index, index, index), min_size=1, max_size=8)


class StreamMachine(RuleBasedStateMachine):
    """One program; `elsewhere` makes the step on another host thread.

    No rule has a precondition: which ones apply may depend on whether a cancel came in time, and Hypothesis needs the
    same choices whenever it runs a program again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.comparison = QuiescentComparison()
        self.healthy = True

    def _step(self, step: Callable[[], object], *, elsewhere: bool = False) -> None:
        self.healthy = False
        if elsewhere:
            Background(step).result()
        else:
            step()
        self.healthy = True

    def _pick(self, candidates: Sequence[T], which: int) -> T | None:
        return candidates[which % len(candidates)] if candidates else None

    def _open_streams(self) -> list[int]:
        return [number for number, queue in enumerate(self.comparison.model.streams) if not queue.closed]

    def _stream(self, which: int) -> int | None:
        """An open stream to which things may be queued."""
        return self._pick([s for s in self._open_streams() if not self.comparison.is_synchronizing(s)], which)

    def _work(self, which: int) -> int | None:
        """A recent work item, since old ones are complete."""
        return self._pick(list(self.comparison.futures)[-8:], which)

    # --- things are queued -------------------------------------------------------------------------------------

    @initialize(streams=st.integers(2, 4), timing=st.lists(flag, min_size=2, max_size=4), first=queued)
    def begin(self, streams: int, timing: list[bool], first: list[Queued]) -> None:
        for _ in range(streams):
            self._step(self.comparison.new_stream)
        for enabled in timing:
            self._step(lambda enabled=enabled: self.comparison.new_event(timing=enabled))  # type: ignore[misc]
        self._step(lambda: self._queue(first))

    @rule(program=queued, elsewhere=seldom)
    def queue(self, program: list[Queued], elsewhere: bool) -> None:
        self._step(lambda: self._queue(program), elsewhere=elsewhere)

    @rule(program=queued, which=index)
    def queue_and_listen(self, program: list[Queued], which: int) -> None:
        self._step(lambda: self._queue(program))
        self.listen("future", which, elsewhere=False)
        self.listen("event", which, elsewhere=False)

    def _queue(self, program: list[Queued]) -> None:
        for verb, one, two, three in program:
            stream, other, event = self._stream(one), self._stream(three), two % len(self.comparison.events)
            if stream is None or other is None:
                return
            if verb == "record":
                self.comparison.record(event, stream)
            elif verb == "wait":
                self.comparison.wait(event, stream)
            elif verb == "wait_stream":
                self.comparison.wait_stream(stream, other)
            elif verb == "copy":
                self.comparison.copy(stream)
            else:
                self.comparison.submit(
                    stream, gated=verb == "gated", raises=verb == "raising" or (two, three) == (0, 0)
                )

    @rule(which=st.lists(index, min_size=1, max_size=3))
    def open_gates(self, which: list[int]) -> None:
        for one in which:
            gate = self._pick(sorted(self.comparison.model.closed_gates), one)
            if gate is not None:
                self._step(lambda gate=gate: self.comparison.open_gate(gate))  # type: ignore[misc]

    # --- answers at any moment ---------------------------------------------------------------------------------

    @rule(which=index, elsewhere=seldom)
    def cancel(self, which: int, elsewhere: bool) -> None:
        node = self._work(which)
        if node is not None:
            self._step(lambda: self.comparison.cancel(node), elsewhere=elsewhere)

    @rule(kind=st.sampled_from(["event", "stream", "time"]), one=index, two=index, elsewhere=seldom)
    def ask(self, kind: str, one: int, two: int, elsewhere: bool) -> None:
        event, other, stream = one % len(self.comparison.events), two % len(self.comparison.events), self._stream(one)
        if kind == "event":
            self._step(lambda: self.comparison.query(event), elsewhere=elsewhere)
        elif kind == "time":
            self._step(lambda: self.comparison.elapsed_time(event, other), elsewhere=elsewhere)
        elif stream is not None:
            self._step(lambda: self.comparison.query_stream(stream), elsewhere=elsewhere)

    @rule(kind=st.sampled_from(["event", "future"]), which=index, elsewhere=seldom)
    def listen(self, kind: str, which: int, elsewhere: bool) -> None:
        node = self._work(which)
        if kind == "event":
            self._step(lambda: self.comparison.notify(which % len(self.comparison.events)), elsewhere=elsewhere)
        elif node is not None:
            self._step(lambda: self.comparison.add_done_callback(node), elsewhere=elsewhere)

    # --- the host waits ----------------------------------------------------------------------------------------

    @rule(kind=st.sampled_from(["event", "stream", "future"]), which=index, awaiting=seldom)
    def block(self, kind: str, which: int, awaiting: bool) -> None:
        node, open_streams = self._work(which), self._open_streams()
        if not GATES or len(self.comparison.blocked) >= MOST:
            return
        if kind == "event":
            self._step(lambda: self.comparison.block_on_event(which % len(self.comparison.events), awaiting=awaiting))
        elif kind == "stream" and open_streams:
            stream = open_streams[which % len(open_streams)]
            self._step(lambda: self.comparison.block_on_stream(stream, awaiting=awaiting))
        elif node is not None:
            self._step(lambda: self.comparison.block_on_future(node, awaiting=awaiting))

    @rule(which=index, ways=st.lists(flag, min_size=2, max_size=3))
    def share_an_error(self, which: int, ways: list[bool]) -> None:
        """An error reaches every thread that is in synchronize of the stream when it comes."""
        stream = self._stream(which)
        if GATES and len(self.comparison.blocked) < MOST and stream is not None:
            self._step(lambda: self.comparison.submit(stream, gated=True, raises=True))
            for awaiting in ways:
                self._step(lambda awaiting=awaiting: self.comparison.block_on_stream(stream, awaiting=awaiting))  # type: ignore[misc]
            self.open_gates([len(self.comparison.model.closed_gates) - 1])
            self.settle()

    @rule()
    def settle(self) -> None:
        self._step(self.comparison.settle)

    @rule(kind=st.sampled_from(["event", "stream", "stream", "device"]), which=index, elsewhere=seldom)
    def synchronize(self, kind: str, which: int, elsewhere: bool) -> None:
        stream = self._stream(which)
        if kind == "event":
            self._step(
                lambda: self.comparison.synchronize_event(which % len(self.comparison.events)), elsewhere=elsewhere
            )
        elif kind == "device":
            self._step(self.comparison.synchronize_device, elsewhere=elsewhere)
        elif stream is not None:
            self._step(lambda: self.comparison.synchronize_stream(stream), elsewhere=elsewhere)

    @rule(stream=index, really=seldom)
    def close(self, stream: int, really: bool) -> None:
        if really:
            self._step(lambda: self.comparison.close(stream % len(self.comparison.streams)))
            self._step(self.comparison.new_stream)

    def teardown(self) -> None:
        try:
            if self.healthy:
                self.comparison.finish()
        finally:
            self.comparison.abandon()


TestStreamMachine = StreamMachine.TestCase
TestStreamMachine.settings = examples(400)
