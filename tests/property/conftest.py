"""The length of the property tests: EVENTIDE_HYPOTHESIS_PROFILE=nightly runs fifty times as many examples."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("nightly", deadline=None, max_examples=5000, print_blob=True)
if profile := os.environ.get("EVENTIDE_HYPOTHESIS_PROFILE"):
    settings.load_profile(profile)
