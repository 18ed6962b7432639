"""The cases of torch's tests of its CUDA sanitizer, as stream programs."""

from __future__ import annotations

from typing import Any

import pytest

from eventide.sanitizer import Finding, check_program_findings
from eventide.sanitizer.output._words import headline, memory
from tests.peers.ported import ported

FILE = "test_cuda_sanitizer.py"
Op = dict[str, Any]


def launch(stream: int, *, reads: tuple[int, ...] = (), writes: tuple[int, ...] = ()) -> Op:
    def whole(buffers: tuple[int, ...]) -> list[Op]:
        return [{"buffer": f"tensor {number}", "from": 0, "to": 64} for number in buffers]

    return {"op": "work", "stream": stream, "reads": whole(reads), "writes": whole(writes)}


def record(event: int, stream: int) -> Op:
    return {"op": "record", "event": event, "stream": stream}


def wait(event: int, stream: int) -> Op:
    return {"op": "wait", "event": event, "stream": stream}


def races(*ops: Op) -> list[Finding]:
    return [finding for finding in check_program_findings({"ops": list(ops)}) if finding.kind == "race"]


def text(finding: Finding) -> str:
    return "\n".join([headline(finding, {}), *memory(finding)])


def only_the_last_is_bad(*ops: Op) -> bool:
    return not races(*ops[:-1]) and bool(races(*ops))


@ported(FILE, "test_empty_kernel_launch", "test_simple_passing")
def test_work_without_accesses_and_two_readers_are_right():
    assert not races(launch(0))
    assert not races(launch(1, reads=(1,)), launch(2, reads=(1,)))


@ported(FILE, "test_simple_error")
def test_a_write_beside_a_read_is_a_race():
    assert only_the_last_is_bad(launch(1, reads=(1,)), launch(2, writes=(1,)))


@ported(FILE, "test_simple_sync")
def test_a_record_and_a_wait_order_two_streams():
    assert not races(launch(1, reads=(1,)), record(0, 1), wait(0, 2), launch(2, writes=(1,)))


@ported(FILE, "test_reads_check_last_write")
def test_every_read_is_compared_with_the_last_write():
    ordered = (launch(1, writes=(1,)), record(0, 1), wait(0, 2), launch(2, reads=(1,)))
    assert only_the_last_is_bad(*ordered, launch(3, reads=(1,)))


@ported(FILE, "test_branch_sync")
def test_two_readers_behind_one_writer_cannot_write_without_a_wait():
    branches = (record(0, 1), wait(0, 2), wait(0, 3), launch(2, reads=(1,)), launch(3, reads=(1,)))
    assert only_the_last_is_bad(launch(1, writes=(1,)), *branches, launch(2, writes=(1,)))


@ported(FILE, "test_chain_sync")
def test_a_chain_of_ten_waits_orders_its_ends():
    chain = [op for number in range(10) for op in (record(number, number), wait(number, number + 1))]
    assert not races(launch(0, reads=(1,)), *chain, launch(10, writes=(1,)))


@ported(FILE, "test_expired_record")
def test_what_follows_a_record_is_not_covered_by_it():
    read = launch(1, reads=(1,))
    assert only_the_last_is_bad(read, record(0, 1), read, wait(0, 2), launch(2, writes=(1,)))


@ported(FILE, "test_deleted_record")
@pytest.mark.parametrize("steps", [("delete_event", "create_event"), ("delete_event",), ("create_event",)])
def test_a_deleted_or_new_event_has_none_of_the_old_records(steps):
    lives = [{"op": step, "event": 0} for step in steps]
    assert only_the_last_is_bad(launch(1, reads=(1,)), record(0, 1), *lives, wait(0, 2), launch(2, writes=(1,)))


@ported(FILE, "test_all_reads_checked_failing", "test_all_reads_checked_passing")
@pytest.mark.parametrize(("readers", "waited"), [(10, 9), (9, 9)])
def test_a_writer_has_to_wait_for_every_reader(readers, waited):
    reads = [op for number in range(1, readers + 1) for op in (launch(number, reads=(1,)), record(number, number))]
    waits = [wait(number, 0) for number in range(1, waited + 1)]
    assert bool(races(*reads, *waits, launch(0, writes=(1,)))) == (readers > waited)


@ported(FILE, "test_multiple_errors")
def test_a_race_on_ten_tensors_names_all_ten():
    every = tuple(range(10))
    found = races(launch(0, writes=every), launch(1, writes=every))
    assert sum(len(finding.pieces) for finding in found) == 10
    assert len({piece.address for finding in found for piece in finding.pieces}) == 10


@ported(FILE, "test_correct_state_merging")
def test_a_wait_keeps_what_its_stream_was_ordered_after_before():
    write = [launch(1, writes=(1,)), launch(2, writes=(2,))]
    crossed = [record(1, 1), record(2, 2), *write, wait(1, 2), wait(2, 1), record(3, 2), wait(3, 1)]
    assert not races(*write, *crossed, launch(1, writes=(1, 2)))
    assert races(*write, *crossed[:-1], launch(1, writes=(1, 2)))


@ported(FILE, "test_record_override")
def test_a_second_record_replaces_the_first():
    ops = (launch(1, reads=(1,)), launch(2, reads=(2,)), record(1, 1), record(1, 2), wait(1, 3))
    assert only_the_last_is_bad(*ops, launch(3, writes=(1,)))
    assert not races(*ops, launch(3, writes=(2,)))


@ported(FILE, "test_multiple_wait")
def test_several_streams_wait_for_one_event():
    ops = (launch(1, writes=(1,)), record(1, 1), wait(1, 2), wait(1, 3))
    assert not races(*ops, launch(2, reads=(1,)), launch(3, reads=(1,)))


@ported(FILE, "test_device_synchronize")
def test_after_a_device_synchronization_one_stream_may_touch_what_nine_wrote():
    numbers = tuple(range(1, 10))
    writes = [launch(number, writes=(number,)) for number in numbers]
    assert not races(*writes, {"op": "synchronize_device"}, launch(0, writes=numbers))


@ported(FILE, "test_device_synchronization_expired")
def test_work_after_a_device_synchronization_is_not_covered_by_it():
    ops = (launch(1, writes=(1,)), {"op": "synchronize_device"}, launch(1, writes=(1,)))
    assert only_the_last_is_bad(*ops, launch(2, writes=(1,)))


@ported(FILE, "test_new_stream_is_synchronized")
def test_a_stream_that_is_used_first_after_a_synchronization_is_ordered_after_it():
    assert not races(launch(1, writes=(1,)), {"op": "synchronize_device"}, launch(2, writes=(1,)))


@ported(FILE, "test_stream_synchronize")
def test_a_stream_synchronization_orders_all_streams_after_that_one_only():
    ops = (launch(0, writes=(1,)), launch(1, writes=(2,)), {"op": "synchronize_stream", "stream": 0})
    readers = (launch(2, reads=(1,)), launch(3, reads=(1,)))
    assert only_the_last_is_bad(*ops, *readers, launch(4, reads=(2,)))


@ported(FILE, "test_event_synchronize")
def test_an_event_synchronization_covers_what_was_before_the_record():
    ops = (launch(1, writes=(1,)), record(1, 1), launch(1, writes=(2,)), {"op": "synchronize_event", "event": 1})
    assert only_the_last_is_bad(*ops, launch(2, writes=(1,)), launch(2, writes=(2,)))


@ported(FILE, "test_error_message")
def test_the_text_of_a_race_names_both_accesses_their_streams_and_the_memory():
    reading, writing = launch(1000, reads=(1,)), launch(1001, writes=(1,))
    (finding,) = races({**reading, "name": "schema a"}, {**writing, "name": "schema b"})
    shown = text(finding)
    assert finding.buffer_name == "tensor 1"
    for part in ("schema a", "schema b", "1000", "1001", "bytes 0 to 64", "reads", "writes"):
        assert part in shown


@ported(FILE, "test_ensure_exists", "test_ensure_does_not_exist")
def test_an_event_that_is_deleted_or_created_twice_is_accepted():
    steps = [{"op": op, "event": 0} for op in ("delete_event", "create_event", "create_event")]
    assert not races(*steps, launch(1, writes=(1,)), record(0, 1), wait(0, 2), launch(2, reads=(1,)))
