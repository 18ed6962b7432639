"""`submit_native`: C functions on a stream, without the GIL. The functions are POSIX semaphores of the C library."""

import ctypes
import shutil
import subprocess
import time
import weakref
from pathlib import Path

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, assert_is_freed, eventually, hook_calls

LIBC = ctypes.CDLL(None)
WITH_GIL = ctypes.PyDLL(None)  # calls keep the GIL

Semaphore = ctypes.c_long * 8  # sem_t is 32 bytes on 64-bit Linux; rounded up


class Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def value_of(semaphore):
    value = ctypes.c_int()
    assert LIBC.sem_getvalue(ctypes.byref(semaphore), ctypes.byref(value)) == 0
    return value.value


@pytest.fixture
def semaphore():
    semaphore = Semaphore()
    assert LIBC.sem_init(ctypes.byref(semaphore), 0, 0) == 0
    return semaphore


def capsule(function, context=0, name=b"eventide.work"):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    made = new(ctypes.cast(function, ctypes.c_void_p), name, None)
    set_context = ctypes.pythonapi.PyCapsule_SetContext
    set_context.argtypes = (ctypes.py_object, ctypes.c_void_p)
    assert set_context(made, context) == 0
    return made


ARGUMENTS = {
    "array": lambda semaphore: semaphore,
    "pointer": ctypes.pointer,
    "address": ctypes.addressof,
    "void pointer": lambda semaphore: ctypes.c_void_p(ctypes.addressof(semaphore)),
}


def test_a_function_pointer_and_its_address_are_alive_until_the_work_ran(stream, gate, semaphore):
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.cast(LIBC.sem_post, ctypes.c_void_p).value)
    reference = weakref.ref(function)
    gate.hold(stream)
    stream.submit_native(function, ctypes.addressof(semaphore))
    del function
    assert reference() is not None
    gate.open()
    stream.synchronize(TIMEOUT)
    assert value_of(semaphore) == 1
    assert_is_freed(reference, "the function of native work that ran")


def test_native_work_is_named_by_its_function_for_the_hooks(stream, semaphore):
    with hook_calls("work_submission") as calls:
        stream.submit_native(LIBC.sem_post, ctypes.addressof(semaphore)).result(TIMEOUT)
        stream.submit_native(LIBC.sem_post, ctypes.addressof(semaphore), name="post").result(TIMEOUT)
    assert [name for call in calls for name in call if isinstance(name, str) and "po" in name] == ["sem_post", "post"]


def worker_of(stream):
    """The directory of its thread in /proc."""
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == f"et-{stream.stream_id}":
            return task
    raise AssertionError(f"{stream!r} has no thread")


def switches_of(task):
    """How often the thread was switched to, and its state: S for asleep."""
    lines = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
    return int(lines["voluntary_ctxt_switches"]), lines["State"].split()[0]


def test_an_idle_worker_sleeps_and_is_not_woken(stream, other):
    for _ in range(100):  # work in quick succession, for which a worker waits awake
        stream.submit_native(LIBC.free)
    stream.synchronize(TIMEOUT)
    task = worker_of(stream)
    eventually(lambda: switches_of(task)[1] == "S", "the idle worker sleeps")
    before = switches_of(task)
    for _ in range(2000):
        other.submit_native(LIBC.free)
    other.synchronize(TIMEOUT)
    assert switches_of(task) == before


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_a_c_function_runs_with_the_argument_given(stream, semaphore, kind):
    future = stream.submit_native(LIBC.sem_post, ARGUMENTS[kind](semaphore), keep=semaphore)
    assert isinstance(future, et.Future)
    assert future.result(TIMEOUT) is None
    assert value_of(semaphore) == 1


def test_a_capsule_runs_with_its_context(stream, semaphore):
    stream.submit_native(capsule(LIBC.sem_post, ctypes.addressof(semaphore))).result(TIMEOUT)
    assert value_of(semaphore) == 1


def test_an_argument_comes_before_the_context_of_a_capsule(stream, semaphore):
    other = Semaphore()
    assert LIBC.sem_init(ctypes.byref(other), 0, 0) == 0
    work = capsule(LIBC.sem_post, ctypes.addressof(semaphore))
    stream.submit_native(work, other).result(TIMEOUT)
    assert (value_of(semaphore), value_of(other)) == (0, 1)


def test_no_argument_is_a_null_pointer(stream):
    seen: list[object] = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    stream.submit_native(function).result(TIMEOUT)
    stream.submit_native(function, None).result(TIMEOUT)
    assert seen == [None, None]


def test_native_work_runs_while_another_thread_keeps_the_gil(stream, semaphore):
    limit = Timespec(int(time.time() + TIMEOUT), 0)
    stream.submit_native(LIBC.sem_post, semaphore)
    # Waits with the GIL held: only a work item that needs no GIL can end it.
    assert WITH_GIL.sem_timedwait(ctypes.byref(semaphore), ctypes.byref(limit)) == 0
    stream.synchronize(timeout=TIMEOUT)


def test_native_work_that_blocks_holds_neither_the_gil_nor_another_stream(stream, other, semaphore):
    blocked = stream.submit_native(LIBC.sem_wait, semaphore)
    behind = stream.submit(int, "2")
    assert other.submit(int, "1").result(TIMEOUT) == 1
    assert not blocked.done()
    assert LIBC.sem_post(ctypes.byref(semaphore)) == 0
    assert blocked.result(TIMEOUT) is None
    assert behind.result(TIMEOUT) == 2


def test_native_and_python_work_keep_the_order_of_the_stream(stream, semaphore):
    seen = []
    for _ in range(20):
        stream.submit_native(LIBC.sem_post, semaphore)
        stream.submit(lambda: seen.append(value_of(semaphore)))
    stream.synchronize(timeout=TIMEOUT)
    assert seen == list(range(1, 21))


def test_events_and_waits_order_native_work(stream, other, semaphore, gate):
    gate.hold(stream)
    other.wait_event(stream.record_event())
    future = other.submit_native(LIBC.sem_post, semaphore)
    assert value_of(semaphore) == 0
    gate.open()
    future.result(TIMEOUT)
    assert value_of(semaphore) == 1


def test_kept_objects_live_until_the_work_has_run(stream, gate, semaphore):
    class Owner:
        pass

    owner = Owner()
    reference = weakref.ref(owner)
    gate.hold(stream)
    future = stream.submit_native(LIBC.sem_post, ctypes.addressof(semaphore), keep=owner)
    del owner
    assert reference() is not None
    gate.open()
    future.result(TIMEOUT)
    del future
    assert_is_freed(reference, "what native work kept")


def test_the_argument_and_the_function_live_until_the_work_ran(stream, gate):
    gate.hold(stream)
    seen: list[int] = []

    def submit():
        number = ctypes.c_int(42)
        function = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int))(lambda pointer: seen.append(pointer[0]))
        return stream.submit_native(function, number)

    future = submit()
    gate.open()
    future.result(TIMEOUT)
    assert seen == [42]


def test_native_work_is_reported_by_its_name(stream, semaphore):
    with hook_calls("work_submission") as submitted:
        future = stream.submit_native(LIBC.sem_post, semaphore, name="post")
    assert submitted == [(stream.stream_id, future.work_id, "post", (), ())]
    future.result(TIMEOUT)


def test_native_work_can_be_cancelled_and_is_skipped_behind_a_failure(stream, semaphore, gate):
    gate.hold(stream, Boom())
    cancelled = stream.submit_native(LIBC.sem_post, semaphore)
    skipped = stream.submit_native(LIBC.sem_post, semaphore)
    assert cancelled.cancel() is True
    gate.open()
    assert isinstance(skipped.exception(TIMEOUT), et.StreamError)
    assert value_of(semaphore) == 0


@pytest.mark.parametrize(
    "function", [5, None, "sem_post", int, lambda argument: None], ids=lambda value: type(value).__name__
)
def test_an_object_that_is_not_a_c_function_is_a_type_error(stream, function):
    with pytest.raises(TypeError):
        stream.submit_native(function)


def test_a_capsule_of_another_name_is_refused_by_name(stream, semaphore):
    with pytest.raises(et.UsageError, match=r"eventide\.work"):
        stream.submit_native(capsule(LIBC.sem_post, ctypes.addressof(semaphore), b"something.else"))
    assert value_of(semaphore) == 0


@pytest.mark.parametrize("argument", ["text", 1.5, [], object()], ids=["str", "float", "list", "object"])
def test_an_argument_that_is_not_an_address_is_a_type_error(stream, argument):
    with pytest.raises(TypeError):
        stream.submit_native(LIBC.sem_post, argument)


def test_a_c_plus_plus_exception_fails_the_future_with_a_device_error(stream, tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    source, library = tmp_path / "throws.cpp", tmp_path / "throws.so"
    source.write_text('#include <stdexcept>\nextern "C" void fail(void*) { throw std::runtime_error("from C++"); }\n')
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True, timeout=100)
    error = stream.submit_native(ctypes.CDLL(str(library)).fail).exception(TIMEOUT)
    assert isinstance(error, et.DeviceError)
    assert "from C++" in str(error)
    with pytest.raises(et.DeviceError):
        stream.synchronize(timeout=TIMEOUT)
    assert stream.submit(int, "7").result(TIMEOUT) == 7
