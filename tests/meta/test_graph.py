"""`python -m tests.meta.graph` prints both import graphs, in layers, without an import against the layers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.meta import graph, test_layers, test_native_layers
from tests.meta._project import ROOT, run_python

PACKAGES = [name for line in test_layers.LAYERS for name in line]
FOLDERS = [name for line in test_native_layers.LAYERS for name in line]


def listed(text: str) -> list[str]:
    return re.findall(r"^(\S+) +\d+ files\b(?!,)", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["python"], ["eventide", *PACKAGES]),
        (["native"], FOLDERS),
        ([], ["eventide", *PACKAGES, *FOLDERS]),
    ],
)
def test_the_command_prints_each_package_in_its_layer(arguments: Sequence[str], names: list[str]) -> None:
    text = run_python("-m", "tests.meta.graph", *arguments, cwd=ROOT)
    assert listed(text) == names
    found = re.findall(r"^\d+ files, (\d+) of (\d+) imports against the layers$", text, re.MULTILINE)
    assert [wrong for wrong, _ in found] == ["0"] * (1 if arguments else 2)
    assert all(int(count) > 100 for _, count in found)
    assert "python -m tests.meta.graph" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_an_import_against_the_layers_is_counted_and_printed_and_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = Counter({("a", "b"): 3, ("b", "a"): 1})
    wrong = graph.Graph("title", (("a",), ("b",)), Counter(a=2, b=1), edges, ["b/x.py:1: b imports a"])
    monkeypatch.setitem(graph.GRAPHS, "native", lambda: wrong)
    assert graph.main(["native"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "title",
        "",
        "a    2 files  -> b 3",
        "",
        "b    1 files  -> a 1",
        "",
        "3 files, 1 of 4 imports against the layers",
        "b/x.py:1: b imports a",
    ]


def test_a_name_that_is_no_graph_prints_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert graph.main(["rust"]) == 2
    assert capsys.readouterr().err == "usage: python -m tests.meta.graph [python|native]\n"
