"""Methods that a higher package registers with Trace."""

from __future__ import annotations

import ast
import inspect
import sys
from importlib import import_module
from pathlib import Path

import pytest

import eventide as et
from eventide.trace import Trace, _methods, register_method

MODULE = "a_package_above_trace"


def declared() -> dict[str, list[str]]:
    """The methods that are declared for help() and type checkers, with their parameters."""
    tree = ast.parse(inspect.getsource(_methods.Declared))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    names = [(each.name, (*each.args.args, each.args.vararg, *each.args.kwonlyargs)) for each in functions]
    return {name: [each.arg for each in parameters if each is not None][1:] for name, parameters in names}


def registered() -> dict[str, str]:
    """`module.function` of each method that `import eventide` registers."""
    return {name: each.target for name, each in vars(Trace.__mro__[1]).items() if hasattr(each, "target")}


def test_the_declared_methods_are_those_that_are_registered() -> None:
    assert sorted(declared()) == sorted(registered())


@pytest.mark.parametrize("name", registered())
def test_each_registered_method_is_a_function_with_the_declared_parameters(name: str) -> None:
    module, _, function = registered()[name].rpartition(".")
    parameters = inspect.signature(getattr(import_module(module), function)).parameters
    assert [*parameters][1:] == declared()[name]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    code = "def count(trace, table, *, plus=0):\n    return trace.tables[table].num_rows + plus\n"
    (tmp_path / f"{MODULE}.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    return MODULE


def test_a_registered_method_is_imported_by_its_first_call(module: str) -> None:
    trace = Trace({"tracks": {"kind": ["thread", "thread"]}})
    with register_method("rows_of", module, "count", "The number of rows of a table."):
        assert "rows_of" in dir(trace)
        assert module not in sys.modules
        method = trace.rows_of  # type: ignore[attr-defined]  # registered above
        assert method.__doc__ == "The number of rows of a table."
        assert module not in sys.modules
        assert method("tracks", plus=1) == 3
    assert module in sys.modules
    assert not hasattr(trace, "rows_of")
    sys.modules.pop(module)


def test_a_name_is_registered_once(module: str) -> None:
    with register_method("rows_of", module, "count", ""), pytest.raises(et.UsageValueError) as caught:
        register_method("rows_of", "other", "function", "")
    assert str(caught.value) == (f"Trace.rows_of is already {module}.count; register other.function under another name")


@pytest.mark.parametrize("name", ["_private", "two words", ""])
def test_a_method_needs_a_public_name(name: str) -> None:
    with pytest.raises(et.UsageValueError, match=r"cannot be named .*; use a public identifier"):
        register_method(name, "module", "function", "")
