"""A profile of JAX that is added to a running recording: of a GPU, which no test machine has, and of host threads."""

from __future__ import annotations

import time

import eventide as et
from eventide.integrations.jax._profile import record_profile
from eventide.runtime import HostClock
from tests.reference.xplane import Event, Line, Plane, encode, environment

HOST = Plane(
    "/host:CPU",
    [
        Line(
            "python", [Event("cuLaunchKernel", 1_000_000, 500_000, {"correlation_id": 8}), Event("Compile", 9_000_000)]
        ),
        Line(
            "worker",
            [
                Event("produce", 0, 0, {"_pt": 15, "_p": 7}),
                Event("consume", 4_000_000, 1_000_000, {"_ct": 15, "_c": 7}),
                Event("PjRtCpuClient::Compile", 5_000_000, 1_000_000),
            ],
            id=77,
        ),
    ],
)
GPU = Plane(
    "/device:GPU:0",
    [Line("Stream #13(Compute)", [Event("gemm", 3_000_000, 2_000_000, {"correlation_id": 8})], id=13)],
)


def test_spans_tracks_launches_and_flows_are_in_the_recording(tmp_path):
    began = time.time_ns()
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(encode([HOST, GPU, environment(began)]))
    clock = HostClock("CLOCK_REALTIME")
    with et.Recorder(tmp_path / "t.eventide") as recorder:
        assert record_profile(et.open_trace(path), clock) == 6
    trace = recorder.trace
    trace.check()
    spans, tracks = trace.spans.to_pylist(), trace.tracks.to_pylist()
    place = {row["name"]: tracks[row["track"]] for row in spans}
    assert {
        name: (track["kind"], track["name"], track["device"], track["stream"]) for name, track in place.items()
    } == {
        "cuLaunchKernel": ("thread", "JAX python", None, None),
        "Compile": ("thread", "JAX python", None, None),
        "produce": ("thread", "JAX worker", None, None),
        "consume": ("thread", "JAX worker", None, None),
        "PjRtCpuClient::Compile": ("thread", "JAX worker", None, None),
        "gemm": ("stream", "JAX Stream #13(Compute)", "gpu:0", 13),
    }
    by_name = {row["name"]: row for row in spans}
    assert by_name["PjRtCpuClient::Compile"]["category"] == "span"  # jax.monitoring reports compiles
    gemm = by_name["gemm"]
    assert (gemm["category"], gemm["duration"]) == ("kernel", 2000)
    assert gemm["start"] == clock.to_trace(began + 3000)
    assert gemm["submit"] == by_name["cuLaunchKernel"]["start"] == clock.to_trace(began + 1000)
    edges = sorted((row["kind"], row["from_time"], row["to_time"]) for row in trace.edges.to_pylist())
    assert edges == [
        ("flow", by_name["produce"]["start"], by_name["consume"]["start"]),
        ("launch", by_name["cuLaunchKernel"]["start"], gemm["start"]),
    ]
