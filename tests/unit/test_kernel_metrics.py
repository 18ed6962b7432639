"""Kernels, copies and launches by name, each beside numbers computed from the raw JSON."""

from __future__ import annotations

from statistics import median

import pytest

import eventide as et
from eventide.analysis import copies, kernels, launch_costs
from eventide.analysis.metrics._kernels import uses_matrix_units
from tests.kineto_files import real_trace
from tests.reference.raw_events import calls_by_correlation, raw_events, work_of
from tests.trace_builder import Builder


def test_copies_by_kind_have_the_bandwidth_of_their_bytes_and_time() -> None:
    path = real_trace("nvidia_resnet_pageable")
    raw = [e for e in work_of(path) if e["name"] == "Memcpy HtoD (Pageable -> Device)"]
    moved, time = sum(e["args"]["bytes"] for e in raw), sum(e["end"] - e["start"] for e in raw)
    row = next(row for row in copies(et.open_trace(path)).rows if row.kind == "Memcpy HtoD (Pageable -> Device)")
    assert (row.count, row.bytes, row.total) == (len(raw), moved, time)
    assert row.bandwidth == pytest.approx(
        sum(e["args"]["bytes"] for e in raw if e["end"] > e["start"]) * 1e9 / time, rel=1e-9
    )
    large = [e for e in raw if e["args"]["bytes"] >= 65_536]
    assert row.best == pytest.approx(max(e["args"]["bytes"] * 1e9 / (e["end"] - e["start"]) for e in large))
    assert row.small == len(raw) - len(large)


def test_copies_without_bytes_have_no_bandwidth() -> None:
    found = copies(et.open_trace(real_trace("amd_mi250_training")))
    assert [(row.bytes, row.bandwidth, row.best) for row in found.rows] == [(None, None, None)]
    assert found.heading.endswith("their bytes are not recorded, so the bandwidth is not known")
    assert copies(Builder().trace()).heading == "the trace has no copies and no fills of device memory"


def test_occupancy_is_the_mean_of_the_kernels_by_time() -> None:
    path = real_trace("nvidia_compare_before")
    raw = [e for e in raw_events(path) if e["cat"] == "kernel"]
    time = sum(e["end"] - e["start"] for e in raw)
    occupancy = sum(e["args"]["est. achieved occupancy %"] * (e["end"] - e["start"]) for e in raw) / time
    found = kernels(et.open_trace(path))
    assert found.devices[0].occupancy == pytest.approx(occupancy)
    assert found.count == len(raw)
    assert (found.short, found.short_time) == (
        sum(e["end"] - e["start"] < 10_000 for e in raw),
        sum(e["end"] - e["start"] for e in raw if e["end"] - e["start"] < 10_000),
    )
    matrix = sum(e["end"] - e["start"] for e in raw if "tensorop" in e["name"] or "s1688" in e["name"])
    assert found.devices[0].tensor_cores == pytest.approx(100 * matrix / time)
    assert matrix > 0


def test_kernels_of_rocm_have_no_occupancy() -> None:
    found = kernels(et.open_trace(real_trace("amd_mi300_resnet")))
    assert {row.occupancy for row in found.rows} == {row.blocks for row in found.rows} == {None}
    assert (found.devices[0].sm_efficiency, found.devices[0].occupancy) == (None, None)
    assert found.heading.endswith("occupancy and blocks per multiprocessor are not recorded")


def test_kernels_at_one_time_fill_the_multiprocessors_together_and_never_more_than_all() -> None:
    b = Builder()
    for stream, start, end, blocks in ((7, 0, 100, 0.75), (8, 50, 150, 0.5), (7, 150, 200, 3.0)):
        b.work("k", start, end, stream, args=f'{{"blocks per SM": {blocks}, "est. achieved occupancy %": 50}}')
    (use,) = kernels(b.trace()).devices
    assert use.sm_efficiency == pytest.approx(100 * (50 * 0.75 + 50 * 1 + 50 * 0.5 + 50 * 1) / 200)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn", True),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>", True),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", True),
        ("Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1_SN", True),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", True),
        ("ampere_sgemm_128x64_tn", False),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>", False),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", False),
    ],
)
def test_names_of_kernels_say_whether_they_use_tensor_cores(name: str, expected: bool) -> None:
    assert uses_matrix_units(name) is expected


def test_launches_are_compared_with_the_work_that_they_launched() -> None:
    path = real_trace("nvidia_sampled_rank0")
    calls = calls_by_correlation(path)
    pairs = [(calls[w["args"]["correlation"]], w) for w in work_of(path) if w["args"].get("correlation") in calls]
    found = launch_costs(et.open_trace(path))
    lengths = [(call["end"] - call["start"], work["end"] - work["start"]) for call, work in pairs]
    assert (found.count, found.call_time) == (len(pairs), sum(call for call, _ in lengths))
    assert found.shorter == sum(work < call for call, work in lengths)
    assert found.long_calls == sum(call > 50_000 for call, _ in lengths)
    assert found.long_delays == sum(work["start"] - call["start"] > 100_000 for call, work in pairs)
    row = max(found.rows, key=lambda row: row.count)
    assert row.shorter <= row.count
    sets = [length for (length, _), (_, work) in zip(lengths, pairs, strict=True) if work["name"] == "Memset (Device)"]
    assert next(row for row in found.rows if row.name == "Memset (Device)").call == median(sets)


def test_work_of_one_call_is_not_compared_with_it_and_unknown_launches_say_so() -> None:
    b = Builder()
    graph = b.call("cudaGraphLaunch", 0, 50)
    for number in range(3):
        b.edge("launch", graph, b.work("k", 60 + number * 10, 65 + number * 10))
    b.launch((100, 120), "k", 130, 135)
    found = launch_costs(b.trace())
    assert (found.count, found.call_time, found.shorter) == (1, 20, 1)
    b = Builder()
    b.work("k", 0, 5)
    assert launch_costs(b.trace()).rows == ()
    assert launch_costs(b.trace()).heading.endswith("so the cost of launches is not known")
