"""Traces of other tools and of other years: each small document is laid out as its tool lays it out."""

import pytest

from tests.kineto_files import read, rows


@pytest.fixture
def load(tmp_path):
    return lambda document: read(tmp_path / "trace.json", document)


def _tracks(trace):
    """(kind, device, stream) of the tracks that something is on."""
    found = rows(trace, "tracks", "kind", "device", "stream")
    return [found[track] for track in sorted(set(rows(trace, "spans", "track")))]


def test_kineto_of_torch_1_8_with_capitalized_categories_and_named_streams(load):
    gpu = {"pid": 0, "tid": "stream 7"}
    trace = load(
        {
            "traceEvents": [
                {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 100, "tid": "100", "ts": 10, "dur": 30},
                {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": "3045", "ts": 12, "dur": 5,
                 "args": {"cbid": 211, "correlation": 77}},
                {"ph": "X", "cat": "Kernel", "name": "volta_sgemm", **gpu, "ts": 20, "dur": 9,
                 "args": {"device": 0, "stream": 7, "correlation": 77}},
                {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", **gpu, "ts": 30, "dur": 2},
                {"ph": "X", "cat": "Memset", "name": "Memset (Device)", **gpu, "ts": 33, "dur": 2},
                {"ph": "s", "id": 77, "pid": 100, "tid": "3045", "ts": 12, "cat": "async", "name": "launch"},
                {"ph": "f", "id": 77, **gpu, "ts": 20, "cat": "async", "name": "launch", "bp": "e"},
                {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
            ]
        }
    )  # fmt: skip
    assert rows(trace, "spans", "category") == ["op", "runtime", "kernel", "copy", "copy"]
    assert _tracks(trace) == [("thread", None, None), ("thread", None, None), ("stream", "cuda:0", 7)]
    assert rows(trace, "edges", "kind", "from_span", "to_span") == [("launch", 1, 2)]


def test_the_autograd_profiler_before_kineto(load):
    trace = load(
        [
            {"name": "mm", "ph": "X", "ts": 1.0, "dur": 5.0, "tid": 1, "pid": "CPU functions", "args": {}},
            {"name": "volta_sgemm", "ph": "X", "ts": 3.0, "dur": 2.0, "tid": 0, "pid": "CUDA functions", "args": {}},
            {"name": "mm", "ph": "s", "ts": 1.0, "tid": 1, "pid": "CPU functions", "id": 1, "cat": "cpu_to_cuda"},
            {"name": "mm", "ph": "f", "ts": 3.0, "tid": 0, "pid": "CUDA functions", "id": 1, "cat": "cpu_to_cuda"},
        ]
    )
    assert rows(trace, "spans", "category", "submit") == [("span", None), ("kernel", 1000)]
    assert _tracks(trace) == [("thread", None, None), ("stream", "cuda:0", 0)]
    assert rows(trace, "edges", "kind") == ["launch"]


def test_devices_and_streams_given_as_texts(load):
    trace = load([{"ph": "X", "name": "k", "pid": "GPU 3", "tid": "stream 7", "ts": "1.5", "dur": "2"}])
    assert _tracks(trace) == [("stream", "gpu:3", 7)]
    assert rows(trace, "spans", "category", "start", "duration") == [("kernel", 1500, 2000)]


def _name(pid, name, tid=None):
    what = "process_name" if tid is None else "thread_name"
    return {"ph": "M", "pid": pid, "tid": tid or 0, "name": what, "args": {"name": name}}


def test_jax_on_a_gpu_in_perfetto_trace_json(load):
    trace = load(
        {
            "displayTimeUnit": "ns",
            "traceEvents": [
                _name(1, "/device:GPU:0"), _name(1, "Stream #13(Compute)", 13), _name(1, "XLA Modules", 14),
                _name(701, "/host:CPU"), _name(701, "python", 5),
                {"ph": "X", "pid": 1, "tid": 13, "ts": 5.123456, "dur": 2, "name": "fusion.3"},
                {"ph": "X", "pid": 1, "tid": 13, "ts": 8, "dur": 2, "name": "MemcpyD2H"},
                {"ph": "X", "pid": 1, "tid": 14, "ts": 5, "dur": 5, "name": "jit_f(123)"},
                {"ph": "X", "pid": 701, "tid": 5, "ts": 1, "dur": 20, "name": "PjitFunction(f)"},
                {"ph": "X", "pid": 701, "tid": 5, "ts": 2, "dur": 3, "name": "backend_compile"},
                {},
            ],
        }
    )  # fmt: skip
    assert rows(trace, "spans", "category") == ["kernel", "copy", "annotation", "span", "compile"]
    assert _tracks(trace) == [("stream", "gpu:0", 13), ("other", "gpu:0", None), ("thread", None, None)]
    assert rows(trace, "spans", "start")[0] == 5123
    assert trace.metadata["warnings"] == []


def test_jax_on_a_tpu_counts_the_line_of_operations_alone(load):
    trace = load(
        [
            _name(1, "/device:TPU:3"), _name(1, "XLA Ops", 3), _name(1, "Steps", 1),
            {"ph": "X", "pid": 1, "tid": 3, "ts": 5, "dur": 2, "name": "all-reduce.3"},
            {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "name": "3"},
        ]
    )  # fmt: skip
    assert rows(trace, "spans", "category") == ["communication", "annotation"]
    assert _tracks(trace) == [("stream", "tpu:3", 3), ("other", "tpu:3", None)]


def test_tensorflow_has_a_process_for_each_stream(load):
    trace = load(
        {
            "traceEvents": [
                _name(0, "/job:localhost/replica:0/task:0/device:CPU:0 Compute"),
                _name(1, "/device:GPU:0/stream:all Compute"),
                {
                    "name": "MatMul",
                    "cat": "Op",
                    "pid": 0,
                    "tid": 0,
                    "ph": "X",
                    "ts": 1,
                    "dur": 3,
                    "args": {"op": "MatMul"},
                },
                {"name": "MatMul", "cat": "Op", "pid": 1, "tid": 0, "ph": "X", "ts": 2, "dur": 3},
            ]
        }
    )
    assert rows(trace, "spans", "category") == ["op", "kernel"]
    assert _tracks(trace) == [("thread", None, None), ("stream", "gpu:0", 0)]


def test_converters_of_nsight_files(load):
    trace = load(
        [
            {"name": "k1", "ph": "X", "cat": "cuda", "ts": 1.0, "dur": 2.0, "tid": "Stream 7", "pid": "Device 0"},
            {"name": "cuInit", "ph": "X", "cat": "cuda_api", "ts": 0.5, "dur": 0.3, "tid": "CUDA API 1", "pid": "Host"},
            {"name": "range", "ph": "X", "cat": "nvtx", "ts": 0.5, "dur": 3, "tid": "NVTX 1", "pid": "Host"},
        ]
    )  # fmt: skip
    assert rows(trace, "spans", "category") == ["kernel", "runtime", "annotation"]
    assert _tracks(trace) == [("stream", "cuda:0", 7), ("thread", None, None), ("thread", None, None)]


def test_chrome_itself(load):
    request = {"cat": "net", "id2": {"local": "0x1"}, "name": "REQ", "pid": 1, "tid": 2}
    trace = load(
        {
            "metadata": {"os-name": "Linux"},
            "traceEvents": [
                {"ph": "X", "cat": "ipc", "name": "RunTask", "pid": 1, "tid": 2, "ts": 100, "dur": 20, "tdur": 15},
                {"ph": "b", "ts": 101, **request}, {"ph": "e", "ts": 105, **request},
                {"ph": "I", "s": "t", "name": "mark", "pid": 1, "tid": 2, "ts": 3},
                {"ph": "P", "name": "sample", "ts": 3},
            ],
        }
    )  # fmt: skip
    assert rows(trace, "spans", "name", "category", "duration", "cpu") == [
        ("RunTask", "other", 20_000, 15_000), ("REQ", "other", 4000, None),
    ]  # fmt: skip
    assert trace.metadata["account"]["ignored"] == {"sample": 1}
    assert trace.metadata["clock"]["name"] == "unknown"
    assert trace.metadata["source"] == "chrome"


@pytest.mark.parametrize(
    ("calls", "call", "device"),
    [
        ("cuda_runtime", "hipLaunchKernel", "hip:2"),
        ("cuda_runtime", "cudaLaunchKernel", "cuda:2"),
        ("cuda_driver", "cuLaunchKernelEx", "cuda:2"),
        ("xpu_runtime", "urEnqueueKernelLaunch", "xpu:2"),
        ("mtia_runtime", "runFunction", "mtia:2"),
        ("privateuse1_runtime", "myLaunch", "gpu:2"),
    ],
)
def test_the_device_is_named_after_its_runtime(load, calls, call, device):
    trace = load(
        [
            {"ph": "X", "cat": calls, "name": call, "pid": 9, "tid": 9, "ts": 1, "dur": 1, "args": {"correlation": 4}},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": 5, "ts": 3, "dur": 1,
             "args": {"correlation": 4, "device": 2, "stream": 5}},
        ]
    )  # fmt: skip
    assert _tracks(trace)[1] == ("stream", device, 5)
    assert rows(trace, "spans", "category") == ["runtime", "kernel"]
    assert rows(trace, "edges", "kind") == ["launch"]


def test_call_stacks_of_older_kineto_become_stacks(load):
    op = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "dur": 1}
    text = "model.py(12): forward;train.py(3): main;<built-in>"
    trace = load(
        [
            {**op, "name": "a", "ts": 1, "args": {"Call stack": text}},
            {**op, "name": "b", "ts": 3, "args": {"Call stack": ""}},
            {**op, "name": "c", "ts": 5, "args": {"Call stack": text}},
        ]
    )
    assert rows(trace, "spans", "stack") == [0, None, 0]
    assert rows(trace, "stacks", "frames") == [
        [
            {"file": "model.py", "line": 12, "function": "forward"},
            {"file": "train.py", "line": 3, "function": "main"},
            {"file": None, "line": None, "function": "<built-in>"},
        ]
    ]


def test_modules_python_functions_and_compiles_have_categories_of_their_own(load):
    base = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    names = [
        ("python_function", "nn.Module: Linear_0", "module"),
        ("python_function", "train.py(3): main", "sample"),
        ("cpu_op", "_compile.compile_inner (dynamo_timed)", "compile"),
        ("cpu_op", "Torch-Compiled Region: 0/0", "op"),
        ("user_annotation", "Optimizer.step#SGD.step", "annotation"),
        ("FEE", "main (a.py:1)", "sample"),
        ("cuda_runtime", "cudaStreamSynchronize", "sync"),
        ("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication"),
        ("kernel", "void (anonymous namespace)::multimem_all_reduce_kernel<bf16, 8>(bf16*, int)", "communication"),
        ("kernel", "triton_one_shot_all_reduce_kernel", "communication"),
        ("kernel", "triton_red_fused__to_copy_all_gather_into_tensor_1", "kernel"),
        ("kernel", "void deep_ep::internode_ll::dispatch<true, 7168>(void*)", "communication"),
        ("kernel", "hcom_broadcast__1", "communication"),
        ("kernel", "kuserbuffers_pushsend", "communication"),
        ("kernel", "void vllm::cross_device_reduce_1stage<half, 8>(vllm::RankData*)", "communication"),
        ("kernel", "void flashinfer::trtllm_allreduce_fusion::oneshot_lamport<1>(Params)", "communication"),
        ("kernel", "void reduce_kernel<512, 1>(AllReduceParams)", "kernel"),
        ("kernel", "triton_poi_fused_all_reduce_0", "kernel"),
        ("Operator", "ProfilerStep#5", "step"),
        ("gpu_user_annotation", "forward", "annotation"),
    ]
    trace = load([{**base, "tid": n, "cat": cat, "name": name} for n, (cat, name, _) in enumerate(names)])
    assert rows(trace, "spans", "category") == [category for _, _, category in names]
