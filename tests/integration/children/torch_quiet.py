"""Two sessions of ours at torch's profiler, one of them past its limit: nothing of that may be on stderr."""

import os
import sys

import torch

from tests.integration.heard import Heard

before = dict(os.environ)
with Heard():
    torch.ones(1)
with Heard(seconds=1e6) as heard:
    torch.ones(1)
    heard.session.enough()  # what the clock does
assert dict(os.environ) == before
sys.stdout.write(f"{heard.names()}\n")
