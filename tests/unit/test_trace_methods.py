"""Methods that a higher package registers with Trace."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import eventide as et
from eventide.trace import Trace, register_method

MODULE = "a_package_above_trace"


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
