"""`et.work`: names and memory declared where the function is defined, or for one call."""

import inspect
from contextlib import closing

import numpy as np
import pytest

import eventide as et
from eventide.runtime import wrap_submitted
from tests.helpers import TIMEOUT, eventually, hook_calls


def submission(stream, *args, **kwargs):
    """Submit and return (name, reads, writes) as the hook passes them."""
    with hook_calls("work_submission") as calls:
        stream.submit(*args, **kwargs).result(TIMEOUT)
    ((_, _, name, reads, writes),) = calls
    return name, reads, writes


@pytest.fixture
def buffers():
    return [et.empty(size, device="cpu") for size in (8, 16, 24)]


@et.work(name="gemm", reads=("a", "b"), writes="out")
def multiply(a, b, out, scale=1):
    """Multiply."""
    return scale


def test_memory_is_declared_by_parameter_name(stream, buffers):
    a, b, out = buffers
    expected = ("gemm", ((a.ptr, 8), (b.ptr, 16)), ((out.ptr, 24),))
    assert submission(stream, multiply, a, b, out) == expected
    assert submission(stream, multiply, a, out=out, b=b, scale=2) == expected


def test_declared_work_runs_and_gives_its_value(stream, buffers):
    assert stream.submit(multiply, *buffers, scale=3).result(TIMEOUT) == 3


def test_declared_work_can_be_called_directly_and_keeps_its_metadata():
    assert isinstance(multiply, et.Work)
    assert multiply(1, 2, 3, scale=4) == 4
    assert (multiply.__name__, multiply.__doc__) == ("multiply", "Multiply.")
    assert list(inspect.signature(multiply).parameters) == ["a", "b", "out", "scale"]


def test_a_single_name_is_one_parameter_and_not_its_letters(stream, buffers):
    @et.work(reads="source")
    def use(source, s, o):
        return None

    assert submission(stream, use, buffers[0], 1, 2)[1:] == (((buffers[0].ptr, 8),), ())


def test_a_default_value_is_declared_memory_too(stream, buffers):
    @et.work(writes=("out",))
    def fill(out=buffers[2]):
        return None

    assert submission(stream, fill)[2] == ((buffers[2].ptr, 24),)


def test_memory_may_be_read_and_written(stream, buffers):
    @et.work(reads="x", writes="x")
    def increase(x):
        return None

    assert submission(stream, increase, buffers[0])[1:] == (((buffers[0].ptr, 8),), ((buffers[0].ptr, 8),))


def test_memory_is_declared_for_one_call_by_object(stream, buffers):
    x, y, _ = buffers
    work = et.work(lambda *_: "value", name="once", reads=[x], writes=[y])
    assert submission(stream, work, x, y) == ("once", ((x.ptr, 8),), ((y.ptr, 16),))
    assert stream.submit(work, x, y).result(TIMEOUT) == "value"


@pytest.mark.parametrize("make", [memoryview, lambda buffer: np.frombuffer(buffer, dtype=np.uint8)])
def test_slices_declare_their_own_range(stream, buffers, make):
    view = make(buffers[2])
    work = et.work(int, reads=[view[4:10]], writes=[view[12:]])
    assert submission(stream, work)[1:] == (((buffers[2].ptr + 4, 6),), ((buffers[2].ptr + 12, 12),))


def test_host_arrays_are_memory(stream):
    array = np.zeros(5, dtype=np.float64)

    @et.work(writes="out")
    def fill(out):
        out[:] = 1

    assert submission(stream, fill, array)[2] == ((array.ctypes.data, 40),)
    assert array.sum() == 5


def test_an_object_that_supports_only_dlpack_is_memory(stream, buffers):
    class Tensor:
        def __dlpack__(self, **kwargs):
            return buffers[0].__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return buffers[0].__dlpack_device__()

    assert submission(stream, et.work(int, reads=[Tensor()]))[1] == ((buffers[0].ptr, 8),)


def test_without_a_declaration_the_accesses_are_unknown_and_the_name_is_the_function_s(stream):
    def plain():
        return None

    @et.work
    def bare():
        return None

    name, reads, writes = submission(stream, plain)
    assert "plain" in name
    assert (reads, writes) == ((), ())
    name, reads, writes = submission(stream, bare)
    assert "bare" in name
    assert (reads, writes) == ((), ())


def test_what_is_declared_is_in_the_text_of_work():
    assert repr(et.work(sum, name="s")) == "<Work 's', accesses not declared>"
    assert repr(et.work(sum, name="s", reads=())) == "<Work 's' reads=() writes=()>"
    assert repr(et.work(lambda x: x, name="s", writes="x")) == "<Work 's' reads=() writes=('x',)>"


def test_any_callable_has_a_name(stream):
    class Callable:
        def __call__(self):
            return 5

    assert "Callable" in submission(stream, Callable())[0]
    assert "int" in submission(stream, int)[0]


def test_a_declared_method_is_bound_like_any_method(stream, buffers):
    class Model:
        @et.work(name="step", writes="out")
        def step(self, out):
            return self

    model = Model()
    assert model.step(buffers[0]) is model
    assert submission(stream, model.step, buffers[0]) == ("step", (), ((buffers[0].ptr, 8),))
    assert stream.submit(model.step, buffers[0]).result(TIMEOUT) is model


@pytest.mark.parametrize("keyword", ["reads", "writes"])
def test_a_parameter_that_does_not_exist_is_reported_where_the_function_is_defined(keyword):
    def scale(source, target):
        return None

    with pytest.raises(et.UsageValueError, match="tarrget") as caught:
        et.work(**{keyword: ("source", "tarrget")})(scale)
    assert "scale" in str(caught.value)
    assert "target" in str(caught.value).replace("tarrget", "")


@pytest.mark.parametrize("value", [5, object()], ids=["int", "object"])
def test_a_declared_parameter_that_is_not_memory_is_logged_and_the_work_runs(stream, value, caplog):
    @et.work(reads="x")
    def use(x):
        return x

    with hook_calls("work_submission") as submitted:
        assert stream.submit(use, value).result(TIMEOUT) is value
    assert submitted[0][3:] == ((), ())
    assert "work_submission" in caplog.text
    assert type(value).__name__ in caplog.text


def test_arguments_that_do_not_fit_the_function_fail_the_future_as_in_an_executor(stream):
    assert isinstance(stream.submit(lambda: None, 1).exception(TIMEOUT), TypeError)


@pytest.mark.parametrize("thing", [5, "fn", b"fn"], ids=repr)
def test_only_callables_are_work(stream, thing):
    with pytest.raises(TypeError):
        et.work(thing)
    with pytest.raises(TypeError):
        stream.submit(thing)


def test_work_keeps_the_memory_it_declares_until_it_ran(stream, gate):
    buffer = et.empty(8, device="cpu")
    pointer = buffer.ptr
    gate.hold(stream)
    with hook_calls("memory_deallocation") as freed:
        future = stream.submit(et.work(int, writes=[buffer]))
        del buffer
        assert (pointer,) not in freed
        gate.open()
        future.result(TIMEOUT)
        del future
        eventually(lambda: (pointer,) in freed, "the deallocation")


def test_submitted_functions_are_wrapped_while_a_registration_lasts() -> None:
    native = et.Stream.submit
    seen: list[str] = []

    def noting(mark: str):
        def wrap(fn):
            def call(*args):
                seen.append(mark)
                return fn(*args)

            return call

        return wrap

    with closing(et.Stream("cpu")) as stream:
        first, second = wrap_submitted(noting("first")), wrap_submitted(noting("second"))
        assert stream.submit(abs, -1).result(TIMEOUT) == 1
        first.close()
        first.close()
        assert stream.submit(abs, -2).result(TIMEOUT) == 2
        second.close()
        assert stream.submit(abs, -3).result(TIMEOUT) == 3
    assert seen == ["second", "first", "second"]
    assert et.Stream.submit is native
