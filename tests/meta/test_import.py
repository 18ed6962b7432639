"""`import eventide` is cheap: it loads none of the large packages that commands and reports use."""

from __future__ import annotations

from tests.meta._project import run_python

LARGE = {"numpy", "pyarrow", "duckdb", "rich", "typer", "asyncio"}


def loaded_by(code: str) -> set[str]:
    """The top-level packages in a fresh interpreter after `code`."""
    return set(
        run_python("-c", f"{code}; import sys; print(*(name.partition('.')[0] for name in sys.modules))").split()
    )


def test_import_loads_no_large_package() -> None:
    loaded = loaded_by("import eventide")
    assert "eventide" in loaded
    assert loaded & LARGE == set()


def test_running_work_loads_no_large_package() -> None:
    assert loaded_by("import eventide as et; et.Stream('cpu').submit(int).result()") & LARGE == set()
