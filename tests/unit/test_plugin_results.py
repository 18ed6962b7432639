"""Results that the TensorBoard plug-in of torch.profiler publishes for the same training step, and for small cases."""

from __future__ import annotations

import pytest

import eventide as et
from eventide.analysis import kernels, operator_costs, step_costs
from eventide.analysis.metrics._step_costs import PARTS, StepCost
from tests.kineto_files import real_trace
from tests.trace_builder import Builder

LOADER0, LOADER4 = "nvidia_resnet50_loader0", "nvidia_resnet50_loader4"
# Microseconds by step: wall, then PARTS; the plug-in's table of ResNet-50 without loader workers.
STEPS = {
    "5": (187_948, 98_598, 1_941, 90, 0, 2_796, 69_317, 14_091, 1_115),
    "6": (175_153, 98_570, 1_947, 89, 0, 2_762, 57_669, 12_968, 1_148),
    "7": (179_733, 98_596, 1_931, 91, 0, 2_877, 61_257, 13_768, 1_213),
    "8": (174_564, 98_623, 1_938, 89, 0, 2_841, 56_453, 13_420, 1_200),
    "9": (182_172, 98_504, 1_937, 87, 0, 2_788, 62_690, 15_025, 1_141),
    "10": (165_983, 98_641, 1_798, 88, 0, 3_381, 48_185, 12_773, 1_117),
}
STEPS_WITH_WORKERS = {  # the same with four loader workers
    "5": (182_306, 99_778, 3_606, 98, 0, 41_028, 4_341, 27_460, 5_995),
    "6": (126_183, 99_208, 2_948, 98, 0, 3_406, 0, 16_404, 4_119),
    "7": (127_181, 99_114, 2_949, 98, 0, 3_417, 6, 19_521, 2_076),
    "8": (123_079, 99_021, 2_975, 97, 0, 3_544, 0, 15_464, 1_978),
    "9": (163_461, 98_791, 3_596, 97, 0, 8_275, 1_370, 43_905, 7_427),
    "10": (124_198, 98_956, 2_885, 98, 0, 3_714, 1_400, 13_235, 3_910),
}
# The rows of the kernel table with most time: calls; total, mean, longest, shortest in microseconds; blocks; occupancy.
KERNELS = {
    LOADER0: [
        (162, 80_756, 498, 1_017, 323, 42.25, 29.97),
        (156, 66_472, 426, 745, 345, 9.78, 38.0),
        (264, 59_642, 226, 915, 45, 4.34, 67.98),
        (3_090, 39_814, 13, 378, 1, 641.54, 92.32),
    ],
    LOADER4: [
        (180, 86_855, 483, 1_023, 323, 45.33, 30.04),
        (264, 59_568, 226, 923, 45, 4.33, 67.92),
        (90, 43_471, 483, 742, 363, 8.18, 38.0),
        (3_090, 39_753, 13, 376, 1, 641.51, 92.35),
    ],
}


def parts(row: StepCost) -> tuple[int, ...]:
    return tuple(getattr(row, part) for part in PARTS)


@pytest.mark.parametrize(("name", "steps", "loading"), [(LOADER0, STEPS, 33.37), (LOADER4, STEPS_WITH_WORKERS, 0.84)])
def test_the_steps_of_a_real_training_are_split_as_by_the_plugin(
    name: str, steps: dict[str, tuple[int, ...]], loading: float
) -> None:
    found = step_costs(et.open_trace(real_trace(name)))
    assert {row.step.partition("#")[2]: (row.wall // 1000, *(p // 1000 for p in parts(row))) for row in found.rows} == (
        steps
    )
    assert all(sum(parts(row)) == row.wall for row in found.rows)
    assert found.share("data_loading") == pytest.approx(loading, abs=0.005)


@pytest.mark.parametrize(("name", "expected"), [(LOADER0, (55.51, 54.68, 49.13)), (LOADER4, (70.27, 69.22, 48.91))])
def test_the_use_of_the_gpu_is_that_of_the_plugin(name: str, expected: tuple[float, ...]) -> None:
    (use,) = kernels(et.open_trace(real_trace(name))).devices
    assert use.sm_efficiency is not None
    assert use.occupancy is not None
    assert (round(use.utilization, 2), round(use.sm_efficiency, 2), round(use.occupancy, 2)) == expected
    assert use.tensor_cores == 0.0


@pytest.mark.parametrize("name", KERNELS)
def test_the_table_of_kernels_is_that_of_the_plugin(name: str) -> None:
    found = []
    for row in kernels(et.open_trace(real_trace(name))).rows[:4]:
        times = (row.total, row.mean, row.max, row.min)
        assert row.blocks is not None
        assert row.occupancy is not None
        shown = (round(row.blocks, 2), round(row.occupancy, 2))
        found.append((row.count, *(round(time / 1000) for time in times), *shown))
    assert found == KERNELS[name]


def test_the_operators_have_the_times_of_the_plugin() -> None:
    found = {row.name: row for row in operator_costs(et.open_trace(real_trace(LOADER0))).rows}
    expected = {  # microseconds: device total, device self, host total, host self
        "aten::cudnn_convolution_backward_weight": (142_461, 142_461, 40_246, 22_804),
        "aten::conv2d": (126_619, 0, 77_781, None),
        "aten::add_": (24_098, 24_098, 78_125, 51_013),
        "aten::to": (11_492, 0, 64_332, 14_834),
        "aten::zero_": (1_881, 0, 27_597, None),
        "aten::empty": (0, 0, 68_147, 68_147),
    }
    for name, (device, own, host, inner) in expected.items():
        row = found[name]
        assert row.device_total is not None
        assert row.device_self is not None
        assert (row.device_total // 1000, row.device_self // 1000, row.host_total // 1000) == (device, own, host)
        assert inner is None or row.host_self // 1000 == inner


def loading_and_backward() -> Builder:
    """One step with a data loader, a copy, a fill and a kernel that another thread launches."""
    b = Builder()
    b.span(b.thread(1), "ProfilerStep#1", 50, 450, "step")
    b.span(b.thread(1), "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 280)
    b.span(b.thread(1), "aten::to", 200, 260)
    b.span(b.thread(2), "aten::nll_loss_backward", 340, 410)
    b.launch((360, 380), "Memcpy HtoD", 405, 415, category="copy", tid=2, called="cudaMemcpyAsync")
    b.launch((390, 400), "Memset (Device)", 420, 425, category="copy", tid=2, called="cudaMemsetAsync")
    b.launch((405, 410), "nll_kernel", 430, 445, tid=2)
    return b


def test_every_kind_of_time_has_its_part_of_a_step() -> None:
    (row,) = step_costs(loading_and_backward().trace()).rows
    assert parts(row) == (15, 10, 5, 0, 30, 180, 35, 125)
    found = {each.name: each for each in operator_costs(loading_and_backward().trace()).rows}
    assert set(found) == {"aten::to", "aten::nll_loss_backward"}  # a data loader is no operator
    backward = found["aten::nll_loss_backward"]
    assert (backward.host_total, backward.host_self, backward.device_total, backward.device_self) == (70, 35, 30, 30)
    (kernel,) = kernels(loading_and_backward().trace()).rows
    assert (kernel.operator, kernel.count, kernel.total) == ("aten::nll_loss_backward", 1, 15)


def test_a_step_ends_when_its_work_has_ended_and_the_next_begins_there() -> None:
    b = Builder()
    for name, start, end in (("ProfilerStep#1", 100, 300), ("ProfilerStep#2", 310, 500)):
        b.span(b.thread(), name, start, end, "step")
    b.span(b.thread(), "aten::to", 200, 260)
    b.launch((250, 255), "Memcpy HtoD", 280, 320, category="copy")
    b.span(b.thread(), "aten::mm", 360, 410)
    b.launch((400, 405), "gemm", 410, 610)
    one, two = step_costs(b.trace()).rows
    assert (one.start, one.wall, parts(one)) == (100, 220, (0, 40, 0, 0, 5, 0, 55, 120))
    assert (two.start, two.wall, parts(two)) == (320, 290, (200, 0, 0, 0, 5, 0, 45, 40))


def test_without_steps_the_whole_window_is_one() -> None:
    b = Builder()
    b.span(b.thread(), "aten::to", 100, 160)
    b.span(b.thread(), "aten::nll_loss_backward", 300, 370)
    b.launch((310, 330), "kernel", 320, 420)
    (row,) = step_costs(b.trace()).rows
    assert (row.step, row.wall, parts(row)) == ("whole", 320, (100, 0, 0, 0, 10, 0, 70, 140))


def test_an_external_id_decides_where_the_times_do_not() -> None:
    b = Builder()
    b.span(b.thread(), "aten::mat_mul", 100, 200, args='{"External id": 2}')
    b.span(b.thread(), "aten::mm", 120, 190, args='{"External id": 4}')
    for at, end, number in ((120, 135, 4), (120, 136, 2), (190, 137, 4), (190, 138, 2)):
        b.launch((at, at), "kernel", 130, end, args=f'{{"External id": {number}}}')
    found = {row.name: row for row in operator_costs(b.trace()).rows}
    assert (found["aten::mat_mul"].device_total, found["aten::mat_mul"].device_self) == (5 + 6 + 7 + 8, 6 + 8)
    assert (found["aten::mm"].device_total, found["aten::mm"].device_self) == (5 + 7, 5 + 7)


def test_an_operator_inside_another_of_its_name_is_part_of_it() -> None:
    b = Builder()
    for start, end in ((100, 200), (110, 190), (120, 180)):
        b.span(b.thread(), "aten::mm", start, end)
    b.launch((130, 150), "gemm", 220, 228)
    (row,) = operator_costs(b.trace()).rows
    assert (row.count, row.host_total, row.host_self, row.device_total, row.device_self) == (1, 100, 80, 8, 8)


def test_work_outside_operators_belongs_to_none() -> None:
    b = Builder()
    b.span(b.thread(1), "aten::mm", 100, 200)
    b.launch((130, 150), "gemm", 220, 228, tid=2)
    found = operator_costs(b.trace())
    assert (found.launched, found.unknown) == (0, 8)
    assert [(row.device_total, row.device_self) for row in found.rows] == [(None, None)]
    assert "the operator of no device work is recorded" in found.heading
    assert kernels(b.trace()).rows[0].operator is None


def test_one_call_may_launch_work_of_several_streams() -> None:
    b = Builder()
    b.span(b.thread(), "Broadcast", 100, 400)
    call = b.call("cudaLaunchCooperativeKernelMultiDevice", 130, 150)
    for stream, length in ((13, 120_318), (22, 132_800)):
        b.edge("launch", call, b.work("ncclBroadcast", 160, 160 + length, stream, "communication"))
    (row,) = operator_costs(b.trace()).rows
    assert row.device_total == 120_318 + 132_800


def test_without_operators_or_steps_the_results_say_so() -> None:
    b = Builder()
    b.work("kernel", 0, 10)
    assert operator_costs(b.trace()).heading == "the trace has no operators of a framework"
    assert step_costs(Builder().trace()).heading == "the trace is empty"
    assert kernels(Builder().trace()).heading == "the trace has no kernels"
