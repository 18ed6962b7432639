"""Patches of an integration: put in and taken out in any order, by any thread, beside patches of other libraries."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from eventide.errors import UsageError
from eventide.integrations._patch import Installation
from tests.helpers import TIMEOUT, Background


class Framework:
    def call(self) -> str:
        return "own"


def prefixed(prefix: str) -> Any:
    """Wraps a function so that its result has the prefix."""
    return lambda original: lambda *args: f"{prefix} {original(*args)}"


@pytest.fixture
def framework() -> Any:
    """A class that each test may patch."""
    return type("Fresh", (Framework,), dict(vars(Framework)))


def install(installation: Installation, framework: Any, prefix: str = "traced") -> None:
    installation.install(lambda: installation.wrap(framework, "call", prefixed(prefix)))


def test_install_and_uninstall_twice_have_no_further_effect(framework) -> None:
    own, installation = framework.call, Installation()
    install(installation, framework)
    install(installation, framework)
    assert (framework().call(), installation.installed) == ("traced own", True)
    assert framework.call.__wrapped__ is own
    installation.uninstall()
    installation.uninstall()
    assert (framework.call, installation.installed) == (own, False)


def test_a_later_patch_of_another_library_stays_and_ours_inside_it_passes_through(framework) -> None:
    own, installation = framework.call, Installation()
    install(installation, framework)
    theirs = prefixed("theirs")(framework.call)
    framework.call = theirs
    assert framework().call() == "theirs traced own"
    installation.uninstall()
    assert framework.call is theirs
    assert framework().call() == "theirs own"
    install(installation, framework)
    assert framework().call() == "traced theirs own"
    installation.uninstall()
    assert framework.call is theirs
    framework.call = own  # they leave as well
    assert framework().call() == "own"


@pytest.mark.parametrize("first", [0, 1])
def test_two_installations_on_one_function_are_removed_in_any_order(framework, first) -> None:
    pair = [Installation(), Installation()]
    for installation, prefix in zip(pair, ("a", "b"), strict=True):
        install(installation, framework, prefix)
    assert framework().call() == "b a own"
    pair[first].uninstall()
    assert framework().call() == ("b own", "a own")[first]
    pair[1 - first].uninstall()
    assert framework().call() == "own"


def test_a_function_that_the_program_holds_passes_through_after_uninstall(framework) -> None:
    installation = Installation()
    install(installation, framework)
    held = framework.call
    installation.uninstall()
    assert held(framework()) == "own"


def test_an_attribute_of_the_class_is_uncovered_when_the_patch_of_the_object_goes(framework) -> None:
    one, installation = framework(), Installation()
    install(installation, one)
    assert one.call() == "traced own"
    installation.uninstall()
    assert vars(one) == {}


def test_a_patch_that_fails_half_way_leaves_nothing(framework) -> None:
    own, installation = framework.call, Installation("numba")

    def apply() -> None:
        installation.wrap(framework, "call", prefixed("traced"))
        installation.wrap(framework, "missing", prefixed("traced"))

    with pytest.raises(UsageError, match=r"cannot trace numba .*no attribute 'missing'; the integration was"):
        installation.install(apply)
    assert (framework.call, installation.installed) == (own, False)


def test_an_undo_that_raises_is_logged_and_the_others_run(framework, caplog) -> None:
    own, installation = framework.call, Installation()
    install(installation, framework)

    def fail() -> None:
        raise ValueError("cannot be removed")

    installation.on_uninstall(fail)
    installation.uninstall()
    assert framework.call is own
    assert "a patch was not removed" in caplog.text


def test_threads_that_install_and_uninstall_at_once_leave_one_layer_or_none(framework) -> None:
    own, installation = framework.call, Installation()
    start = threading.Barrier(4)

    def work() -> set[str]:
        start.wait(TIMEOUT)
        seen = set()
        for _ in range(200):
            install(installation, framework)
            seen.add(framework().call())
            installation.uninstall()
        return seen

    threads = [Background(work) for _ in range(4)]
    for thread in threads:
        assert thread.result() <= {"own", "traced own"}
    assert framework.call is own
    install(installation, framework)
    assert framework().call() == "traced own"
    installation.uninstall()
    assert framework.call is own


def test_a_module_that_is_imported_after_uninstall_is_not_patched(monkeypatch) -> None:
    called: list[str] = []
    ready: list[Any] = []

    def when_imported(_module: str, run: Any) -> Any:
        ready.append(run)
        return SimpleNamespace(close=lambda: None)  # closed too late: the import has begun

    monkeypatch.setattr("eventide.integrations._patch.when_imported", when_imported)
    installation = Installation()
    installation.install(lambda: installation.when_imported("frame", lambda: called.append("patched")))
    installation.uninstall()
    ready[0]()
    assert called == []
    installation.install(lambda: installation.when_imported("frame", lambda: called.append("again")))
    ready[0]()
    ready[1]()
    installation.uninstall()
    assert called == ["again"]


def test_in_a_forked_child_a_lock_of_another_thread_is_free_and_half_an_installation_is_removed(framework) -> None:
    own, installation = framework.call, Installation()
    entered, leave = threading.Event(), threading.Event()

    def apply() -> None:
        installation.wrap(framework, "call", prefixed("half"))
        entered.set()
        assert leave.wait(TIMEOUT)

    thread = Background(lambda: installation.install(apply))
    assert entered.wait(TIMEOUT)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            removed = framework.call is own
            install(installation, framework)
            traced = framework().call()
            installation.uninstall()
            code = 0 if (removed, traced, framework.call is own) == (True, "traced own", True) else 2
        finally:
            os._exit(code)
    leave.set()
    thread.result()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert framework().call() == "half own"
    installation.uninstall()
    assert framework.call is own
