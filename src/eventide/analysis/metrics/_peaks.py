"""Peak rates of devices, from the data sheets of their makers: dense, without sparsity, at boost clock.

A row matches by the name that the driver reports; the first that matches counts. TFLOP/s by type of number, GB/s of the
device's memory. A device that is not here has no peak: then only the achieved rates are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from eventide.analysis._view import View


@dataclass(frozen=True)
class Peak:
    """One kind of device."""

    name: str
    memory: float  # bytes a second
    rates: dict[str, float]  # FLOP/s; "tf32" is float32 in matrix units, "float32" without them


def _peak(pattern: str, memory: float, **rates: float) -> tuple[re.Pattern[str], Peak]:
    name = pattern.replace(r"\b", "").replace(".*", " ").replace("[ -]", " ")
    return re.compile(pattern), Peak(name, memory * 1e9, {kind: rate * 1e12 for kind, rate in rates.items()})


_PEAKS = (
    _peak(r"\bB200\b", 8000, float32=80, tf32=1100, float16=2250, bfloat16=2250),
    _peak(r"\bH200\b", 4800, float32=66.9, tf32=494.7, float16=989.4, bfloat16=989.4),
    _peak(r"H100.*PCIe", 2000, float32=51.2, tf32=378, float16=756, bfloat16=756),
    _peak(r"\bH100\b", 3350, float32=66.9, tf32=494.7, float16=989.4, bfloat16=989.4),
    _peak(r"A100.*PCI[eE].*80GB|A100 80GB PCI[eE]", 1935, float32=19.5, tf32=156, float16=312, bfloat16=312),
    _peak(r"A100.*80GB", 2039, float32=19.5, tf32=156, float16=312, bfloat16=312),
    _peak(r"\bA100\b", 1555, float32=19.5, tf32=156, float16=312, bfloat16=312),
    _peak(r"\bA10\b|\bA10G\b", 600, float32=31.2, tf32=62.5, float16=125, bfloat16=125),
    _peak(r"\bL40S\b", 864, float32=91.6, tf32=183, float16=362, bfloat16=362),
    _peak(r"\bL4\b", 300, float32=30.3, tf32=60, float16=121, bfloat16=121),
    _peak(r"V100.*PCI[eE]", 900, float32=14, float16=112),
    _peak(r"\bV100\b", 900, float32=15.7, float16=125),
    _peak(r"\bT4\b", 320, float32=8.1, float16=65),
    _peak(r"RTX 2080 Ti", 616, float32=13.45, float16=53.8),
    _peak(r"RTX 3090\b", 936, float32=35.6, tf32=35.6, float16=71, bfloat16=71),
    _peak(r"RTX 4090\b", 1008, float32=82.6, tf32=82.6, float16=165.2, bfloat16=165.2),
    _peak(r"MI325X", 6000, float32=163.4, tf32=653.7, float16=1307.4, bfloat16=1307.4),
    _peak(r"MI300X", 5300, float32=163.4, tf32=653.7, float16=1307.4, bfloat16=1307.4),
    _peak(r"MI250X", 1638, float32=47.9, float16=191.5, bfloat16=191.5),  # one of its two dies, a device each
    _peak(r"MI210", 1638, float32=45.3, float16=181, bfloat16=181),
)


def peak_of(view: View, device: str) -> Peak | None:
    """The peak of a device of a trace ("cuda:0"), by the name that the file has for it."""
    name = device_name(view, device)
    return next((peak for pattern, peak in _PEAKS if name and pattern.search(name)), None)


def device_name(view: View, device: str) -> str | None:
    """What the driver calls a device; where all devices of the file have one name, that."""
    listed = [each for each in view.trace.metadata.get("devices") or [] if isinstance(each, dict) and each.get("name")]
    number = device.rpartition(":")[2]
    for each in listed:
        if str(each.get("id")) == number:
            return str(each["name"])
    names = np.unique([str(each["name"]) for each in listed]).tolist()
    return names[0] if len(names) == 1 else None
