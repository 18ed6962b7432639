"""What the report of a training on the host begins with: what costs most in its steps."""

from __future__ import annotations

from eventide.report import gather
from eventide.report.rules import findings
from eventide.trace import Trace
from tests.rule_cases.program import sampled, trained
from tests.trace_builder import Builder


def rules(trace: Trace) -> list[str]:
    return [each.rule for each in findings(gather(trace, "t"))]


def test_the_steps_come_before_imports_that_took_longer() -> None:
    samples = sampled(9, 0, 1)
    tables = {**trained(30).tables, "instants": samples.instants, "stacks": samples.stacks}
    found = rules(Trace(tables, samples.metadata))
    assert found.index("step-parts") < found.index("imports")


def test_compiling_comes_first_where_it_is_most_of_the_steps() -> None:
    b = Builder()
    for step in range(4):
        at = 10_000 + 100 * step
        b.span(b.thread(), f"ProfilerStep#{step}", at, at + 100, "step")
        b.span(b.thread(2), "inductor", at, at + 60, "compile")
        b.span(b.thread(2), "aten::mm", at + 60, at + 90, "op")
    assert rules(b.trace(source="eventide"))[:2] == ["compile-time", "step-parts"]
