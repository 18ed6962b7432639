"""The settings that `eventide run` passes to the program: written, read, and nothing else accepted."""

import json

import pytest

import eventide as et
from eventide.run import Settings

FULL = Settings(
    "t.eventide", True, 2.5, "SIGUSR1", 3.0, "SIGUSR2", 0.5, (1, 1, 2, 0), ("ops", "shapes"), 7.0, 8, "t", 1, 2
)


def text(**changes):
    (value,) = FULL.to_environment().values()
    return json.dumps({**json.loads(value), **changes})


@pytest.mark.parametrize("settings", [FULL, Settings("t.eventide"), Settings("t", torch=(), hang_seconds=1)])
def test_the_program_reads_what_the_launcher_wrote(settings):
    (value,) = settings.to_environment().values()
    assert Settings.from_json(value) == settings


def test_every_setting_of_the_example_differs_from_its_default():
    assert all(getattr(FULL, name) != value for name, value in Settings._field_defaults.items())


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (text(color="red"), et.UsageValueError, "EVENTIDE_RUN has no setting 'color'; the settings are path, ring"),
        ('{"path": "t"}', et.UsageValueError, "EVENTIDE_RUN lacks the setting 'buffer_mib'"),
        ("{", et.UsageValueError, "EVENTIDE_RUN is not JSON: .*; start the program with eventide run"),
        ("[]", et.UsageTypeError, "EVENTIDE_RUN is a JSON object, not list"),
        (text(ring=1), et.UsageTypeError, "EVENTIDE_RUN: ring is bool, not 1"),
        (text(path=None), et.UsageTypeError, "EVENTIDE_RUN: path is str, not None"),
        (text(seconds=True), et.UsageTypeError, "EVENTIDE_RUN: seconds is float, not True"),
        (text(hang_seconds="1"), et.UsageTypeError, r"hang_seconds is float \| None, not '1'"),
        (text(schedule=[1, 1]), et.UsageTypeError, r"schedule is tuple\[int, int, int, int\] \| None, not \[1, 1\]"),
        (text(torch=["ops", 2]), et.UsageTypeError, "EVENTIDE_RUN: torch is str, not 2"),
    ],
)
def test_other_settings_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        Settings.from_json(given)
