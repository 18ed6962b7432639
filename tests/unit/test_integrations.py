"""Integrations are installed when their framework is imported; the frameworks are packages that the tests write."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

import pytest

from eventide import integrations
from eventide._util.on_import import when_imported
from eventide.integrations import _all


@pytest.fixture
def framework(tmp_path, monkeypatch):
    """Writes a package that can be imported, and unloads it after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    before, finders = set(sys.modules), list(sys.meta_path)

    def write(name: str, code: str = "", **modules: str) -> None:
        (tmp_path / name).mkdir()
        for module, text in {"__init__": code, **modules}.items():
            (tmp_path / name / f"{module}.py").write_text(text, "utf-8")
        importlib.invalidate_caches()

    yield write
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]
    assert sys.meta_path == finders


@pytest.fixture
def integration(monkeypatch):
    """Makes an integration for a framework; returns the list of its calls."""

    def make(name: str, install=None) -> list[str]:
        calls: list[str] = []
        module: Any = ModuleType(f"eventide.integrations.{name}")
        module.install = install or (lambda: calls.append(f"install with {sys.modules[name].value}"))
        module.uninstall = lambda: calls.append("uninstall")
        module.installed = lambda: False
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(_all, "NAMES", (*_all.NAMES, name))
        return calls

    return make


def test_the_callback_runs_after_the_module_and_the_module_is_unchanged(framework) -> None:
    framework("frame_a", "value = 1", part="value = 2")
    called: list = []
    when_imported("frame_a", lambda: called.append(sys.modules["frame_a"].value))
    when_imported("frame_a.part", lambda: called.append(sys.modules["frame_a.part"].value))
    frame_a: Any = importlib.import_module("frame_a")
    part: Any = importlib.import_module("frame_a.part")
    assert called == [1, 2]
    assert type(frame_a.__spec__.loader) is SourceFileLoader
    assert "exec_module" not in vars(frame_a.__spec__.loader)
    assert part.__spec__.parent == "frame_a"


def test_the_callback_runs_at_once_for_a_module_that_is_already_imported(framework) -> None:
    framework("frame_b")
    importlib.import_module("frame_b")

    called: list = []
    when_imported("frame_b", lambda: called.append("now"))
    assert called == ["now"]


def test_a_callback_may_wait_for_the_same_module_whose_import_is_not_complete_yet(framework) -> None:
    framework("frame_n", "value = 1")
    called: list = []
    when_imported("frame_n", lambda: when_imported("frame_n", lambda: called.append(sys.modules["frame_n"].value)))
    importlib.import_module("frame_n")
    assert called == [1]


def test_a_closed_import_hook_calls_nothing(framework) -> None:
    framework("frame_c")
    called: list = []
    hook = when_imported("frame_c", lambda: called.append("frame_c"))
    hook.close()
    hook.close()
    importlib.import_module("frame_c")

    assert called == []


def test_an_integration_is_installed_when_the_program_imports_its_framework(framework, integration) -> None:
    framework("frame_d", "value = 4")
    calls = integration("frame_d")
    with integrations.install_when_imported("frame_d") as waiting:
        assert waiting.status == {"frame_d": "waiting"}
        importlib.import_module("frame_d")

        assert (calls, waiting.status) == (["install with 4"], {"frame_d": "installed"})
    assert calls[1:] == ["uninstall"]


def test_a_framework_that_fails_on_import_logs_one_line_and_raises_its_own_error(
    framework, integration, caplog
) -> None:
    framework("frame_e", "raise OSError('libdevice.so is missing')")
    framework("frame_f", "value = 6")
    broken, fine = integration("frame_e"), integration("frame_f")
    with integrations.install_when_imported("frame_e", "frame_f") as waiting:
        with pytest.raises(OSError, match=r"libdevice\.so is missing"):
            importlib.import_module("frame_e")
        importlib.import_module("frame_f")
    assert (broken, fine) == ([], ["install with 6", "uninstall"])
    (line,) = [record.getMessage() for record in caplog.records]
    why = "its import failed with OSError: libdevice.so is missing"
    assert line == f"Eventide cannot trace frame_e: {why}; try python -c 'import frame_e'"
    assert waiting.status["frame_e"] == line


def test_an_unsupported_framework_version_logs_one_line_and_the_program_continues(
    framework, integration, caplog
) -> None:
    framework("frame_g", "__version__ = '0.1'")

    def install() -> None:
        raise AttributeError("frame_g has no monitoring")

    integration("frame_g", install)
    with integrations.install_when_imported("frame_g") as waiting:
        importlib.import_module("frame_g")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == "Eventide cannot trace frame_g 0.1: AttributeError: frame_g has no monitoring"
    assert waiting.status["frame_g"] == line


def test_a_missing_framework_raises_the_error_of_python_and_nothing_is_installed(integration) -> None:
    calls = integration("frame_h")
    with (
        integrations.install_when_imported("frame_h") as waiting,
        pytest.raises(ModuleNotFoundError, match="'frame_h'"),
    ):
        importlib.import_module("frame_h")
    assert (calls, waiting.status) == ([], {"frame_h": "waiting"})


def test_an_unknown_integration_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no integration 'cobol'; there are torch, jax"):
        integrations.install_when_imported("cobol")
    with pytest.raises(AttributeError, match="has no attribute 'cobol'"):
        integrations.cobol


def test_closing_removes_the_import_hook() -> None:
    before = list(sys.meta_path)
    with integrations.install_when_imported():
        pass
    assert sys.meta_path == before
