"""Matrix operators by shape: operations and bytes of their definition, by the time of the work they launched.

Only operators whose shapes are in the trace, and of these: mm, addmm, bmm, baddbmm, convolutions and their backward.
Bytes are those of the operands and the result, each moved once: the least that any implementation moves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._view import Ints, View, grouped, view_of
from eventide.analysis.metrics._args import arg_texts
from eventide.analysis.metrics._kernels import uses_matrix_units
from eventide.analysis.metrics._launching_ops import operator_of
from eventide.analysis.metrics._peaks import Peak, device_name, peak_of
from eventide.trace import Trace

_LIST = r"(\[(?:[^\[\]]|\[[^\[\]]*\])*\])"
_SIZES = {"float": 4, "double": 8, "c10::half": 2, "c10::bfloat16": 2}
_KINDS = {"float": "float32", "double": "float64", "c10::half": "float16", "c10::bfloat16": "bfloat16"}
Shape = list[int]
Cost = tuple[int, int]  # operations, elements moved at least


@dataclass(frozen=True)
class FlopsRow:
    """All calls of one operator with the same shapes on one device."""

    operator: str
    shapes: str
    dtype: str  # of the operands
    device: str
    count: int
    time: int  # of the work that they launched
    flops: int  # of all calls
    bytes: int  # at least, of all calls
    rate: float  # FLOP/s
    of_peak: float | None  # per cent; None: the device or its type of number is not in the table of peaks
    bandwidth: float  # bytes a second, at least
    of_memory: float | None  # per cent of the peak of the device's memory
    bound: str | None  # "compute" or "memory": which of the two peaks the shapes reach first
    peak: str | None  # which rate of the table is the peak: float32, tf32, float16, bfloat16


@dataclass(frozen=True, repr=False)
class Flops(show.Result):
    """By time, largest first."""

    start: int
    wall: int
    rows: tuple[FlopsRow, ...]
    time: int  # of the work of the operators above
    other: int  # of all other kernels
    absent: str | None

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "operator": show.text,
        "shapes": show.text,
        "dtype": show.text,
        "count": show.number,
        "time": show.time,
        "rate": show.rate,
        "of_peak": show.percent,
        "bandwidth": show.bandwidth,
        "of_memory": show.percent,
        "bound": show.text,
    }
    _row: ClassVar[type] = FlopsRow

    def _rows(self) -> tuple[FlopsRow, ...]:
        return self.rows

    def _heading(self) -> str:
        if not self.rows:
            return str(self.absent)
        flops = sum(row.flops for row in self.rows)
        share = f.percent(self.time, self.time + self.other)
        text = f"{f.quantity(flops)}FLOP in {f.time(self.time)} ({share} of the device work): "
        text += f"{f.quantity(flops * 1e9 / self.time)}FLOP/s"
        return f"{text}; {self.absent}" if self.absent else text


_NO_SHAPES = "no operator with known shapes launched device work: record with record_shapes=True"
_NO_PEAK = "the peak of {} is not in the table of devices"


def flops(trace: Trace | View) -> Flops:
    """Operations and bytes of matrix operators, by shape."""
    view = view_of(trace)
    start, end = view.window
    operator = operator_of(view)
    known = np.array([name in _COSTS for name in view.names], dtype=bool)
    work = np.flatnonzero(view.bits > 0)
    whole = int(view.duration[work].sum())
    work = work[operator[work] >= 0]
    work = work[known[view.name[operator[work]]]]
    costs, code = _costs(view, np.unique(operator[work]))
    of = code[operator[work]]
    work, of = work[of >= 0], of[of >= 0]
    devices = list(view.devices)
    place = np.zeros(len(view.track_kind), np.int64)
    for index, device in enumerate(devices):
        place[view.devices[device]] = index
    key = of * len(devices) + place[view.track[work]]
    rows = []
    for each, mine in grouped(work, key, np.argsort(key, kind="stable")).items():
        cost, device = costs[each // len(devices)], devices[each % len(devices)]
        rows.append(_row(view, cost, device, mine, len(np.unique(operator[mine]))))
    rows = sorted((row for row in rows if row.time), key=lambda row: (-row.time, row.operator, row.shapes))
    time = sum(row.time for row in rows)
    return Flops(start, end - start, tuple(rows), time, whole - time, _absent(view, rows))


def _absent(view: View, rows: list[FlopsRow]) -> str | None:
    if not rows:
        return _NO_SHAPES if view.bits.any() else "the trace has no device work"
    without = sorted({row.device for row in rows if row.of_memory is None})
    return _NO_PEAK.format(", ".join(device_name(view, device) or device for device in without)) if without else None


@dataclass(frozen=True)
class _Call:
    """One operator with its shapes: what one call costs."""

    operator: str
    shapes: str
    dtype: str
    flops: int
    bytes: int


def _costs(view: View, rows: Ints) -> tuple[list[_Call], Ints]:
    """The distinct calls, and for each span which one it is; -1 where its cost is not known."""
    fields = [arg_texts(view, rows, key, _LIST) for key in ("Input Dims", "Input type", "Concrete Inputs")]
    numbers: dict[tuple[Any, ...], int] = {}
    found: list[_Call] = []
    code = np.full(view.count, -1, np.int64)
    for row, texts in zip(rows.tolist(), zip(*fields, strict=True), strict=True):
        name = view.word(row)
        if (name, *texts) not in numbers:
            call = _call(name, *texts)
            numbers[name, *texts] = len(found) if call else -1
            found += [call] if call else []
        code[row] = numbers[name, *texts]
    return found, code


def _call(name: str, dims: str | None, types: str | None, concrete: str | None) -> _Call | None:
    """Cost of one call; None where its shapes do not say."""
    if dims is None or types is None:
        return None
    try:
        shapes, kinds = json.loads(dims), [str(kind).lower() for kind in json.loads(types)]
        values = [json.loads(str(value).lower() or "null") for value in json.loads(concrete)] if concrete else []
        operations, moved = _COSTS[name](shapes, values)
    except (ValueError, IndexError, TypeError):
        return None
    kind = next((kind for kind in kinds if kind in _SIZES), None)
    if kind is None or operations <= 0:
        return None
    text = " ".join("x".join(map(str, shape)) for shape in shapes if len(shape) > 1)
    return _Call(name, text, _KINDS[kind], operations, moved * _SIZES[kind])


def _mm(shapes: list[Shape], _: list[Any], first: int = 0) -> Cost:
    """Also of batches; `first` is the place of the first factor."""
    one, other = shapes[first], shapes[first + 1]
    (m, k), (again, n) = one[-2:], other[-2:]
    if k != again or one[:-2] != other[:-2]:
        raise ValueError("shapes do not fit")
    batch = prod(one[:-2])
    return 2 * batch * m * k * n, batch * (m * k + k * n + m * n)


def _added(shapes: list[Shape], values: list[Any]) -> Cost:
    return _mm(shapes, values, 1)


def _convolution(stride: int, padding: int, dilation: int) -> Callable[[list[Shape], list[Any]], Cost]:
    """A forward convolution whose arguments are at these places."""

    def cost(shapes: list[Shape], values: list[Any]) -> Cost:
        image, weight = shapes[0], shapes[1]
        steps = zip(image[2:], weight[2:], values[stride], values[padding], values[dilation], strict=True)
        out = [(size + 2 * pad - spread * (width - 1) - 1) // step + 1 for size, width, step, pad, spread in steps]
        result = image[0] * weight[0] * prod(out)
        return 2 * result * prod(weight[1:]), prod(image) + prod(weight) + result

    return cost


def _convolution_backward(shapes: list[Shape], values: list[Any]) -> Cost:
    """One convolution for the gradient of the input, one for that of the weight, as the last argument says."""
    result, image, weight = shapes[0], shapes[1], shapes[2]
    wanted = [each is True for each in values[-1][:2]]
    if values[7] is not False:
        raise ValueError("transposed")
    moved = prod(result) * sum(wanted) + (prod(image) + prod(weight)) * sum(wanted)
    return 2 * prod(result) * prod(weight[1:]) * sum(wanted), moved


_COSTS: dict[str, Callable[[list[Shape], list[Any]], Cost]] = {
    "aten::mm": _mm,
    "aten::bmm": _mm,
    "aten::addmm": _added,
    "aten::baddbmm": _added,
    "aten::_addmm_activation": _added,
    "aten::cudnn_convolution": _convolution(3, 2, 4),
    "aten::miopen_convolution": _convolution(4, 3, 5),
    "aten::_convolution": _convolution(3, 4, 5),
    "aten::convolution_backward": _convolution_backward,
}


def _row(view: View, cost: _Call, device: str, work: Ints, count: int) -> FlopsRow:
    time, peak = int(view.duration[work].sum()), peak_of(view, device)
    rate, bandwidth = (amount * count * 1e9 / time if time else 0.0 for amount in (cost.flops, cost.bytes))
    kind = _rate_kind(view, cost, work)
    best = peak.rates.get(kind) if peak else None
    return FlopsRow(
        cost.operator,
        cost.shapes,
        cost.dtype,
        device,
        count,
        time,
        cost.flops * count,
        cost.bytes * count,
        rate,
        100 * rate / best if best else None,
        bandwidth,
        100 * bandwidth / peak.memory if peak else None,
        _bound(cost, peak, best),
        kind if best else None,
    )


def _bound(cost: _Call, peak: Peak | None, best: float | None) -> str | None:
    if peak is None or best is None:
        return None
    return "compute" if cost.flops / best >= cost.bytes / peak.memory else "memory"


def _rate_kind(view: View, cost: _Call, work: Ints) -> str:
    """float32 in matrix units is tf32: by the names of the kernels that ran the longest."""
    if cost.dtype != "float32":
        return cost.dtype
    names, place = np.unique(view.name[work], return_inverse=True)
    matrix = np.array([uses_matrix_units(view.names[name]) for name in names.tolist()], dtype=bool)[place]
    length = view.duration[work]
    return "tf32" if length[matrix].sum() * 2 > length.sum() else "float32"
