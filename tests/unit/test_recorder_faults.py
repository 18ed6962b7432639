"""Faults of the recorder's surroundings: no memory, a full disk, a fork, a truncated file."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import signal
import struct
import threading
from pathlib import Path

import pytest

import eventide as et
from eventide import _native
from eventide.recording import recover_trace
from tests.unit.recordings import leftovers, marks


def test_a_child_forked_right_after_stop_does_not_keep_the_memory_of_the_buffer() -> None:
    recorder = et.Recorder(buffer=1 << 28).start()
    (buffer,) = leftovers()
    recorder.close()  # the kernel needs milliseconds to free that much: another thread does
    child = os.fork()
    if not child:
        files = [
            str(Path(f"/proc/self/fd/{fd}").readlink()) for fd in range(20) if os.path.lexists(f"/proc/self/fd/{fd}")
        ]
        os._exit(buffer in " ".join([Path("/proc/self/maps").read_text(), *files]))
    assert os.waitpid(child, 0)[1] == 0


def test_a_path_that_cannot_be_written_is_an_error_of_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no directory '.*nowhere'; make it first") as missing:
        et.Recorder(tmp_path / "nowhere" / "a.eventide").start()
    assert isinstance(missing.value, et.TraceFileError)
    (tmp_path / "taken").mkdir()
    with pytest.raises(et.TraceFileError, match=r"cannot record to '.*taken': Is a directory; name another file"):
        et.Recorder(tmp_path / "taken").start()
    assert leftovers() == []
    with pytest.raises(et.UsageTypeError, match="takes the path of its file, not int"):
        et.Recorder(3)  # type: ignore[arg-type]
    with pytest.raises(et.UsageValueError, match="too small"):
        et.Recorder(buffer=10)
    with pytest.raises(et.UsageTypeError, match="number of bytes, not str"):
        et.Recorder(buffer="1")  # type: ignore[arg-type]


def test_a_full_disk_is_an_error_of_start() -> None:
    with pytest.raises(et.TraceFileError, match="cannot record to '/dev/full': No space left on device") as full:
        et.Recorder("/dev/full").start()
    assert (full.value.errno, full.value.filename) == (errno.ENOSPC, "/dev/full")
    assert leftovers() == []
    with et.Recorder() as recorder:
        et.instant("1")
    assert marks(recorder.trace) == [1]


def test_a_disk_that_fills_up_loses_nothing_that_fits_the_buffer(tmp_path: Path) -> None:
    file = tmp_path / "a.eventide"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    recorder = et.Recorder(file, buffer=8 << 20)
    recorder.start()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        for i in range(20_000):
            et.counter("n", i)
        trace = recorder.stop()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert trace.counters.column("value").to_pylist() == [float(i) for i in range(20_000)]
    assert any("could not be written: File too large" in text for text in trace.metadata["warnings"])
    assert file.stat().st_size <= 20_000
    assert et.open_trace(file).counters.num_rows == 20_000
    _native.recover_trace(str(file))
    assert leftovers() == []
    assert et.open_trace(file).counters.num_rows == 20_000


def test_missing_space_for_the_buffer_is_an_error_of_start(tmp_path: Path) -> None:
    with pytest.raises(et.DeviceError, match=r"no space for its buffer of \d+ MB .*smaller buffer="):
        et.Recorder(tmp_path / "a.eventide", buffer=1 << 50).start()
    assert leftovers() == []
    assert list(tmp_path.iterdir()) == []


def test_a_durable_buffer_lies_beside_the_file(tmp_path: Path) -> None:
    with et.Recorder(tmp_path / "a.eventide", durable=True) as recorder:
        et.instant("1")
        assert (tmp_path / "a.eventide.buffer").exists()
        assert leftovers() == []
    assert [path.name for path in tmp_path.iterdir()] == ["a.eventide"]
    assert marks(recorder.trace) == [1]


def test_signals_do_not_end_the_allocation_of_the_buffer() -> None:
    arrived: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: arrived.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        while len(arrived) < 20:
            et.Recorder(buffer=1 << 26).start().close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_forked_child_records_nothing_into_its_parents_file(tmp_path: Path) -> None:
    with et.Recorder(tmp_path / "a.eventide") as recorder:
        et.instant("1")
        child = os.fork()
        if not child:
            code = 1
            try:
                et.instant("2")
                assert not recorder.recording
                with et.Recorder(tmp_path / "b.eventide") as own:
                    et.instant("3")
                code = 0 if marks(own.trace) == [3] else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        et.instant("4")
    assert marks(recorder.trace) == [1, 4]
    assert marks(et.open_trace(tmp_path / "b.eventide")) == [3]


def test_a_damaged_file_is_read_up_to_the_damage(tmp_path: Path) -> None:
    file = tmp_path / "a.eventide"
    with et.Recorder(file):
        for i in range(50_000):
            et.counter("n", i)
        _native.recorder_flush()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    trace = et.open_trace(file)
    kept = trace.counters.column("value").to_pylist()
    assert 0 < len(kept) < 50_000
    assert kept == [float(i) for i in range(len(kept))]
    assert any("its buffer is gone" in text for text in trace.metadata["warnings"])
    for size in (0, 5):
        file.write_bytes(whole[:size])
        with pytest.raises(et.TraceFormatError):
            et.open_trace(file)
    file.write_bytes(whole[:8] + b"\x09\0\0\0" + whole[12:])
    with pytest.raises(et.TraceFormatError, match="version 9; this Eventide reads version 1"):
        et.open_trace(file)


def test_recover_closes_a_file_and_reports_what_may_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from eventide.cli import main

    child = os.fork()
    if not child:
        et.Recorder(tmp_path / "a.eventide", buffer=1 << 20).start()
        et.instant("1")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert main(["trace", "recover", str(tmp_path / "a.eventide")]) == 0
    said = capsys.readouterr().out
    assert "a.eventide: 1 instant\n" in said
    assert "the last record of one thread may be missing" in said
    assert list(Path("/dev/shm").glob(f"eventide-{child}-*")) == []
    assert main(["trace", "recover", "--json", str(tmp_path / "a.eventide")]) == 0
    assert '"closed": true' in capsys.readouterr().out
    assert main(["trace", "recover", str(tmp_path / "none.eventide")]) == 2


def kill_a_recording(file: Path) -> list[Path]:
    """Records one instant in a process that is killed; its buffers in shared memory."""
    child = os.fork()
    if not child:
        et.Recorder(file, buffer=1 << 20).start()
        et.instant("1")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return list(Path("/dev/shm").glob(f"eventide-{child}-*"))


def test_opening_the_file_of_a_killed_process_changes_neither_the_file_nor_its_buffer(tmp_path: Path) -> None:
    file = tmp_path / "a.eventide"
    (buffer,) = kill_a_recording(file)
    before = [(path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in (file, buffer)]
    file.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        first, again = et.open_trace(file), et.open_trace(file)
    finally:
        tmp_path.chmod(0o700)
    assert [(path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) for path in (file, buffer)] == before
    assert list(tmp_path.iterdir()) == [file]
    assert marks(first) == [1]
    assert (first.tables, first.metadata) == (again.tables, again.metadata)
    lost, kept = first.metadata["warnings"]
    assert lost == "the recording was not closed: the last record of one thread may be missing"
    assert kept.startswith("its newest records are in the recorder's buffer only, which the next reboot may delete; ")
    assert kept.endswith(f"`eventide trace recover {file}` keeps them in the file")
    file.chmod(0o600)
    recover_trace(file)
    assert not buffer.exists()
    recovered = et.open_trace(file)
    assert recovered.tables == first.tables
    assert recovered.metadata["warnings"] == [
        "the recording was not closed, and was recovered: the last record of one thread may be missing"
    ]


def test_a_child_of_a_killed_process_does_not_keep_its_recording_open(tmp_path: Path) -> None:
    """No handler runs at this fork, as if it came while another thread starts the recorder."""
    file, (read, write) = tmp_path / "a.eventide", os.pipe()
    killed = os.fork()
    if not killed:
        try:
            et.Recorder(file, buffer=1 << 20).start()
            et.instant("1")
            child = ctypes.CDLL(None)._Fork()
            if not child:
                signal.pause()  # and nothing else: without the handlers of a fork, hooks would use the parent's memory
            os.write(write, child.to_bytes(4, "little"))
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(write)
    os.waitpid(killed, 0)
    child = int.from_bytes(os.read(read, 4), "little")
    try:
        recover_trace(file)
    finally:
        os.kill(child, signal.SIGKILL)
    assert marks(et.open_trace(file)) == [1]


def test_a_lock_that_a_killed_process_keeps_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "a.eventide"
    (buffer,) = kill_a_recording(file)
    lock = buffer.open("r+b")
    fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    end = threading.Timer(0.6, lock.close)  # longer than recovery waits for a process that lives
    end.start()
    recover_trace(file)
    end.join()
    assert marks(et.open_trace(file)) == [1]


def test_a_recording_that_stops_while_its_recovery_waits_keeps_its_last_records(tmp_path: Path) -> None:
    file = tmp_path / "a.eventide"
    recorder = et.Recorder(file, buffer=1 << 20).start()
    et.instant("1")

    def stop() -> None:
        et.instant("2")
        recorder.stop()

    end = threading.Timer(0.05, stop)
    end.start()
    with contextlib.suppress(et.UsageError):  # it had not stopped
        recover_trace(file)
    end.join()
    recorder.close()
    assert sorted(marks(et.open_trace(file))) == [1, 2]


def test_recoveries_while_another_process_looks_for_stale_buffers(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    (buffer,) = kill_a_recording(gone)
    as_killed = gone.read_bytes(), buffer.read_bytes()
    looking = os.fork()
    if not looking:
        while True:  # each start looks at every buffer
            et.Recorder(tmp_path / "other", buffer=1 << 20).start().stop()
    try:
        for _ in range(1000):
            recover_trace(gone)
            assert not buffer.exists()
            buffer.write_bytes(as_killed[1])
            (tmp_path / "again").write_bytes(as_killed[0])
            (tmp_path / "again").replace(gone)  # at once: without its file the buffer is stale
    finally:
        os.kill(looking, signal.SIGKILL)
        os.waitpid(looking, 0)
    assert marks(et.open_trace(gone)) == [1]
    recover_trace(gone)


@pytest.mark.parametrize("name", ["absent.eventide", "nowhere/a.eventide"])
def test_recovering_a_missing_file_is_an_os_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot recover '.*eventide': No such file or directory; give the"):
        recover_trace(tmp_path / name)


def test_a_new_recording_removes_only_buffers_that_cannot_be_read_any_more(tmp_path: Path) -> None:
    gone, replaced, there = (kill_a_recording(tmp_path / name)[0] for name in ("gone", "replaced", "there"))
    (tmp_path / "gone").unlink()
    with et.Recorder(tmp_path / "replaced"):
        assert not gone.exists()
    with et.Recorder(tmp_path / "running") as running:
        assert not replaced.exists()
        assert there.exists()
        (mine,) = leftovers()
        (tmp_path / "running").rename(tmp_path / "moved")
        et.instant("2")
        child = os.fork()
        if not child:
            et.Recorder(tmp_path / "other").start()
            os._exit(0 if (Path("/dev/shm") / mine).exists() else 1)
        assert os.waitpid(child, 0)[1] == 0
        (tmp_path / "moved").rename(tmp_path / "running")
    assert marks(running.trace) == [2]
    assert marks(et.open_trace(tmp_path / "there")) == [1]
    recover_trace(tmp_path / "there")
    assert not there.exists()


def test_a_new_recording_keeps_buffers_of_another_root_directory(tmp_path: Path) -> None:
    (buffer,) = kill_a_recording(tmp_path / "gone")
    (tmp_path / "gone").unlink()
    session = buffer.name.rsplit("-", 1)[0]
    other = buffer.rename(buffer.with_name(f"{session}-1.2.buffer"))  # as of a container that shares /dev/shm
    try:
        with et.Recorder(tmp_path / "new"):
            pass
        assert other.exists()
    finally:
        other.unlink()


def test_a_running_recording_can_be_read_and_not_recovered(tmp_path: Path) -> None:
    with et.Recorder(tmp_path / "a.eventide"):
        et.instant("1")
        assert marks(et.open_trace(tmp_path / "a.eventide")) == [1]
        with pytest.raises(et.UsageError, match=r"a.eventide is still being recorded; stop the recording"):
            _native.recover_trace(str(tmp_path / "a.eventide"))
        et.instant("2")
        assert marks(et.open_trace(tmp_path / "a.eventide")) == [1, 2]
    assert leftovers() == []


@pytest.mark.parametrize("name", ["x.pftrace", "x.json.gz", "x.PARQUET"])
def test_a_recorder_refuses_the_suffix_of_another_format(tmp_path, name):
    with pytest.raises(et.UsageValueError, match=r"a recorder writes \.eventide files, not .*recorder\.trace\.save"):
        et.Recorder(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
