"""`eventide check` and EVENTIDE_SANITIZE: programs in interpreters of their own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference.page import read_page

TIMEOUT = 100  # seconds

PROGRAM = """
import sys, numpy as np, eventide as et

@et.work(name="fill", writes="x")
def fill(x):
    x[:] = 1

@et.work(name="total", reads="x")
def total(x):
    return x.sum()

def main(wait):
    x = np.zeros(100)
    one, two = et.Stream("cpu", name="one"), et.Stream("cpu", name="two")
    one.submit(fill, x)
    event = one.record_event()
    if wait:
        two.wait_event(event)
    print("sum", two.submit(total, x).result())

if __name__ == "__main__":
    main("--wait" in sys.argv)
    sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 0)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "overlap.py"
    path.write_text(PROGRAM)
    return path


def start(*arguments, cwd, **environment):
    env = {**os.environ, "COLUMNS": "100", **environment}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def check(*arguments, cwd, **environment):
    return start("-m", "eventide", "check", *arguments, cwd=cwd, **environment)


def test_a_script_with_a_race_exits_with_1_and_shows_both_lines_and_the_fix(program):
    done = check(program, cwd=program.parent)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("sum ")  # the program ran as it is
    assert "overlap.py:15" in done.stdout
    assert "one.submit(fill, x)" in done.stdout
    assert "overlap.py:19" in done.stdout
    assert "make stream 2 'two' wait for event 1" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1] == "1 finding: 2 of 2 work items had known accesses"
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_the_fixed_script_is_clean_and_exits_with_0(program):
    done = check(program, "--wait", cwd=program.parent)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "clean: 2 of 2 work items had known accesses"


def test_the_exit_code_of_a_clean_script_is_its_own(program):
    assert check(program, "7", "--wait", cwd=program.parent).returncode == 7
    assert check(program, "7", cwd=program.parent).returncode == 1


def test_json_is_alone_on_stdout(program):
    done = check("--json", "--sarif", "out.sarif", program, cwd=program.parent)
    document = json.loads(done.stdout)
    assert document["verdict"] == "findings"
    assert document["program_exit_code"] == 0
    assert document["findings"][0]["second"]["place"]["line"] == 19
    assert done.stderr.startswith("sum ")
    sarif = json.loads((program.parent / "out.sarif").read_text())
    location = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location == {"artifactLocation": {"uri": "overlap.py"}, "region": {"startLine": 19}}


def test_a_module_is_checked_as_python_m_runs_it(program):
    done = check("-m", "overlap", "--wait", cwd=program.parent)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "clean: 2 of 2 work items had known accesses")


def test_suppressions_come_from_the_project_or_from_a_file(program):
    (program.parent / "pyproject.toml").write_text(
        '[[tool.eventide.sanitizer.suppress]]\nkind = "race"\nfunction = "total"\nreason = "a sum of old values"\n'
        '[[tool.eventide.sanitizer.suppress]]\nkind = "leak"\nreason = "never there"\n'
    )
    done = check(program, cwd=program.parent)
    assert done.returncode == 0
    assert "suppressed: race, because a sum of old values" in done.stdout
    assert "unused suppression: kind='leak'" in done.stdout
    (program.parent / "none.toml").write_text("")
    assert check("--suppress", "none.toml", program, cwd=program.parent).returncode == 1


def test_a_program_that_cannot_be_checked_is_no_success_unless_that_is_allowed(tmp_path):
    (tmp_path / "plain.py").write_text("print('hello')\n")
    (tmp_path / "unknown.py").write_text(
        "import sys, eventide as et\net.Stream('cpu').submit(int).result()\nsys.exit(int(sys.argv[1]))\n"
    )
    done = check("plain.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "not checkable: no work was submitted" in done.stdout
    assert check("--allow-unchecked", "plain.py", cwd=tmp_path).returncode == 0
    done = check("unknown.py", "0", cwd=tmp_path)
    assert done.returncode == 1
    assert "not checkable: 0 of 1 work item had known accesses" in done.stdout
    assert check("unknown.py", "7", cwd=tmp_path).returncode == 7  # the script's own


def test_a_script_that_raises_shows_its_traceback_and_what_was_found(program):
    program.write_text(PROGRAM.replace("    sys.exit", "    1 / 0\n    sys.exit"))
    done = check(program, "--wait", cwd=program.parent)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("clean: 2 of 2")


def test_a_script_that_is_killed_could_not_report(program):
    program.write_text("import os, eventide\nos.kill(os.getpid(), 9)\n")
    done = check(program, cwd=program.parent)
    assert done.returncode == -signal.SIGKILL
    assert "the program ended before it could report: killed by SIGKILL" in done.stdout


def test_programs_that_the_program_starts_are_checked_too(program):
    parent = program.parent / "parent.py"
    parent.write_text(
        "import subprocess, sys, eventide as et\n"
        "et.Stream('cpu').submit(et.work(int, reads=())).result()\n"
        f"subprocess.run([sys.executable, {str(program)!r}], check=True)\n"
    )
    done = check(parent, cwd=program.parent)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 finding: 3 of 3 work items had known accesses"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "name what to check: eventide check script.py"),
        (("nothing.py",), "there is no file nothing.py; check the path"),
        (("notes.txt",), "no trace format starts with b'notes'"),
        (("notes.txt", "x"), "notes.txt is not a Python script, so it takes no arguments; got x"),
        (("--suppress", "no.toml", "overlap.py"), "suppressions cannot be read from no.toml"),
        (("cut.json",), "cut.json is a program, but not valid JSON: Expecting value: line 1 column 10"),
        (("steps.json",), 'steps.json is a list of steps; a program has them under "ops"'),
        (("other.json",), 'other.json is neither a program (it has no "ops") nor a trace'),
        (("other.json", "more"), "it takes no arguments; got more"),
    ],
)
def test_misuse_exits_with_2_and_names_the_remedy(program, arguments, message):
    (program.parent / "notes.txt").write_text("notes")
    (program.parent / "cut.json").write_text('{"ops": [')
    (program.parent / "steps.json").write_text('[{"op": "work", "stream": 1}]')
    (program.parent / "other.json").write_text('{"name": "a"}')
    done = check(*arguments, cwd=program.parent)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_program_as_data_is_checked(tmp_path):
    work = {"op": "work", "writes": [{"buffer": "x", "from": 0, "to": 64}]}
    ops = [{**work, "stream": 1}, {**work, "stream": 2}]
    (tmp_path / "race.json").write_text(json.dumps({"ops": ops}))
    done = check("race.json", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("verdict: race\n")
    assert "race: 'step 2' on stream 2 writes 64 bytes that 'step 1' on stream 1 writes" in done.stdout
    (tmp_path / "ok.json").write_text(json.dumps({"ops": ops[:1]}))
    done = check("--json", "ok.json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["program_verdict"]) == (0, "ok")


def test_a_redundant_synchronize_is_reported_and_fails_only_with_waste(tmp_path):
    work = {"op": "work", "stream": 1, "writes": [{"buffer": "x", "from": 0, "to": 64}]}
    ops = [work, *[{"op": "synchronize_stream", "stream": 1}] * 2]
    (tmp_path / "twice.json").write_text(json.dumps({"ops": ops}))
    done = check("twice.json", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "verdict: redundant-wait")
    assert "this run does not need it; remove it only if no other run does" in " ".join(done.stdout.split())
    assert check("--waste", "twice.json", cwd=tmp_path).returncode == 1


def test_a_defensive_synchronize_at_the_end_of_a_script_keeps_its_exit_code(program):
    program.write_text(PROGRAM.replace("    sys.exit", "    et.synchronize()\n    et.synchronize()\n    sys.exit"))
    done = check(program, "7", "--wait", cwd=program.parent)
    assert (done.returncode, "redundant-sync" in done.stdout) == (7, True)
    assert check("--waste", program, "7", "--wait", cwd=program.parent).returncode == 1
    assert start(program, "0", "--wait", cwd=program.parent, EVENTIDE_SANITIZE="fail").returncode == 0


def test_a_list_of_programs_is_not_a_trace_without_work(tmp_path):
    (tmp_path / "many.json").write_text(json.dumps([{"ops": []}, {"ops": []}]))
    done = check("many.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "many.json is a list of 2 programs; give eventide check a file with one of them" in done.stderr


# --- EVENTIDE_SANITIZE -----------------------------------------------------------------------------------------------


def test_the_environment_enables_the_sanitizer_for_any_program(program):
    done = start(program, cwd=program.parent, EVENTIDE_SANITIZE="1")
    assert done.returncode == 0  # the program's own
    assert done.stdout.startswith("sum ")
    assert done.stderr.startswith("eventide sanitizer:\n1. race: ")
    assert done.stderr.splitlines()[-1] == "1 finding: 2 of 2 work items had known accesses"


def test_fail_ends_with_1_only_if_there_are_findings(program):
    assert start(program, cwd=program.parent, EVENTIDE_SANITIZE="fail").returncode == 1
    assert start(program, "0", "--wait", cwd=program.parent, EVENTIDE_SANITIZE="fail").returncode == 0


def test_raise_raises_in_any_program(program):
    done = start(program, cwd=program.parent, EVENTIDE_SANITIZE="raise")
    assert done.returncode == 1
    assert "eventide.SanitizerError: 1. race" in done.stderr


def test_0_disables_it_and_an_unknown_value_is_misuse(program):
    assert start(program, cwd=program.parent, EVENTIDE_SANITIZE="0").stderr == ""
    done = start(program, cwd=program.parent, EVENTIDE_SANITIZE="yes")
    assert done.returncode == 1
    assert "EVENTIDE_SANITIZE has no 'yes'; it takes 0, 1, predict, raise, leaks, fail, with commas" in done.stderr


def test_a_forked_child_reports_nothing_and_exits_normally(tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(
        "import os, eventide as et\n"
        "et.Stream('cpu').submit(et.work(int, reads=())).result()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    et.Stream('cpu').submit(et.work(int, reads=())).result()\n"
        "else:\n"
        "    print(os.waitpid(child, 0)[1])\n"
    )
    done = start("-W", "ignore::DeprecationWarning", script, cwd=tmp_path, EVENTIDE_SANITIZE="1")
    assert (done.returncode, done.stdout) == (0, "0\n")
    assert done.stderr == "eventide sanitizer:\nclean: 1 of 1 work item had known accesses\n"


def test_the_report_of_a_run_is_the_same_in_every_run(program):
    fingerprints = {
        finding["fingerprint"]
        for _ in range(2)
        for finding in json.loads(check("--json", program, cwd=program.parent).stdout)["findings"]
    }
    assert len(fingerprints) == 1
    assert Path(program).exists()


def test_the_page_of_a_program_has_the_missing_edge_on_a_timeline_of_its_recording(program):
    """It is recorded only for the page, in a temporary folder: nothing else is left beside the program."""
    done = check("-o", "found.html", program, cwd=program.parent)
    assert done.returncode == 1, done.stderr
    page = read_page((program.parent / "found.html").read_text("utf-8"))
    ((first, second),) = page.index["missing"]
    tracks = [page.index["tracks"][page.index["lanes"][lane]["track"]]["name"] for lane, _ in (first, second)]
    assert [name.partition(" '")[2] for name in tracks] == ["one'", "two'"]
    ends = {span[4]: (span[2], span[3]) for span in page.spans if span[5] == "work"}
    origin = int(page.index["origin"])
    assert (first[1] + origin, second[1] + origin) == (ends["fill"][1], ends["total"][0])
    assert sorted(path.name for path in program.parent.iterdir()) == ["found.html", "overlap.py"]
