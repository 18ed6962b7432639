"""Programs whose processes, signals or exit matter: attached to, without space on the disk, and so on."""

from __future__ import annotations

from tests.programs.program import Program

PROGRAMS: list[Program] = []
