"""A device whose markers never complete: `plugin_never_completes.py LIBRARY`.

Prints what each blocking verb raised, as JSON.
"""

from __future__ import annotations

import json
import os
import sys

import eventide as et
from tests.helpers import outcome

os.environ["PLUGIN_FAULT"] = "markers never end"
et.Device.load(sys.argv[1], "faulty")
stream, cpu = et.Stream("faulty"), et.Stream("cpu")
future, event = stream.submit(int), stream.record_event()
said = {
    "result": outcome(lambda: future.result(0.05)),
    "event": outcome(lambda: event.synchronize(0.05)),
    "stream": outcome(lambda: stream.synchronize(0.05)),
    "cpu": outcome(lambda: cpu.submit(sum, (1, 2)).result(5)),
}
sys.stdout.write(json.dumps(said))
