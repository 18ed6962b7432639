"""The pytest plug-in, on test files of its own."""

import subprocess
import sys
from fnmatch import fnmatch

import numpy as np
import pytest

import eventide as et
from eventide.sanitizer import KINDS
from eventide.testing import Budget
from tests.helpers import TIMEOUT

pytest_plugins = ("pytester",)

# The inner pytest takes back what it imported, and these cannot be imported twice in a process.
LOADED = (np, KINDS, et.Device("sim"), et.Future)

HEAD = """
import numpy as np
import pytest
import eventide as et

@et.work(name="fill", writes="x")
def fill(x):
    x[:] = 1

def overlap(wait):
    x = np.zeros(8)
    one, two = et.Stream("cpu"), et.Stream("cpu")
    one.submit(fill, x)
    if wait:
        two.wait_stream(one)
    two.submit(fill, x).result(60)
    one.close(60)
    two.close(60)
"""


@pytest.fixture
def run(pytester):
    def run(body, *arguments):
        pytester.makepyfile(HEAD + body)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers", *arguments)

    return run


def test_a_marked_test_with_a_race_fails_with_both_lines_and_the_fix(run):
    result = run("""
@pytest.mark.eventide_no_findings
def test_overlap():
    overlap(wait=False)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*race: 'fill' on stream * writes 64 bytes that 'fill' on stream * writes*", "*one.submit(fill, x)*"]
    )
    result.stdout.fnmatch_lines(["*fix     record an event after 'fill'*", "1 finding: 2 of 2 work items*"])


def test_a_marked_test_without_a_race_passes(run):
    run("""
@pytest.mark.eventide_no_findings
def test_overlap():
    overlap(wait=True)
""").assert_outcomes(passed=1)


def test_a_redundant_synchronize_fails_a_marked_test_only_with_waste(run):
    result = run(
        """
def twice():
    stream = et.Stream("cpu")
    stream.submit(et.work(int, reads=()))
    stream.synchronize()
    stream.synchronize()

@pytest.mark.eventide_no_findings
def test_reported():
    twice()

@pytest.mark.eventide_no_findings(waste=True)
def test_failed():
    twice()
""",
        "-rP",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*redundant-sync*", "*PASSES*", "*redundant-sync*"])


def test_a_marked_test_without_known_accesses_fails_unless_it_is_allowed(run):
    result = run("""
@pytest.mark.eventide_no_findings
def test_nothing():
    pass

@pytest.mark.eventide_no_findings(allow_unchecked=True)
def test_allowed():
    pass
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["eventide_no_findings: not checkable: no work was submitted"])


def test_options_of_the_mark_are_those_of_the_sanitizer(run):
    run("""
@pytest.mark.eventide_no_findings(suppress=[{"kind": "race", "reason": "both write 1"}])
def test_overlap():
    overlap(wait=False)
""").assert_outcomes(passed=1)


def test_the_error_of_a_test_is_shown_and_not_the_findings(run):
    result = run("""
@pytest.mark.eventide_no_findings
def test_overlap():
    overlap(wait=False)
    assert "the program" == "wrong"
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 'the program' == 'wrong'*"])
    result.stdout.no_fnmatch_line("*finding*work items*")


def test_the_fixture_has_the_findings_so_far(run):
    run("""
def test_overlap(eventide_findings):
    assert not eventide_findings
    overlap(wait=False)
    (race,) = eventide_findings
    assert race.kind == "race" and race is not eventide_findings[0]
    assert eventide_findings.verdict == "findings"
    assert "1 finding" in str(eventide_findings)
""").assert_outcomes(passed=1)


def test_every_test_is_checked_with_the_command_line_option(run):
    body = """
def test_overlap():
    overlap(wait=False)

def test_nothing():
    pass
"""
    run(body).assert_outcomes(passed=2)
    run(body, "--eventide-sanitize").assert_outcomes(passed=1, failed=1)


def test_a_budget_of_synchronizations_names_the_places(run):
    result = run("""
@pytest.mark.eventide_budget(max_syncs=2)
def test_many():
    stream = et.Stream("cpu")
    for _ in range(3):
        stream.submit(int)
        stream.synchronize(60)
    et.synchronize("cpu", 60)

@pytest.mark.eventide_budget(max_syncs=2)
def test_few():
    et.synchronize("cpu", 60)
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["max_syncs: the host blocked 4 times, 2 are allowed: *.py:* (3), *.py:* (1)"])


def test_a_budget_of_memory_counts_what_is_held_at_once(run):
    result = run("""
@pytest.mark.eventide_budget(max_peak_bytes=1000)
def test_one_after_the_other():
    for _ in range(5):
        et.empty(900).free()

@pytest.mark.eventide_budget(max_peak_bytes=1000)
def test_two_at_once():
    kept = [et.empty(900), et.empty(900)]
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["max_peak_bytes: 1,800 bytes were allocated at once, 1,000 are allowed"])


def test_a_budget_of_idle_time_is_exact_in_virtual_time(run):
    result = run("""
@et.work(duration=3e-3)
def busy():
    pass

@et.work(duration=1e-3)
def other():
    pass

def leave_a_gap():
    one, two = et.Stream("sim:0"), et.Stream("sim:0")
    one.submit(busy)
    two.submit(other)
    et.synchronize("sim:0", 60)

@pytest.mark.eventide_budget(max_idle_pct=0.5)
def test_without_a_gap():
    leave_a_gap()

@pytest.mark.eventide_budget(max_idle_pct=-1)
def test_less_than_nothing():
    leave_a_gap()
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["max_idle_pct: no work ran for 0.0 % of the time, -1 % are allowed"])


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("eventide_budget", "the marker eventide_budget needs one of max_syncs=, max_peak_bytes=, max_idle_pct="),
        ("eventide_budget(max_sync=3)", "the marker eventide_budget takes max_syncs=, *; got max_sync="),
        ("eventide_budget(3)", "the marker eventide_budget takes max_syncs=, *; got 3"),
        ("eventide_budget(max_syncs='3')", "a budget is a number, not str; give max_syncs one"),
        ("eventide_no_findings(leak=True)", "the marker eventide_no_findings takes predict=, *; got leak="),
        ("eventide_no_findings(suppress='none.toml')", "*none.toml*"),
    ],
)
def test_a_marker_used_wrongly_is_one_line_before_any_test_runs(run, mark, words):
    result = run(f"""
def test_right():
    pass

@pytest.mark.{mark}
def test_wrong():
    pass
""")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line]
    assert fnmatch(line, f"ERROR: test_*.py::test_wrong: {words}")
    result.stdout.no_fnmatch_line("*Error*")
    assert not result.parseoutcomes().get("passed")


def test_a_marker_added_while_tests_run_fails_its_test_in_one_line(run):
    result = run("""
@pytest.fixture
def late(request):
    request.node.add_marker(pytest.mark.eventide_budget(max_sync=3))

def test_wrong(late):
    pass
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the marker eventide_budget takes max_syncs=, *; got max_sync="])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_gap_between_works_is_idle_time():
    budget = Budget()
    budget._spans = [(0, 10), (5, 20), (60, 100), (70, 80)]
    assert budget.idle_pct == 40.0
    assert Budget().idle_pct == 0.0


def test_a_budget_outside_of_pytest_measures_what_its_block_does():
    stream = et.Stream("cpu")
    with Budget() as budget:
        stream.submit(int)
        stream.record_event().synchronize(TIMEOUT)
    stream.synchronize(TIMEOUT)
    assert budget.syncs == 1
    assert budget.complaints(max_syncs=1) == []
    stream.close(TIMEOUT)


def test_unused_packages_are_not_imported(tmp_path):
    (tmp_path / "test_plain.py").write_text(
        "import sys\n"
        "def test_plain():\n"
        "    heavy = {'numpy', 'pyarrow', 'duckdb', 'rich', 'typer', 'eventide.sanitizer', 'eventide.testing'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        "test_plain.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stdout
