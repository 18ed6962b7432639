"""FLOP/s and bytes of matrix operators by shape, against the peak of the device."""

from __future__ import annotations

import json
from typing import Any

import pytest

import eventide as et
from eventide.analysis import flops
from tests.kineto_files import real_trace
from tests.reference.raw_events import raw_events, work_of
from tests.trace_builder import Builder


def test_a_matrix_product_of_a_real_trace_has_the_rate_of_its_shape_and_kernels() -> None:
    path = real_trace("nvidia_h100_owlv2")
    ids = {
        e["args"]["External id"]
        for e in raw_events(path)
        if e["name"] == "aten::addmm" and e["args"].get("Input Dims", [[]] * 3)[1:3] == [[5185, 1024], [1024, 4096]]
    }
    time = sum(w["end"] - w["start"] for w in work_of(path) if w["args"].get("External id") in ids)
    operations = 2 * 5185 * 1024 * 4096 * len(ids)
    row = next(row for row in flops(et.open_trace(path)).rows if row.shapes == "5185x1024 1024x4096")
    assert (row.operator, row.dtype, row.count, row.time) == ("aten::addmm", "bfloat16", len(ids), time)
    assert row.flops == operations
    assert row.rate == pytest.approx(operations * 1e9 / time)
    assert row.of_peak == pytest.approx(100 * row.rate / 989.4e12)
    assert row.bytes == 2 * (5185 * 1024 + 1024 * 4096 + 5185 * 4096) * len(ids)
    assert row.of_memory == pytest.approx(100 * row.bytes * 1e9 / time / 3350e9)
    assert row.bound == "compute"


V100 = [{"id": 0, "name": "Tesla V100-SXM2-32GB"}]


def one(name: str, shapes: list[list[int]], kernel: str = "gemm", concrete: list[str] | None = None) -> Builder:
    b = Builder()
    args: dict[str, Any] = {"Input Dims": shapes, "Input type": ["float"] * len(shapes)}
    if concrete is not None:
        args["Concrete Inputs"] = concrete
    b.span(b.thread(), name, 0, 100, args=json.dumps(args))
    b.launch((10, 20), kernel, 200, 1200)
    return b


@pytest.mark.parametrize(
    ("name", "shapes", "concrete", "operations", "elements"),
    [
        ("aten::mm", [[2, 3], [3, 5]], None, 2 * 2 * 3 * 5, 6 + 15 + 10),
        ("aten::bmm", [[4, 2, 3], [4, 3, 5]], None, 4 * 2 * 2 * 3 * 5, 4 * (6 + 15 + 10)),
        ("aten::addmm", [[5], [2, 3], [3, 5]], None, 2 * 2 * 3 * 5, 6 + 15 + 10),
        (
            "aten::cudnn_convolution",
            [[8, 16, 10, 10], [32, 16, 3, 3], [], [], [], []],
            ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1"],
            2 * 8 * 32 * 5 * 5 * 16 * 9,
            8 * 16 * 100 + 32 * 16 * 9 + 8 * 32 * 25,
        ),
        (
            "aten::convolution_backward",
            [[8, 32, 5, 5], [8, 16, 10, 10], [32, 16, 3, 3]],
            ["", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"],
            2 * 2 * 8 * 32 * 5 * 5 * 16 * 9,
            2 * (8 * 32 * 25 + 8 * 16 * 100 + 32 * 16 * 9),
        ),
    ],
)
def test_the_cost_of_an_operator_follows_from_its_shapes(
    name: str, shapes: list[list[int]], concrete: list[str] | None, operations: int, elements: int
) -> None:
    (row,) = flops(one(name, shapes, concrete=concrete).trace(devices=V100)).rows
    assert (row.flops, row.bytes, row.time) == (operations, 4 * elements, 1000)
    assert row.rate == pytest.approx(operations * 1e9 / 1000)
    assert row.peak == "float32"
    assert row.of_peak == pytest.approx(100 * row.rate / 15.7e12)


def test_float32_in_tensor_cores_is_measured_against_tf32() -> None:
    kernel = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32"
    trace = one("aten::mm", [[2, 3], [3, 5]], kernel).trace(devices=[{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}])
    (row,) = flops(trace).rows
    assert row.peak == "tf32"
    assert row.of_peak == pytest.approx(100 * row.rate / 156e12)
    assert row.of_memory == pytest.approx(100 * row.bandwidth / 2039e9)


def test_an_unknown_device_has_rates_and_no_peak() -> None:
    found = flops(one("aten::mm", [[2, 3], [3, 5]]).trace(devices=[{"id": 0, "name": "Some GPU"}]))
    (row,) = found.rows
    assert (row.of_peak, row.of_memory, row.bound, row.peak) == (None, None, None, None)
    assert row.rate > 0
    assert found.heading.endswith("the peak of Some GPU is not in the table of devices")


@pytest.mark.parametrize("shapes", [[[2, 3], [4, 5]], [[2, 3]], [[2], [3]], [[], []]])
def test_shapes_that_do_not_fit_give_no_number(shapes: list[list[int]]) -> None:
    assert flops(one("aten::mm", shapes).trace(devices=V100)).rows == ()


def test_without_shapes_the_rates_are_absent() -> None:
    assert flops(et.open_trace(real_trace("nvidia_training_rank0"))).heading == (
        "no operator with known shapes launched device work: record with record_shapes=True"
    )
    assert flops(Builder().trace()).heading == "the trace has no device work"
