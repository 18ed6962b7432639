"""Findings as text, JSON and SARIF."""

import json

import pytest

from eventide.sanitizer import (
    KINDS,
    Access,
    Coverage,
    Finding,
    Findings,
    Fix,
    Suppression,
    finding_from_json,
    findings_to_json,
    findings_to_sarif,
    judge,
    plain_text,
)

NAMES = {3: "load", 4: ""}


def work(name, stream, write, line):
    stack = ((f"/src/{name}.py", line, "run"), ("/src/main.py", 7, "main"))
    return Access("work", write, 5, name, stream, 1, 0x1010, 64, 9, stack)


LOAD, TRAIN = work("load", 3, True, 63), work("train", 4, False, 66)
RACE = Finding("race", True, TRAIN, LOAD, buffer=0x1000, count=22, fix=Fix("wait", True, 8, 2, 3))


def text_of(*found, coverage=None):
    return plain_text(Findings(found, coverage or Coverage(4, 4), stream_names=NAMES))


def test_the_text_of_a_race_has_every_detail():
    assert text_of(RACE).splitlines() == [
        (
            "1. race (22 times): 'load' on stream 3 'load' writes 64 bytes that 'train' on stream 4 reads; "
            "nothing orders the two"
        ),
        "   memory  bytes 16 to 80 of the memory at 0x1000",
        "   first   'train' on stream 4 reads 64 bytes",
        "           /src/train.py:66 in run",
        "           /src/main.py:7 in main",
        "   second  'load' on stream 3 'load' writes 64 bytes",
        "           /src/load.py:63 in run",
        "           /src/main.py:7 in main",
        (
            "   fix     make stream 3 'load' wait for event 8, recorded after 'train' already, before 'load' "
            "(above load.py:63)"
        ),
        f"   id      {RACE.fingerprint}",
        "",
        "1 finding: 4 of 4 work items had known accesses",
    ]


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (
            Finding("race", True, TRAIN, LOAD, fix=Fix("wait")),
            (
                "record an event after 'train' on stream 4 (below train.py:66); make stream 3 'load' wait before "
                "'load' (above load.py:63)"
            ),
        ),
        (
            Finding("race", True, TRAIN, Access("host", True, thread=12), fix=Fix("synchronize")),
            "record an event after 'train' on stream 4 (below train.py:66); synchronize it before the host (thread 12)",
        ),
        (
            Finding("race", False, Access("host", thread=1), Access("host", True, thread=2), fix=Fix("hand-over")),
            "hand over from thread 1 to thread 2 with a queue, a lock, an Event or a join",
        ),
        (
            Finding("missing-record-stream", True, TRAIN, Access("free"), fix=Fix("record-stream", stream=4)),
            "call record_stream(stream 4) on the buffer before it is freed",
        ),
        (
            Finding("use-after-free", True, Access("free"), LOAD, fix=Fix("free-later")),
            "free the memory after 'load' is complete (submitted at load.py:63)",
        ),
        (
            Finding("redundant-wait", True, None, Access("wait", stream=3, stack=LOAD.stack), fix=Fix("remove")),
            "this run does not need it (line load.py:63); remove it only if no other run does",
        ),
        (
            Finding("wait-on-unrecorded", True, None, Access("wait", stream=3), event=6, fix=Fix("record-before")),
            "record event 6 before this wait, or skip the wait until it is recorded",
        ),
        (
            Finding("leak", True, None, Access("allocation", nbytes=32), fix=Fix("give-back")),
            "free() the memory when it is no longer used",
        ),
    ],
)
def test_every_fix_has_a_text(finding, expected):
    assert f"   fix     {expected}" in text_of(finding).splitlines()


def test_a_possible_finding_is_marked_and_a_deadlock_shows_its_cycle():
    assert "possible race: " in text_of(Finding("race", False, TRAIN, LOAD))
    text = text_of(Finding("deadlock", True, None, Access("wait", stream=3), text="stream 3 waits for stream 4"))
    assert "deadlock: stream 3 waits for stream 4" in text
    assert "at an unknown place: stacks were off" in text


def test_the_verdict_is_never_clean_without_an_access():
    assert text_of(coverage=Coverage(3, 0)).startswith("not checkable: 0 of 3 work items had known accesses; declare")
    assert text_of(coverage=Coverage(1310, 1204)) == "clean: 1,204 of 1,310 work items had known accesses"
    assert text_of(coverage=Coverage(2, 2, 5)).endswith("had known accesses; 5 freed ranges were discarded")


def test_findings_survive_a_round_trip_through_json():
    findings = judge([RACE, Finding("leak", True, None, Access("allocation", nbytes=3))], Coverage(4, 3), (), NAMES)
    document = json.loads(json.dumps(findings_to_json(findings)))
    assert document["verdict"] == "findings"
    assert document["coverage"] == {
        "works": 4,
        "known": 3,
        "forgotten": 0,
        "not_covered": [],
        "text": "3 of 4 work items had known accesses",
    }
    race = document["findings"][0]
    assert (race["count"], race["second"]["stream_name"], race["second"]["place"]["line"]) == (22, "load", 63)
    back = [finding_from_json(item) for item in document["findings"]]
    assert [(f.fingerprint, f.kind, f.count, f.fix) for f in back] == [
        (f.fingerprint, f.kind, f.count, f.fix) for f in findings
    ]


def test_sarif_has_rules_results_both_places_and_suppressions():
    rule = Suppression(reason="known", kind="leak")
    findings = judge([RACE, Finding("leak", True, None, Access("allocation", nbytes=3))], Coverage(4, 4), [rule], NAMES)
    document = json.loads(json.dumps(findings_to_sarif(findings, "1.2.3")))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert [one["id"] for one in run["tool"]["driver"]["rules"]] == list(KINDS)
    race, leak = run["results"]
    assert (race["ruleId"], race["level"], race["occurrenceCount"]) == ("race", "error", 22)
    assert race["partialFingerprints"] == {"eventide/v1": RACE.fingerprint}
    place = race["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "file:///src/load.py"}, "region": {"startLine": 63}}
    assert race["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 66}
    assert "Fix: make stream 3 'load' wait for event 8" in race["message"]["text"]
    assert leak["suppressions"] == [{"kind": "external", "justification": "known"}]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == findings.summary
