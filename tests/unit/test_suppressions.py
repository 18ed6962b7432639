"""Suppressions: by fingerprint, kind, function and file, each with its reason."""

from dataclasses import replace
from pathlib import Path

import pytest

import eventide as et
from eventide.sanitizer import Access, Coverage, Finding, Suppression, judge, load_suppressions, plain_text

HERE = ("/project/src/model.py", 12, "train_step")
THERE = ("/project/src/loader.py", 40, "refill")
RACE = Finding(
    "race",
    True,
    Access("work", True, 1, "load", 1, address=64, nbytes=8, stack=(THERE,)),
    Access("work", False, 2, "train", 2, address=64, nbytes=8, stack=(HERE,)),
)
WAIT = Finding("redundant-wait", True, None, Access("wait", stream=2, stack=(HERE,)))


@pytest.mark.parametrize(
    "conditions",
    [
        {"fingerprint": RACE.fingerprint},
        {"kind": "race"},
        {"function": "load"},
        {"function": "train_*"},
        {"file": "*/loader.py"},
        {"file": "model.py"},
        {"kind": "race", "function": "refill", "file": "loader.py"},
    ],
)
def test_a_matching_finding_is_suppressed_with_its_reason(conditions):
    findings = judge([RACE], Coverage(2, 2), [Suppression(reason="known", **conditions)])
    assert (list(findings), findings.unused_suppressions) == ([], ())
    assert findings.suppressed[0].finding is RACE
    assert findings.summary == "clean (1 suppressed): 2 of 2 work items had known accesses"
    assert "suppressed: race, because known" in plain_text(findings)


def test_a_fingerprint_holds_when_the_project_moves_or_a_line_is_added():
    def moved(folder, lines, extra=()):
        sides = [
            replace(
                side, stack=(*extra, *((f"{folder}/{file[9:]}", line + lines, name) for file, line, name in side.stack))
            )
            for side in (RACE.first, RACE.second)
        ]
        return replace(RACE, first=sides[0], second=sides[1]).fingerprint

    assert RACE.fingerprint == moved("/project", 0) == moved("/elsewhere", 0) == moved(".", 3)
    ours = (str(Path(et.__file__).parent / "runtime" / "_stream.py"), 7, "submit")
    assert moved("/project", 0, (ours,)) == RACE.fingerprint
    assert replace(RACE, kind="use-after-free").fingerprint != RACE.fingerprint
    assert replace(RACE, second=replace(RACE.second, name="evaluate")).fingerprint != RACE.fingerprint
    other = replace(RACE.second, stack=(("/project/src/model.py", 12, "evaluate"),))
    assert replace(RACE, second=other).fingerprint != RACE.fingerprint


@pytest.mark.parametrize(
    "conditions", [{"fingerprint": "0"}, {"kind": "leak"}, {"function": "save"}, {"kind": "race", "file": "other.py"}]
)
def test_a_suppression_that_matches_nothing_is_reported_as_unused(conditions):
    rule = Suppression(reason="known", **conditions)
    findings = judge([RACE, WAIT], Coverage(2, 2), [rule])
    assert list(findings) == [RACE, WAIT]
    assert findings.unused_suppressions == (rule,)
    assert f"unused suppression: {rule.conditions}; it matches nothing, so remove it" in plain_text(findings)


def test_a_reason_is_required():
    with pytest.raises(et.UsageValueError, match="a suppression needs a reason: why is kind='race' acceptable"):
        Suppression(reason=" ", kind="race")
    with pytest.raises(et.UsageValueError, match="a suppression needs one of fingerprint, kind, function, file"):
        Suppression(reason="because")
    with pytest.raises(et.UsageValueError, match="there is no finding of kind 'raze'; there are race,"):
        Suppression(reason="because", kind="raze")


def test_they_are_read_from_the_project_file_above(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.eventide.sanitizer.suppress]]\nkind = "race"\nfile = "loader.py"\nreason = "one step old is fine"\n'
    )
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    (rule,) = load_suppressions(None)
    assert (rule.kind, rule.file, rule.reason) == ("race", "loader.py", "one step old is fine")
    assert rule.source.endswith("pyproject.toml, suppress 1")


def test_they_are_read_from_a_file_of_their_own(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text('[[suppress]]\nfunction = "a"\nreason = "r"\n[[suppress]]\nkind = "leak"\nreason = "s"\n')
    assert [rule.conditions for rule in load_suppressions(path)] == ["function='a'", "kind='leak'"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[suppress]", "is not TOML"),
        ('[[suppress]]\nkind = "race"\n', "needs a reason.*known.toml, suppress 1"),
        ('[[suppress]]\nkinds = "race"\nreason = "r"\n', "a suppression has no 'kinds'; it has fingerprint, kind"),
        ("[[suppress]]\nkind = 5\nreason = 'r'\n", "kind of a suppression is text, not int"),
        ("suppress = 3\n", r"known\.toml: suppress is a list of tables, \[\[suppress\]\], not 3"),
        ("[[ignore]]\n", "has no setting 'ignore' for the sanitizer; it has suppress"),
    ],
)
def test_a_mistake_in_a_file_is_reported_with_its_place(tmp_path, text, message):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(et.UsageError, match=message):
        load_suppressions(path)


def test_a_project_file_with_a_wrong_type_is_reported_with_its_place(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool]\neventide = 3\n")
    with pytest.raises(et.UsageError, match=r"pyproject\.toml: tool\.eventide is a table, not 3"):
        load_suppressions(path)


def test_a_missing_file_of_suppressions_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot be read from .*none\.toml: No such file"):
        load_suppressions(tmp_path / "none.toml")


def test_they_are_given_as_dicts_too():
    assert load_suppressions([{"kind": "race", "reason": "r"}])[0].kind == "race"
    assert load_suppressions({"kind": "race", "reason": "r"})[0].reason == "r"
    assert load_suppressions(()) == ()
    with pytest.raises(et.UsageTypeError, match="suppress takes a path, Suppressions or dicts, not int"):
        load_suppressions(5)
