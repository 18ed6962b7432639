"""Rules of findings: each fires with the right number on one trace and is silent on another; documented; explained."""

from __future__ import annotations

import importlib
import json
import re

import pytest

import eventide as et
from eventide.cli import main
from eventide.errors import InternalError, UsageValueError
from eventide.report import RULES, Rule, explain, gather, rule_named
from eventide.report.rules import CONFIDENCES, Match, findings, rule, unknowns
from eventide.report.rules._template import fields, fill, plain
from eventide.trace import Trace
from tests.integration.processes import ROOT
from tests.rule_cases.case import Case, busy, gap
from tests.trace_builder import Builder

FILES = sorted(path.stem for path in (ROOT / "tests/rule_cases").glob("*.py") if path.stem != "case")
CASES = [case for name in FILES for case in importlib.import_module(f"tests.rule_cases.{name}").CASES]
by_rule = pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)


def found(case: Case, trace: Trace) -> list[et.report.Finding]:
    report = gather(trace, "t")
    every = (*findings(report), *unknowns(report))
    return [finding for finding in every if finding.rule == case.rule]


@by_rule
def test_a_rule_fires_with_the_right_numbers(case):
    (finding, *_) = found(case, case.fires())
    assert {name: finding.values[name] for name in case.values} == case.values
    assert case.says in finding.text
    assert finding.confidence == case.confidence
    assert case.remedy is None or finding.remedy == case.remedy
    assert {name: getattr(finding, name) for name in case.more} == case.more


@by_rule
def test_a_rule_is_silent_where_its_condition_does_not_hold(case):
    assert found(case, case.silent()) == []


def test_every_rule_is_proven_both_ways():
    assert {case.rule for case in CASES} == set(RULES)


@pytest.mark.parametrize("each", RULES.values(), ids=lambda each: each.name)
def test_a_rule_is_written_as_rules_are(each):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", each.name)
    assert each.condition.endswith(".")
    assert set(each.confidences) <= set(CONFIDENCES)
    assert each.find.__doc__


def section(each: Rule) -> str:
    """The part of docs/rules.md about a rule."""
    return f"### {each.name}\n" + "".join(f"- **{head}**: {text}\n" for head, text in explain(each).items())


def test_the_document_has_every_rule_and_no_other():
    text = (ROOT / "docs/rules.md").read_text("utf-8")
    expected = "\n".join(section(each) for _, each in sorted(RULES.items()))
    assert text[text.index("\n### ") + 1 :] == expected, f"docs/rules.md must end with:\n{expected}"


def test_explain_prints_a_rule_and_lists_all(capsys):
    assert main(["explain", "idle-host-late"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("idle-host-late When Most of a device's idle time passed before the host launched")
    assert "It says {device} was idle {idle / wall} of {wall}" in out
    assert "Remedy Give the host less to do per launch" in out
    assert "Confidence recorded or inferred; listed among the findings." in out
    assert main(["explain"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in RULES)
    assert main(["explain", "slow-step", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["rule"], set(one)) == ("slow-step", {"rule", "When", "It says", "Remedy", "Confidence"})


def test_a_rule_that_does_not_exist_is_an_error_with_the_nearest_names(capsys):
    assert main(["explain", "slow-steps"]) == 2
    assert "there is no rule 'slow-steps'; did you mean slow-step" in capsys.readouterr().err
    with pytest.raises(UsageValueError, match=r"there is no rule '\?'"):
        rule_named("?")


def test_the_json_of_a_report_has_rule_confidence_and_values(tmp_path, capsys):
    busy().trace(source="test").save(tmp_path / "t.parquet")
    assert main(["report", str(tmp_path / "t.parquet"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["findings"][0]
    assert (first["rule"], first["confidence"]) == ("device-bottleneck", "recorded")
    assert first["values"]["kind_time"] == 998


def test_a_template_fills_formats_and_leaves_out_what_is_not_there():
    template = "{a:time} of {b:time} ({a:of b})[, {n:count call}][ in {name:name 4}][, {gone}]."
    values = {"a": 1500, "b": 3000, "n": 2, "name": "abcdef", "gone": None}
    assert fill(template, values) == "1.50 us of 3.00 us (50 %), 2 calls in abc…."
    assert fields(template) == ["a", "b", "a", "n", "name", "gone"]
    assert plain("{a:of b}, {n:count call} {x:time}") == "{a / b}, {n} calls {x}"
    assert fill("[{name}]{b:number}", {"name": "[{b}]", "b": 1000}) == "[{b}]1,000"  # of a file: never a template
    with pytest.raises(InternalError, match=r"has \{a:furlongs\}; use one of time, size"):
        fill("{a:furlongs}", {"a": 1})


def test_a_rule_cannot_be_registered_twice_nor_claim_an_undeclared_confidence():
    with pytest.raises(InternalError, match="registered twice"):
        rule("slow-step", condition="", says="")
    sure = Rule("sure", "", "", None, ("recorded",), False, lambda _: [Match(1.0, {}, confidence="unknown")])
    with pytest.raises(InternalError, match="no confidence 'unknown'"):
        sure.findings(gather(busy().trace(), "t"))


def test_host_code_of_several_threads_is_no_share_of_the_wall_time():
    builder = Builder()
    for tid in (1, 2):
        builder.span(builder.thread(tid), "load", 0, 900)
    (found,) = [each for each in findings(gather(builder.trace(), "t")) if each.rule == "host-code"]
    assert found.text == "load took 1.80 us by itself, in 2 spans, at once on threads of a trace of 900 ns."


def test_calls_that_block_behind_a_busy_device_come_after_what_the_device_computed():
    device = busy()
    device.call("cudaDeviceSynchronize", 50, 990, category="sync")
    rules = [each.rule for each in findings(gather(device.trace(), "t"))]
    assert rules == ["device-bottleneck", "idle-launch", "host-blocked"]
    idle = gap(inside=("cudaDeviceSynchronize", 50, 800, "sync"))
    assert [each.rule for each in findings(gather(idle.trace(), "t"))][:2] == ["idle-synchronization", "host-blocked"]
