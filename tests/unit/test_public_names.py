"""`import eventide`: names that are imported on first use, and dir()."""

import importlib

import eventide as et


def test_dir_lists_every_public_name():
    assert set(et.__all__) <= set(dir(et))


def test_every_public_name_is_an_attribute():
    assert [name for name in et.__all__ if not hasattr(et, name)] == []


def test_analysis_is_reachable():
    assert et.analysis is importlib.import_module("eventide.analysis")


def test_dir_lists_the_public_names():
    assert {name for name in dir(et) if not name.startswith("__")} == set(et.__all__)
