"""Random programs: the engine says what trying every timing says. No false alarm, no miss."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, given, settings

from eventide.sanitizer import check_program
from tests.property.stream_programs import programs
from tests.reference import sanitizer_oracle

# 500 with `make test`; `make sanitizer-nightly` asks for 20,000.
EXAMPLES = int(os.environ.get("EVENTIDE_SANITIZER_PROGRAMS", "500"))
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@SETTINGS
@given(programs())
def test_the_verdict_is_that_of_all_timings(program: dict[str, Any]) -> None:
    assert check_program(program) == sanitizer_oracle.verdict(program)
