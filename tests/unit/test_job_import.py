"""The import of a job: whole ranks or none, resumable, the same whatever is killed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import eventide as et
from eventide.cli import main
from eventide.errors import TraceFileError, TraceFormatError, UsageValueError
from eventide.jobs import import_job, open_job
from tests.reference.jobs import Plan, write_job, write_rank


@pytest.fixture
def traces(tmp_path):
    write_job(tmp_path / "traces", Plan(ranks=4))
    return tmp_path / "traces"


def test_each_rank_is_a_trace_and_small_tables(traces, tmp_path):
    done = import_job(traces / "rank*.json", tmp_path / "job", processes=1)
    assert (done.ranks, done.repeated, done.left_out) == (4, 4, ())
    job = open_job(tmp_path / "job")
    assert [rank.rank for rank in job.ranks] == [0, 1, 2, 3]
    assert (job.world_size, job.missing) == (4, [])
    assert et.open_trace(job.folder(2)).spans.num_rows == done.spans / 4
    answer = job.sql("select rank, count(*), min(bytes), min(key) from collectives group by 1 order by 1").fetchall()
    assert answer == [(rank, 3, 4000, "comms 900 of 0, 1") for rank in range(4)]
    assert job.sql("select count(*) from spans where rank = 3").fetchall() == [(done.spans / 4,)]


def test_a_second_import_reads_only_what_is_new_or_has_changed(traces, tmp_path):
    first = import_job(traces, tmp_path / "job", processes=1)
    assert import_job(traces, tmp_path / "job", processes=1).repeated == 0
    write_rank(traces / "rank2.json", 2, Plan(ranks=4, steps=4))
    (tmp_path / "job" / ".part-000001-9-x").mkdir()  # of an import that was killed
    again = import_job(traces, tmp_path / "job", processes=1)
    assert (again.ranks, again.repeated) == (4, 1)
    assert again.digest != first.digest
    assert not list((tmp_path / "job").glob(".part-*"))


def test_a_file_that_cannot_be_read_is_named_and_left_out(traces, tmp_path, capsys):
    (traces / "rank1.json").write_text("{", "utf-8")
    (traces / "rank9.json").write_text("no trace", "utf-8")
    assert main(["job", "import", str(traces), "-o", str(tmp_path / "job"), "--processes", "1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "3 ranks" in out
    assert "rank9.json: " in out
    job = open_job(tmp_path / "job")
    assert job.missing == [1]
    assert [Path(file).name for file, _ in job.left_out] == ["rank1.json", "rank9.json"]


def test_files_of_one_rank_are_not_mixed_the_first_by_name_is_kept(traces, tmp_path):
    write_rank(traces / "rank7.json", 2, Plan(ranks=4))
    done = import_job(traces, tmp_path / "job", processes=1)
    assert done.ranks == 4
    ((file, reason),) = done.left_out
    assert (Path(file).name, reason) == (
        "rank7.json",
        "it is rank 2, as rank2.json is; give one file for each rank",
    )


def test_a_file_without_a_rank_has_that_of_its_name_or_of_its_order(tmp_path):
    for name in ("worker10.json", "worker2.json", "other.json"):
        (tmp_path / name).write_text(json.dumps({"traceEvents": [_span()]}), "utf-8")
    done = import_job(
        [tmp_path / "worker10.json", tmp_path / "worker2.json", tmp_path / "other.json"], tmp_path / "job"
    )
    assert [rank.rank for rank in open_job(tmp_path / "job").ranks] == [2, 10]
    assert done.left_out[0][1] == "neither its content nor its name says which rank it is"
    for name in ("b.json", "a.json"):
        (tmp_path / name).write_text(json.dumps({"traceEvents": [_span()]}), "utf-8")
    import_job([tmp_path / "b.json", tmp_path / "a.json"], tmp_path / "unnamed", processes=1)
    sources = [Path(rank.source).name for rank in open_job(tmp_path / "unnamed").ranks]
    assert sources == ["a.json", "b.json"]


def _span():
    return {"ph": "X", "name": "work", "cat": "cpu_op", "ts": 1, "dur": 2, "pid": 1, "tid": 1}


def test_a_directory_that_is_no_job_is_not_touched(traces, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    with pytest.raises(UsageValueError, match=r"holds 'letter.txt', so it is not a job; choose another directory"):
        import_job(traces, tmp_path / "mine")


@pytest.mark.parametrize(
    ("sources", "error", "words"),
    [
        ("", UsageValueError, "a path of the traces is empty; name the files"),
        ("missing*.json", TraceFileError, "there is no file 'missing"),
        ("empty", UsageValueError, "holds no trace"),
        ("bad", UsageValueError, "none of 1 files could be imported: rank0.json: "),
    ],
)
def test_sources_that_are_none_are_an_error(tmp_path, monkeypatch, sources, error, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "rank0.json").write_text("x", "utf-8")
    with pytest.raises(error, match=words):
        import_job(sources, tmp_path / "job")


def test_a_directory_without_a_manifest_says_what_to_do(tmp_path):
    with pytest.raises(TraceFileError, match=r"is not a job: make one: eventide job import"):
        open_job(tmp_path)
    (tmp_path / "rank=00000").mkdir()
    with pytest.raises(TraceFileError, match=r"its import did not end; run it again"):
        open_job(tmp_path)


def test_a_damaged_rank_is_named_and_imported_again(traces, tmp_path):
    whole = import_job(traces, tmp_path / "job", processes=1)
    (tmp_path / "job" / "rank=00001" / "collectives.parquet").write_bytes(b"PAR1")
    (tmp_path / "job" / "rank=00002" / "spans.parquet").unlink()
    with pytest.raises(TraceFormatError, match=r"rank 1 is damaged .* remove its directory and import the job again"):
        _ = open_job(tmp_path / "job").collectives
    again = import_job(traces, tmp_path / "job", processes=1)
    assert (again.repeated, again.digest) == (2, whole.digest)
    assert open_job(tmp_path / "job").collectives.num_rows == 4 * 3


def test_a_full_disk_ends_the_import_in_words_and_leaves_what_is_complete(traces, tmp_path):
    """No file may be longer than 2 kB here: as on a full disk the tables of a rank cannot be written."""
    whole = import_job(traces / "rank[01].json", tmp_path / "job", processes=1)
    code = (
        "import resource, sys; from eventide.cli import main; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));"
        "sys.exit(main(['job', 'import', sys.argv[1], '-o', sys.argv[2], '--processes', '1']))"
    )
    command = [sys.executable, "-c", code, str(traces), str(tmp_path / "job")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write the job's directory" in done.stderr
    assert "File too large; the ranks that are complete are kept, and the same command continues" in done.stderr
    assert not list((tmp_path / "job").glob(".part-*"))
    again = import_job(traces, tmp_path / "job", processes=1)
    assert (again.ranks, again.repeated, again.left_out) == (4, 2, ())
    assert whole.ranks == 2


def test_files_elsewhere_have_the_same_digest(traces, tmp_path):
    shutil.copytree(traces, tmp_path / "copy")
    one = import_job(traces, tmp_path / "job", processes=1)
    assert import_job(tmp_path / "copy", tmp_path / "other", processes=1).digest == one.digest


def test_two_imports_into_one_directory_are_refused(traces, tmp_path):
    import fcntl

    (tmp_path / "job").mkdir()
    with (tmp_path / "job" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageValueError, match=r"another import into .* is running; wait until it ends"):
            import_job(traces, tmp_path / "job")


def test_progress_counts_ranks_that_were_there(traces, tmp_path):
    import_job(traces / "rank[01].json", tmp_path / "job", processes=1)
    seen = []
    import_job(traces, tmp_path / "job", processes=1, progress=lambda *step: seen.append(step))
    assert [(done, total) for done, total, _ in seen] == [(2, 4), (3, 4), (4, 4)]


def test_a_path_is_no_pattern_and_no_markup(tmp_path, capsys):
    folder = tmp_path / "it's [b]one[/b] * of ?"
    write_job(folder, Plan(ranks=2))
    out = folder / "job [x]"
    command = ["job", "import", str(folder), "-o", str(out), "--processes", "1"]
    assert main(command) == 0
    assert "it's [b]one[/b] * of ?/job [x]: 2 ranks" in " ".join(capsys.readouterr().out.split())
    assert main(["job", "sql", str(out), "select count(*) as all from Collectives", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"all": 2 * 3}]
    assert "collectives" in {name for (name,) in open_job(out).sql("show tables").fetchall()}
