"""Chromium of the system, driven by Playwright. The pages are files; a request of anything else fails the test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from eventide.report import report

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
READY = "window.eventide && window.eventide.timeline.frames.length > 0"


def until(page: Any, condition: str) -> None:
    """Wait until the condition holds; the page's policy does not let Playwright evaluate it inside the page again."""
    for _ in range(600):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {condition}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium (Debian: chromium)")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """show(trace, **options of the context) opens its page; in the end nothing else was requested or logged."""
    contexts, wrong = [], []

    def on_dialog(dialog: Any) -> None:
        wrong.append(dialog.message)
        dialog.dismiss()

    def open_page(trace: et.Trace, *, title: str = "t.json", suffix: str = "", **options: Any) -> Any:
        file = tmp_path / "report.html"
        report(trace, file, title=title)
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(file.as_uri()) else wrong.append(asked.url))
        page.on("dialog", on_dialog)
        page.goto(file.as_uri() + suffix)
        if options.get("java_script_enabled", True):
            until(page, READY)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
