"""The Kineto reader once more, in plain Python over `json.loads`: slow, short, and with nothing in common but names.

`build(text)` gives rows as tuples and dicts, in the order of the file; tracks are (pid, tid) as the file writes them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from typing import Any

from eventide.trace.linking._categories import KNOWN, rule_of
from eventide.trace.linking._event_names import is_device, on_device
from tests.reference.json_numbers import identity, integer, picoseconds, rounded

_WORK = {"kernel", "copy", "communication", "work"}
Row = dict[str, Any]


def arguments(event: Row) -> Row | None:
    """The arguments as the trace keeps them."""
    args = event.get("args")
    if args is not None and not isinstance(args, dict):
        args = {"args": args}
    category = event.get("cat")
    if category and category not in KNOWN:
        args = {"cat": category, **(args or {})}
    return args or None


class Oracle:
    """Walks the events once and keeps lists of dicts."""

    def __init__(self, events: list[Any], base: int, *, edges: bool) -> None:
        self.base = base
        self.spans: list[Row] = []
        self.instants: list[Row] = []
        self.counters: list[Row] = []
        self.edges: list[Row] = []
        self.flows: list[Row] = []
        self.begins: dict[Any, list[tuple[int, int, str, Any]]] = defaultdict(list)
        self.groups: dict[Any, list[tuple[int, int, Row]]] = defaultdict(list)
        self.by_flow: list[tuple[Row, int]] = []  # work that a flow links to its launch, and the time of the launch
        self.devices: set[Any] = set()
        for order, event in enumerate(events):
            if isinstance(event, dict):
                self._add(order, event)
        self._pair()
        self._pair_asynchronous()
        self._memory_counters()
        beside = {track for track in self.devices if self._stream_of(track) in {-1, 2**32 - 1}}
        for span in self.spans:
            span["on_device"] = span["track"] in self.devices
            span["category"] = _category(span, span["track"] in beside)
        if not edges:
            return
        self._launches()
        self._flow_edges()
        for span, start in sorted(self.by_flow, key=lambda pair: -pair[1]):
            span["submit"] = start
        self._waits()

    def _add(self, order: int, event: Row) -> None:
        phase, time = str(event.get("ph")), picoseconds(event.get("ts"))
        if phase not in {*"XBEiIRCstfbneSTpF"} or time is None:
            return
        now = rounded(time) + self.base
        track = (identity(event.get("pid")), identity(event.get("tid")))
        if phase in "XB":
            self._add_span(event, phase, time, track, order)
        elif phase == "E":
            self.begins[track].append((now, order, "E", arguments({"args": event.get("args")})))
        elif phase in "iIR":
            self.instants.append({"track": track, "name": event.get("name", ""), "time": now, "args": arguments(event)})
        elif phase == "C":
            self._add_counter(event, now)
        elif phase in "stf" and identity(event.get("id")) is not None:
            key = (event.get("cat", ""), event.get("name", ""), identity(event["id"]))
            self.flows.append({"phase": phase, "key": key, "track": track, "time": now, "bp": event.get("bp")})
        elif phase in "bneSTpF" and identity(event.get("id")) is not None:
            group = (track[0], event.get("cat", ""), event.get("scope", ""), identity(event["id"]))
            self.groups[group].append((now, order, event))

    def _stream_of(self, track: Any) -> Any:
        """The number on which all its rows agree, else the number of the track."""
        numbers = {integer(span["raw"].get("stream")) for span in self.spans if span["track"] == track} - {None}
        return numbers.pop() if len(numbers) == 1 else track[1]

    def _add_span(self, event: Row, phase: str, time: int, track: Any, order: int) -> None:
        duration = None
        if phase == "X" and event.get("dur") is not None:
            length = picoseconds(event["dur"])
            if length is None or length < 0:
                return
            duration = rounded(time + length) - rounded(time)
        args: Row = event["args"] if isinstance(event.get("args"), dict) else {}
        source = event.get("cat", "")
        if is_device(source):
            self.devices.add(track)
        span = {
            "track": track, "name": event.get("name", ""), "source": source, "start": rounded(time) + self.base,
            "duration": duration, "correlation": integer(args.get("correlation")), "args": arguments(event),
            "submit": None, "raw": args,
        }  # fmt: skip
        self.spans.append(span)
        if phase == "B":
            self.begins[track].append((span["start"], order, "B", span))

    def _add_counter(self, event: Row, now: int) -> None:
        args = event.get("args")
        for series, value in args.items() if isinstance(args, dict) else ():
            if isinstance(value, int | Decimal) and not isinstance(value, bool):
                name = event.get("name", "")
                full = name if series in {"", "value", name} else f"{name} {series}"
                self.counters.append({"name": full, "time": now, "value": float(value)})

    def _memory_counters(self) -> None:
        """Of instants that say how much is allocated: after the counters of the file, one series after the other."""
        sums = self._summed_bytes()
        for key, name in (("Total Allocated", "allocated bytes"), ("Total Reserved", "reserved bytes")):
            for place, row in enumerate(self.instants):
                args = row["args"] or {}
                value = integer(args.get(key))
                if key == "Total Allocated" and value is None:
                    value = sums.get(place)
                if {"Total Allocated", "Bytes"} & set(args) and value is not None:
                    self.counters.append({"name": name, "time": row["time"], "value": float(value)})

    def _summed_bytes(self) -> dict[int, int]:
        """By the place of an instant; of devices of which no row says how much is allocated."""
        devices: dict[Any, list[int]] = {}
        for place, row in enumerate(self.instants):
            args = row["args"] or {}
            if {"Total Allocated", "Bytes"} & set(args):
                devices.setdefault((args.get("Device Type"), args.get("Device Id")), []).append(place)
        found: dict[int, int] = {}
        for places in devices.values():
            every = [self.instants[place]["args"] for place in places]
            if any(integer(args.get("Total Allocated")) is not None for args in every):
                continue
            held, sums = 0, {}
            for place in sorted(places, key=lambda place: self.instants[place]["time"]):
                held += integer(self.instants[place]["args"].get("Bytes")) or 0
                sums[place] = held
            least = min([0, *sums.values()])
            found |= {place: held - least for place, held in sums.items()}
        return found

    def _pair(self) -> None:
        for items in self.begins.values():
            stack = []
            for time, _, phase, what in sorted(items, key=lambda item: item[:2]):
                if phase == "B":
                    stack.append(what)
                elif stack:
                    span = stack.pop()
                    span["duration"] = time - span["start"]
                    span["args"] = {**(span["args"] or {}), **(what or {})} or None

    def _pair_asynchronous(self) -> None:
        for key, items in self.groups.items():
            stack: list[Row] = []
            for time, _, event in sorted(items, key=lambda item: item[:2]):
                phase, args = event["ph"], arguments(event)
                if phase in "bS":
                    span = {
                        "track": (key[0], "lane"), "name": event.get("name", ""), "source": event.get("cat", ""),
                        "start": time, "duration": None, "correlation": None, "args": args, "submit": None, "raw": {},
                    }  # fmt: skip
                    self.spans.append(span)
                    stack.append(span)
                elif phase in "eF":
                    if stack:
                        span = stack.pop()
                        span["duration"] = time - span["start"]
                        span["args"] = {**(span["args"] or {}), **(args or {})} or None
                else:
                    track = (key[0], identity(event.get("tid")))
                    self.instants.append({"track": track, "name": event.get("name", ""), "time": time, "args": args})

    def _launches(self) -> None:
        calls = defaultdict(list)
        for span in self.spans:
            if not span["on_device"] and span["correlation"]:
                calls[span["correlation"]].append(span)
        for span in self.spans:
            if not span["on_device"] or not calls.get(span["correlation"]):
                continue
            ordered = sorted(calls[span["correlation"]], key=lambda call: call["start"])
            call = [call for call in ordered if call["start"] <= span["start"]][-1:] or ordered[:1]
            span["submit"], span["caller"] = call[0]["start"], call[0]
            if span["category"] in _WORK:
                self.edges.append(_edge("launch", call[0], call[0]["start"], span, span["start"]))

    def _flow_edges(self) -> None:
        chains = defaultdict(list)
        for flow in self.flows:
            chains[flow["key"]].append(flow)
        for key, chain in chains.items():
            single = sum(flow["phase"] == "s" for flow in chain) == 1
            chain.sort(key=lambda flow: (not (single and flow["phase"] == "s"), flow["time"]))
            last = None
            for flow in chain:
                if flow["phase"] != "s" and last is not None:
                    self._tie(key, last, flow)
                if flow["phase"] != "f":
                    last = flow

    def _tie(self, key: Any, source: Row, to: Row) -> None:
        a, b = self._span_at(source), self._span_at(to)
        words = {key[0], key[1]}
        kind = "flow"
        if words & {"ac2g", "async_cpu_to_gpu", "cpu_to_cuda"}:
            kind = "launch"
            if a is None or b is None or a["on_device"] or not b["on_device"] or b["submit"] is not None:
                return
            if b["category"] not in _WORK:
                return
            self.by_flow.append((b, a["start"]))
        elif "fwdbwd" in words:
            kind = "fwdbwd"
        self.edges.append(_edge(kind, a, source["time"], b, to["time"]))

    def _span_at(self, flow: Row) -> Row | None:
        """The innermost span around a flow's end, or, without bp = "e" on its f, the next one."""
        here = [(n, span) for n, span in enumerate(self.spans) if span["track"] == flow["track"]]
        time = flow["time"]
        ends = {n: float("inf") if s["duration"] is None else s["start"] + s["duration"] for n, s in here}
        if flow["phase"] == "f" and flow["bp"] != "e":
            begins = [(s["start"], ends[n], -n, n) for n, s in here if s["start"] == time]
            later = [(s["start"], -ends[n], n, n) for n, s in here if s["start"] > time]
            return self.spans[min(begins or later)[3]] if begins or later else None
        around = [(s["start"], -ends[n], n) for n, s in here if s["start"] <= time <= ends[n]]
        return self.spans[max(around)[2]] if around else None

    def _waits(self) -> None:
        """Only rows that name the record, the stream or the device say what was waited for."""
        for span in self.spans:
            raw, call = span["raw"], span.get("caller")
            names_event = {"wait_on_stream", "wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_id"} & set(raw)
            if not span["on_device"] or span["category"] not in {"wait", "sync"}:
                continue
            blocks = call is not None and call["category"] == "sync"
            if names_event:
                record = raw.get("wait_on_cuda_event_record_corr_id")
                calls = [s for s in self.spans if not s["on_device"] and record and s["correlation"] == record]
                source = calls and self._last(raw.get("device"), raw.get("wait_on_stream"), calls[-1]["start"])
                if source and span["category"] == "wait":
                    asked = span["start"] if span["submit"] is None else span["submit"]
                    target = self._first(span["track"], asked) or span
                    self.edges.append(_edge("wait", source, _end(source), target, target["start"]))
                elif source and call and blocks:
                    self.edges.append(_edge("synchronize", source, _end(source), call, _end(call)))
            elif call and blocks:
                stream = raw.get("stream", span["track"][1])
                everywhere = stream in {-1, 2**32 - 1}
                streams = {s["raw"].get("stream") for s in self._works()} if everywhere else {stream}
                for one in streams:
                    source = self._last(raw.get("device"), one, call["start"])
                    if source:
                        self.edges.append(_edge("synchronize", source, _end(source), call, _end(call)))

    def _works(self) -> list[Row]:
        return [s for s in self.spans if s["on_device"] and s["category"] in _WORK and s["submit"] is not None]

    def _last(self, device: Any, stream: Any, before: int) -> Row | None:
        works = [
            s for s in self._works()
            if s["raw"].get("device") == device and s["raw"].get("stream") == stream and s["submit"] < before
        ]  # fmt: skip
        return max(works, key=lambda s: (s["submit"], s["start"]), default=None)

    def _first(self, track: Any, at: int) -> Row | None:
        works = [s for s in self._works() if s["track"] == track and s["submit"] >= at]
        return min(works, key=lambda s: (s["submit"], s["start"]), default=None)


def _end(span: Row) -> int:
    return int(span["start"] + (span["duration"] or 0))


def _category(span: Row, beside: bool) -> str:
    rule = rule_of(span["source"])
    if span["on_device"] and (rule is None or span["source"] in {"", "cpu_op"}):
        return "annotation" if beside else on_device(span["name"])
    if rule is None:
        return "other"
    return rule if isinstance(rule, str) else rule(span["name"])


def _edge(kind: str, a: Row | None, from_time: int, b: Row | None, to_time: int) -> Row:
    return {"kind": kind, "from": a and a["name"], "from_time": from_time, "to": b and b["name"], "to_time": to_time}


def build(text: str | bytes, *, edges: bool = True) -> Oracle:
    """The rows of a whole document; its edges take time that grows with the square of it."""
    document = json.loads(text, parse_float=Decimal, parse_constant=lambda word: None)
    if isinstance(document, list):
        return Oracle(document, 0, edges=edges)
    base = document.get("baseTimeNanoseconds", 0)
    return Oracle(document["traceEvents"], base if isinstance(base, int) else 0, edges=edges)
