"""Devices in shared libraries: built from sources anywhere, loaded and unloaded, refused if they are invalid."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import eventide as et
from tests.helpers import TIMEOUT
from tests.integration.plugin_devices import EXAMPLE, build_text, loaded, unregister

REQUIRED = (
    *("capabilities", "open_stream", "close_stream", "submit", "make_marker", "wait", "poll", "completed_at"),
    "release",
)


@pytest.fixture(autouse=True)
def nothing_else_breaks() -> Iterator[None]:
    before = et.devices()
    yield
    assert et.devices() == before
    stream = et.Stream("cpu")
    assert stream.submit(sum, (1, 2)).result(TIMEOUT) == 3
    stream.close(TIMEOUT)


def works(device: str | et.Device) -> bool:
    stream = et.Stream(device)
    answer = stream.submit(sum, (3, 4)).result(TIMEOUT)
    stream.close(TIMEOUT)
    return answer == 7


# Building


def test_sources_and_includes_in_folders_with_spaces_and_quotes(tmp_path: Path) -> None:
    spaces, quote = tmp_path / "path / with spaces in it", tmp_path / "path with quote'"
    build = tmp_path / 'build; echo "$HOME" & it\'s here'
    for folder in (spaces, quote):
        folder.mkdir(parents=True)
    shutil.copy(EXAMPLE, spaces / "the device.cpp")
    (quote / "odd's.h").write_text('#include "the device.cpp"\n')
    source = spaces / "a source's.cpp"
    source.write_text('#include "odd\'s.h"\n')
    device = et.Device.build("odd", sources=[source], include_paths=[spaces, str(quote)], build_directory=build)
    assert (device.type, device.index) == ("odd", None)
    assert [path.name for path in build.iterdir()] == ["libodd.so"]
    assert works("odd:1")
    unregister("odd")


def test_relative_paths_are_those_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, "device.cpp")
    et.Device.build("relative", sources=["device.cpp"], build_directory="out")
    assert (tmp_path / "out" / "librelative.so").is_file()
    assert works("relative")
    unregister("relative")


def test_several_sources_make_one_device(tmp_path: Path) -> None:
    (tmp_path / "answer.cpp").write_text("int answer() { return 42; }\n")
    text = '#include "threads_device.cpp"\nint answer();\nextern "C" EVENTIDE_EXPORT int ask() { return answer(); }\n'
    (tmp_path / "main.cpp").write_text(text)
    sources = [tmp_path / "main.cpp", tmp_path / "answer.cpp"]
    et.Device.build("several", sources, include_paths=[EXAMPLE.parent], build_directory=tmp_path)
    assert works("several")
    unregister("several")


def test_extra_flags_reach_the_compiler(tmp_path: Path) -> None:
    with pytest.raises(et.DeviceError, match="stopped on purpose"):
        build_text(tmp_path, '#ifdef STOP\n#error "stopped on purpose"\n#endif\n', extra_flags=["-DSTOP"])


def test_the_output_of_the_compiler_is_shown_whole(tmp_path: Path) -> None:
    text = "#include <eventide/device.h>\nint first = undeclared_one;\nint second = undeclared_two;\n"
    with pytest.raises(et.DeviceError) as caught:
        build_text(tmp_path, text)
    words = str(caught.value)
    assert "device 'made'" in words
    assert "int first = undeclared_one;" in words
    assert re.search(r"made\.cpp:2:\d+: error: .*undeclared_one", words)
    assert re.search(r"made\.cpp:3:\d+: error: .*undeclared_two", words)
    assert str(tmp_path / "made.cpp") in words


def test_the_output_of_the_linker_is_shown(tmp_path: Path) -> None:
    with pytest.raises(et.DeviceError, match="no_such_library_anywhere"):
        build_text(tmp_path, "int nothing;\n", extra_flags=["-lno_such_library_anywhere"])


def test_verbose_shows_the_command_and_the_warnings(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(et.DeviceError, match="eventide_device_entry"):
        build_text(tmp_path, "#warning receive, receive\n", verbose=True)
    shown = capfd.readouterr().err
    assert "receive, receive" in shown
    assert "libmade.so" in shown


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(et.DeviceError, match=r"no C\+\+ compiler.*CXX"):
        build_text(tmp_path, "int nothing;\n")


def test_a_compiler_that_cxx_names_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "a compiler"
    fake.write_text("#!/bin/sh\necho the fake one was called; exit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    with pytest.raises(et.DeviceError, match=r"(?s)code 3.*the fake one was called"):
        build_text(tmp_path, "int nothing;\n")


@pytest.mark.parametrize("name", ["two words", "", "a-b", "1st"])
def test_an_invalid_name_is_refused_before_compiling(name: str) -> None:
    with pytest.raises(et.UsageValueError, match="identifier"):
        et.Device.build(name, sources=[EXAMPLE])


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "lost.cpp"))):
        et.Device.build("lost", sources=[EXAMPLE, tmp_path / "lost.cpp"])
    with pytest.raises(et.UsageValueError, match="has no sources; give at least one path"):
        et.Device.build("lost", sources=[])


def test_one_path_instead_of_a_list_is_a_type_error() -> None:
    with pytest.raises(et.UsageTypeError, match="lists of paths"):
        et.Device.build("one", sources=str(EXAMPLE))
    with pytest.raises(et.UsageTypeError, match="lists of paths"):
        et.Device.build("one", sources=[EXAMPLE], include_paths=EXAMPLE.parent)


# Loading


def test_a_library_without_a_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(et.DeviceError, match=r"libmade\.so is not an Eventide device: .* eventide_device_entry"):
        build_text(tmp_path, 'extern "C" int answer() { return 42; }\n')


def test_a_file_that_is_not_a_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("hello")
    with pytest.raises(et.DeviceError, match=r"cannot load .*text\.so"):
        et.Device.load(tmp_path / "text.so")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(et.DeviceError, match=r"cannot load .*lost\.so"):
        et.Device.load(tmp_path / "lost.so")


@pytest.mark.parametrize("function", REQUIRED)
def test_a_missing_function_is_named(function: str) -> None:
    words = rf"libfaulty\.so lacks the function {function}$"
    with pytest.raises(et.DeviceError, match=words), loaded("without", f"no {function}"):
        pass


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("old version", r"built for version 77 of eventide/device\.h, this Eventide has version \d+; build it again"),
        ("short table", r"a table of \d+ bytes, not \d+; set its member size to sizeof\(eventide_device\)"),
        ("no type", "has no device type: a name"),
        ("odd type", "has no device type: a name"),
        ("no gate", "lacks the function gate .*capability 'gate'"),
        ("no open_gate", "lacks the function .*open_gate .*capability 'gate'"),
        ("no free", r"lacks the function free \(it has allocate\)"),
        ("entry throws", "threw from eventide_device_entry: thrown by the entry"),
        ("entry returns null", "cannot run here"),
    ],
)
def test_a_library_that_is_wrong_is_refused_with_the_reason(fault: str, words: str) -> None:
    with pytest.raises(et.DeviceError, match=rf"libfaulty\.so .*{words}"), loaded("wrong", fault):
        pass


def test_optional_functions_may_be_missing() -> None:
    with loaded("sparse", "only what is needed") as device:
        assert "libfaulty.so" in device.name
        assert [d for d in et.devices() if d.type == device.type] == [device]  # one
        assert works(device)


def test_a_work_handle_is_valid_until_the_marker_behind_it_is_released() -> None:
    ran: list[int] = []
    with loaded("careful", "looks back") as device:
        stream = et.Stream(device)
        futures = [stream.submit(ran.append, number) for number in range(100)]
        stream.synchronize(TIMEOUT)
        del futures
        stream.close(TIMEOUT)
        del stream
    assert ran == list(range(100))


# As an extension module too

MODULE = """
#include <Python.h>
#include "threads_device.cpp"
static PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "%s", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit_%s() { return PyModule_Create(&module); }
"""


def test_a_device_may_be_a_python_module_as_well(tmp_path: Path) -> None:
    source = tmp_path / "both.cpp"
    source.write_text(MODULE % ("parity_both", "parity_both"))
    options = {"include_paths": [EXAMPLE.parent], "build_directory": tmp_path / "out"}
    device = et.Device.build("parity_both", [source], is_python_module=True, **options)  # type: ignore[arg-type]
    import parity_both  # type: ignore[import-not-found]

    assert parity_both.answer() == 42
    assert works(device)
    with pytest.raises(et.UsageValueError, match="there is a module 'parity_both' already"):
        et.Device.build("parity_both", [source], is_python_module=True, **options)  # type: ignore[arg-type]
    unregister("parity_both")
    del sys.modules["parity_both"]


def test_a_library_that_is_no_module_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        et.DeviceError, match=r"is not a Python module: .*; it needs a function PyInit_parity_plain, or"
    ):
        et.Device.build("parity_plain", [EXAMPLE], build_directory=tmp_path, is_python_module=True)
    assert "parity_plain" not in sys.modules
    assert "parity_plain" not in {device.type for device in et.devices()}
