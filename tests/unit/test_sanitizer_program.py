"""check_program reads strictly: an error in a program names its step; and the texts of findings."""

import pytest

from eventide.errors import UsageError
from eventide.sanitizer import check_program, check_program_findings
from eventide.sanitizer.output._words import headline
from eventide.sanitizer.program import _walk

X = {"buffer": "x", "from": 0, "to": 64}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ([], "a program is a dict with a list of steps under 'ops', not list"),
        ({}, "a program has a list of steps under 'ops'"),
        ({"ops": "work"}, "a program has a list of steps under 'ops'"),
        ({"ops": [7]}, "step 1 must be a dict"),
        ({"ops": [{"op": "launch"}]}, "step 1 has op 'launch'; it must be one of work, host"),
        ({"ops": [{"op": ["work"]}]}, r"step 1 has op \['work'\]; it must be one of work, host"),
        ({"ops": [{"op": "record", "stream": 1}]}, r"step 1 \(record\) needs 'event'"),
        ({"ops": [{"op": "work", "stream": 1, "writse": []}]}, "has no field 'writse'; it has name, reads, stream"),
        ({"ops": [{"op": "work", "stream": 1.5}]}, "'stream' is a number or a name, not 1.5"),
        ({"ops": [{"op": "work", "stream": 1, "thread": "a"}]}, "'thread' is a whole number, not 'a'"),
        (
            {"ops": [{"op": "work", "stream": 1, "reads": [{"buffer": "x"}]}]},
            "an access is a dict with 'buffer', 'from'",
        ),
        ({"ops": [{"op": "work", "stream": 1, "reads": "x"}]}, "'reads' is a list of"),
        ({"ops": [{"op": "host", "reads": [X | {"from": 65}]}]}, "bytes 65 to 64 of 'x': 0 <= from <= to < 1099"),
        ({"ops": [{"op": "exit"}, {"op": "exit"}]}, "comes after the exit in step 1"),
        ({"ops": [{"op": "allocate", "buffer": "x"}] * 2}, r"step 2 \(allocate\) allocates 'x', which was not freed"),
        ({"ops": [{"op": "host", "reads": [X]}, {"op": "allocate", "buffer": "x"}]}, "which step 1 has used already"),
        ({"ops": [{"op": "allocate", "buffer": "y", "reuses": "x"}]}, "reuses the address of 'x', which was not freed"),
        ({"ops": [], "default_stream_blocks": 3}, "'default_stream_blocks' lists streams, it is 3"),
        ({"ops": [], "default_stream_blocks": [[1]]}, r"'default_stream_blocks' is a number or a name, not \[1\]"),
        ({"ops": [{"op": "allocate", "buffer": "x", "bytes": -1}]}, "'bytes' is -1; it must be at least 0"),
        ({"ops": [{"op": "allocate", "buffer": "x", "bytes": 1 << 70}]}, "'bytes' is 1180591620717411303424; it must"),
    ],
)
def test_a_bad_program_is_an_error_that_names_the_step(program, message):
    with pytest.raises(UsageError, match=message):
        check_program(program)


def test_an_address_has_one_owner_at_a_time():
    ops = [
        {"op": "allocate", "buffer": "x"},
        {"op": "free", "buffer": "x"},
        {"op": "allocate", "buffer": "y", "reuses": "x"},
        {"op": "allocate", "buffer": "z", "reuses": "x"},
    ]
    with pytest.raises(UsageError, match="step 4"):
        check_program({"ops": ops})


def test_a_finding_names_both_steps_in_the_words_of_the_program():
    ops = [
        {"op": "work", "stream": "copy", "writes": [X], "name": "upload"},
        {"op": "work", "stream": "compute", "reads": [X], "_note": "forgot to wait"},
    ]
    (race,) = check_program_findings({"ops": ops})
    assert race.first is not None
    assert (race.kind, race.certainty, race.buffer_name) == ("race", "certain", "x")
    assert (race.first.work, race.first.name, race.first.stream, race.first.write) == (1, "upload", "copy", True)
    assert (race.second.work, race.second.name, race.second.stream, race.second.write) == (
        2,
        "step 2",
        "compute",
        False,
    )
    assert (race.second.nbytes, race.fix.action, race.fix.stream) == (64, "wait", "copy")
    assert len(race.fingerprint) == 16 and race.fingerprint == check_program_findings({"ops": ops})[0].fingerprint


BEFORE_AND_AFTER = [
    {"op": "work", "stream": 1, "writes": [X]},
    {"op": "record", "event": "e", "stream": 1},
    {"op": "wait", "event": "e", "stream": 2},
    {"op": "work", "stream": 2, "writes": [X]},
]
DELETED, CREATED = ({"op": op, "event": "e", "thread": 1} for op in ("delete_event", "create_event"))
HELD_UP = [
    {"op": "wait_value", "semaphore": "s", "value": 1, "stream": 2},
    {"op": "signal_value", "semaphore": "s", "value": 1, "stream": 3},
]


@pytest.mark.parametrize("between", [[DELETED, CREATED], [DELETED], [CREATED]], ids=["both", "deleted", "created"])
@pytest.mark.parametrize("held_up", [[], HELD_UP], ids=["", "with queues that can be held up"])
def test_an_event_that_takes_the_name_of_another_has_none_of_its_records(between, held_up):
    ops = [*BEFORE_AND_AFTER[:2], *between, *BEFORE_AND_AFTER[2:], *held_up]
    assert {f.kind for f in check_program_findings({"ops": ops})} >= {"wait-on-unrecorded", "race"}
    again = [*BEFORE_AND_AFTER[:2], *between, *BEFORE_AND_AFTER[1:], *held_up]
    assert "race" not in {f.kind for f in check_program_findings({"ops": again})}


def test_a_wait_keeps_its_record_when_the_event_is_deleted_after_it():
    ops = [HELD_UP[0], *BEFORE_AND_AFTER[:3], DELETED, CREATED, BEFORE_AND_AFTER[3], HELD_UP[1]]
    assert check_program({"ops": ops}) == "ok"  # it runs after the deletion: the signal comes last


def test_an_event_that_is_created_twice_and_deleted_once_leaks():
    ops = [CREATED, CREATED, DELETED, {"op": "exit"}]
    (leak,) = check_program_findings({"ops": ops})
    assert (leak.kind, leak.event, leak.second.work) == ("leak", "e", 1)


def test_the_advice_names_no_record_of_a_deleted_event():
    ops = [*BEFORE_AND_AFTER[:2], DELETED, BEFORE_AND_AFTER[3]]
    (race,) = check_program_findings({"ops": ops})
    assert (race.kind, race.fix.action, race.fix.recorded) == ("race", "wait", False)


def test_a_deadlock_names_each_stream_and_what_it_waits_for():
    ops = [
        {"op": "wait_value", "semaphore": "B", "value": 1, "stream": 1},
        {"op": "signal_value", "semaphore": "A", "value": 1, "stream": 1},
        {"op": "wait_value", "semaphore": "A", "value": 1, "stream": 2},
        {"op": "signal_value", "semaphore": "B", "value": 1, "stream": 2},
    ]
    (circle,) = check_program_findings({"ops": ops})
    assert circle.text == (
        "stream 1 (step 1, wait_value) waits for semaphore B to reach 1; "
        "stream 2 (step 3, wait_value) waits for semaphore A to reach 1; and so on: back to stream 1"
    )
    (alone,) = check_program_findings({"ops": ops[:1]})
    assert alone.text == "stream 1 (step 1, wait_value) waits for semaphore B to reach 1, which never happens"
    ranks = [
        {"op": "collective", "name": name, "rank_stream": rank}
        for name, rank in (("a", 1), ("b", 1), ("b", 2), ("a", 2))
    ]
    (mismatch,) = check_program_findings({"ops": ranks})
    assert "stream 1 (step 1, collective) waits for collective 'a'" in mismatch.text
    assert "stream 2 (step 3, collective) waits for collective 'b'" in mismatch.text


def test_prediction_ignores_hand_over_and_says_possible():
    ops = [
        {"op": "host", "writes": [X]},
        {"op": "host_signal", "token": "k"},
        {"op": "host_wait", "token": "k", "thread": 1},
        {"op": "host", "reads": [X], "thread": 1},
    ]
    assert check_program({"ops": ops}) == "ok"
    (race,) = check_program_findings({"ops": ops}, predict=True)
    assert (race.kind, race.certainty, race.fix.action) == ("race", "possible", "hand-over")
    (race,) = check_program_findings({"ops": [ops[0], ops[3]]}, predict=True)
    assert race.certainty == "certain"


def _prefetch(rounds, missing=None, extra=None):
    """Two buffers go round: stream 1 fills one while stream 2 reads the other."""
    ops = []
    for n in range(rounds):
        buffer, ready, empty = f"b{n % 2}", f"ready{n % 2}", f"empty{n % 2}"
        access = [{"buffer": buffer, "from": 0, "to": 64}]
        if n >= 2 and n != missing:
            ops.append({"op": "wait", "event": empty, "stream": 1})
        ops.append({"op": "work", "stream": 1, "writes": access})
        ops.append({"op": "record", "event": ready, "stream": 1})
        ops += [{"op": "wait", "event": ready, "stream": 2}] * (2 if n == extra else 1)
        ops.append({"op": "work", "stream": 2, "reads": access})
        ops.append({"op": "record", "event": empty, "stream": 2})
    return {"ops": ops}


@pytest.mark.parametrize(
    ("given", "verdict"), [({}, "ok"), ({"missing": 93}, "race"), ({"extra": 31}, "redundant-wait")]
)
def test_one_wait_among_hundreds_of_steps_decides(given, verdict):
    assert check_program(_prefetch(100, **given)) == verdict


@pytest.mark.parametrize(("missing", "verdict"), [(None, "ok"), (63, "race")])
def test_a_chain_over_a_hundred_streams_orders_its_ends(missing, verdict):
    ops = [{"op": "work", "stream": 1, "writes": [X]}]
    for stream in range(1, 100):
        ops.append({"op": "record", "event": stream, "stream": stream})
        if stream != missing:
            ops.append({"op": "wait", "event": stream, "stream": stream + 1})
        ops.append({"op": "work", "stream": stream + 1, "reads": [X], "writes": [X]})
    assert check_program({"ops": ops}) == verdict


def test_a_value_signalled_by_many_streams_orders_after_all_of_them():
    before = [{"op": "work", "stream": 0, "writes": [X]}, {"op": "record", "event": "e", "stream": 0}]
    for stream in range(1, 200):
        before.append({"op": "wait", "event": "e", "stream": stream})
        before.append({"op": "work", "stream": stream, "writes": [X | {"buffer": f"of {stream}"}]})
        before.append({"op": "signal_value", "semaphore": "A", "value": 1, "stream": stream})
    after = [{"op": "wait_value", "semaphore": "A", "value": 1, "stream": s} for s in range(200, 300)]
    assert check_program({"ops": [*before, *after, {"op": "work", "stream": 250, "writes": [X]}]}) == "ok"
    mine = [X | {"buffer": "of 7"}]
    assert check_program({"ops": [*before, *after, {"op": "work", "stream": 250, "reads": mine}]}) == "race"


ALLOCATE, FREE = {"op": "allocate", "buffer": "x"}, {"op": "free", "buffer": "x"}
WRITE = {"op": "work", "stream": 1, "writes": [X]}


@pytest.mark.parametrize(
    ("ops", "words"),
    [
        ([ALLOCATE, FREE, WRITE], "'step 3' on stream 1 writes 64 bytes after its memory was freed"),
        ([ALLOCATE, FREE, FREE], "memory is freed twice"),
        (
            [ALLOCATE, {"op": "host", "writes": [X]}, FREE | {"thread": 1}],
            "memory is freed while the host (thread 0) writes 64 bytes; nothing orders the two",
        ),
        (
            [
                ALLOCATE,
                WRITE,
                FREE | {"stream": 1},
                {"op": "allocate", "buffer": "y", "reuses": "x"},
                {"op": "host", "writes": [X | {"buffer": "y"}]},
            ],
            (
                "the host (thread 0) writes 64 bytes of memory that its previous owner still uses: "
                "'step 2' on stream 1 writes 64 bytes"
            ),
        ),
        (
            [
                {"op": "wait_value", "semaphore": "A", "value": 1, "stream": 1},
                {"op": "synchronize_stream", "stream": 1},
                {"op": "signal_value", "semaphore": "A", "value": 1, "stream": 2},
            ],
            (
                "thread 0 (step 2, synchronize_stream) waits for step 1 (wait_value); "
                "stream 1 (step 1, wait_value) waits for semaphore A to reach 1; "
                "stream 2 (step 3, signal_value) waits for thread 0 to submit it; and so on: back to thread 0"
            ),
        ),
    ],
)
def test_a_headline_lists_both_accesses_in_the_order_of_submission(ops, words):
    (finding,) = check_program_findings({"ops": ops})
    assert headline(finding, {}) == words


def test_the_findings_of_many_waits_are_named_from_one_table(monkeypatch):
    looked_up = []
    walker = _walk._Walker  # the work is counted, not timed
    stream = walker._stream
    monkeypatch.setattr(walker, "_stream", lambda self, label: looked_up.append(label) or stream(self, label))
    ops = [
        step
        for n in range(200)
        for step in (
            {"op": "work", "stream": "a", "writes": [X | {"buffer": f"b{n}"}]},
            {"op": "record", "event": n, "stream": "a"},
            {"op": "wait", "event": n, "stream": "b"},
        )
    ]
    found = check_program_findings({"ops": [*ops, {"op": "work", "stream": "b"}]})
    assert [(f.kind, f.event, f.second.stream) for f in found] == [("redundant-wait", n, "b") for n in range(199)]
    assert len(looked_up) <= len(ops) + 3  # once a step and once a name, however many findings
