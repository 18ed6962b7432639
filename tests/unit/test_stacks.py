"""Stacks are captured natively and interned: one number for one stack."""

from __future__ import annotations

import sys
import threading
import traceback

from eventide import _native


def here() -> int:
    return _native.capture_stack()


def deep(n: int) -> int:
    return here() if n == 0 else deep(n - 1)


def test_equal_stacks_have_one_number_and_others_another() -> None:
    same = {here() for _ in range(3)}
    assert len(same) == 1
    assert here() not in same
    assert 0 not in same


def test_a_line_keeps_its_number_when_the_interpreter_has_warmed_up() -> None:
    found = []

    class Sized:
        def __len__(self) -> int:
            found.append(here())
            return 0

    sized = Sized()
    for _ in range(500):
        len(sized)  # a builtin: once it is warm, Python 3.11 calls it from another instruction
    assert len(set(found)) == 1


def test_a_stack_has_the_lines_of_traceback_innermost_first() -> None:
    number, expected = here(), traceback.extract_stack()
    frames = _native.resolve_stack(number)
    assert frames[0] == (__file__, here.__code__.co_firstlineno + 1, "here")
    assert [(file, line) for file, line, _ in frames[1:]] == [
        (frame.filename, frame.lineno) for frame in reversed(expected)
    ][: len(frames) - 1]


def test_functions_are_named_by_their_qualified_names() -> None:
    class Thing:
        def method(self) -> int:
            return here()

    names = [function for _, _, function in _native.resolve_stack(Thing().method())]
    assert names[1].endswith("<locals>.Thing.method")


def test_generators_and_lambdas_are_frames_too() -> None:
    def numbers():
        yield here()

    call = lambda: next(numbers())  # noqa: E731
    names = [function for _, _, function in _native.resolve_stack(call())]
    assert names[:3] == [
        "here",
        "test_generators_and_lambdas_are_frames_too.<locals>.numbers",
        "test_generators_and_lambdas_are_frames_too.<locals>.<lambda>",
    ]


def test_a_very_deep_stack_keeps_the_innermost_frames() -> None:
    frames = _native.resolve_stack(deep(300))
    assert len(frames) == 128
    assert [function for _, _, function in frames[:3]] == ["here", "deep", "deep"]


def test_threads_share_the_numbers() -> None:
    found: list[int] = []

    def run() -> None:
        found.append(here())

    for _ in range(2):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert found[0] == found[1] != 0


def test_deleted_code_keeps_its_name_and_its_number() -> None:
    def made(name: str) -> int:
        space: dict[str, object] = {"here": here}
        exec(compile(f"def {name}(): return here()", f"<{name}>", "exec"), space)
        return space[name]()  # type: ignore[operator]

    numbers = [made(f"made_{i}") for i in range(50)]
    assert len(set(numbers)) == 50
    for i, number in enumerate(numbers):
        assert _native.resolve_stack(number)[1] == (f"<made_{i}>", 1, f"made_{i}")


def test_a_file_name_that_is_not_utf8_is_shown_escaped() -> None:
    space: dict[str, object] = {"here": here}
    exec(compile("def f(): return here()", "<\udc80>", "exec"), space)
    assert _native.resolve_stack(space["f"]())[1][0] == "<\\udc80>"  # type: ignore[operator]


def test_an_unassigned_number_is_not_a_stack() -> None:
    assert _native.resolve_stack(0) == ()
    assert _native.resolve_stack(2**32 - 1) == ()
    interned, lost = _native.stack_statistics()
    assert _native.resolve_stack(interned) != ()
    assert lost == 0


def test_capturing_keeps_code_and_no_frames() -> None:
    thing = object()
    before = sys.getrefcount(thing)

    def hold(kept: object) -> int:
        return here()

    hold(thing)
    assert sys.getrefcount(thing) == before
