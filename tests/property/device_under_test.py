"""The device under test and how long the tests are: the same files are run on every device."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

import eventide as et

DEVICE = os.environ.get("EVENTIDE_TEST_DEVICE", "cpu")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
if DEVICE == "tiny":
    runpy.run_path(str(EXAMPLES / "tiny_device.py"))
elif DEVICE == "threads":
    et.Device.build(DEVICE, sources=[EXAMPLES / "threads_device" / "threads_device.cpp"])
CAPABILITIES = et.Device(DEVICE).capabilities

# Work can be held at a gate only where it runs on threads of the device's own: on `sim` and on immediate devices fn
# runs inside a call of the host, which would then wait at the gate itself. There every gate is made open.
GATES = CAPABILITIES.concurrent

LIMIT = 10.0  # seconds; nothing here takes one, so a call that reaches it hangs
BLINK = 0.002  # seconds; the timeout of a call that must time out, since a gate is closed


def examples(light: int, *, steps: int = 30) -> settings:
    """Settings for `light` examples in the light run, scaled with the profile that is loaded (light has 100).

    The light run shows a failing program as it was found: shrinking programs that hang takes longer than a test may.
    The failure is kept in .hypothesis, and a run with EVENTIDE_HYPOTHESIS_PROFILE=nightly shrinks it.
    """
    profile = settings.default
    assert profile is not None
    long = profile.max_examples > 100
    return settings(
        max_examples=max(1, light * profile.max_examples // 100),
        stateful_step_count=steps,
        deadline=None,
        report_multiple_bugs=False,
        phases=[phase for phase in Phase if long or phase is not Phase.shrink],
        # Threads make an example slow at times, which is no reason to stop.
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
