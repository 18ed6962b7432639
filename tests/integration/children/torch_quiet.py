"""Two sessions of ours at torch's profiler, one of them past its limit: nothing of that may be on stderr."""

import os
import sys

import torch

from tests.integration.traced import Traced

before = dict(os.environ)
with Traced():
    torch.ones(1)
with Traced(seconds=1e6) as traced:
    torch.ones(1)
    traced.session.on_time_limit()  # what the clock does
assert dict(os.environ) == before
sys.stdout.write(f"{traced.names()}\n")
