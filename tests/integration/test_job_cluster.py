"""The import on Dask: a real scheduler and workers as processes, whatever is killed; hosts that share files only."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from eventide.errors import UsageValueError
from eventide.jobs import import_job
from tests.reference.jobs import Plan, write_job

pytestmark = pytest.mark.heavy
pytest.importorskip("distributed", reason="dask[distributed] is not installed")


@pytest.fixture
def traces(tmp_path):
    write_job(tmp_path / "traces", Plan(ranks=9))
    return tmp_path / "traces"


@contextmanager
def process(*arguments, inside=()):
    """A program of Dask; it and its children are gone afterwards."""
    command = [*inside, sys.executable, "-m", "distributed.cli." + arguments[0], *map(str, arguments[1:])]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as child:
        try:
            yield child
        finally:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)


@contextmanager
def cluster(workers=2, host="127.0.0.1", inside=None):
    """The address of a scheduler with workers; and the workers' processes."""
    with ExitStack() as stack:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = f"tcp://{host}:{port}"
        scheduler = ["dask_scheduler", "--host", host, "--port", port, "--no-dashboard", "--no-show"]
        stack.enter_context(process(*scheduler, inside=inside(0) if inside else ()))
        started = []
        for number in range(workers):
            worker = ["dask_worker", address, "--nworkers", 1, "--nthreads", 1, "--no-dashboard", "--death-timeout", 60]
            started.append(stack.enter_context(process(*worker, inside=inside(1 + number) if inside else ())))
        yield address, started


def test_a_cluster_imports_what_a_pool_imports(traces, tmp_path):
    whole = import_job(traces, tmp_path / "whole", processes=1)
    with cluster() as (address, workers):
        done = import_job(traces, tmp_path / "job", cluster=address)
    assert (done.digest, done.ranks, done.left_out) == (whole.digest, 9, ())
    end = time.monotonic() + 10
    while left := [
        path.name for path in Path("/proc").glob("[0-9]*") if session_of(path) in {one.pid for one in workers}
    ]:
        assert time.monotonic() < end, left
        time.sleep(0.05)
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == sorted(
        path.name for path in (tmp_path / "whole").iterdir()
    )


def test_a_worker_killed_at_a_third_changes_nothing(traces, tmp_path):
    whole = import_job(traces, tmp_path / "whole", processes=1)
    killed = []
    with cluster() as (address, workers):

        def progress(done, total, latest):
            if done * 3 >= total and not killed:
                killed.extend(kill_worker_of(workers[0]))

        done = import_job(traces, tmp_path / "job", cluster=address, progress=progress)
    assert killed
    assert (done.digest, done.ranks, done.left_out) == (whole.digest, 9, ())


DRIVER = """
import sys
from eventide.jobs import import_job
import_job(*sys.argv[1:3], cluster=sys.argv[3], progress=lambda done, total, latest: print(done, flush=True))
"""


def test_a_killed_driver_continues_on_the_same_cluster(traces, tmp_path):
    whole = import_job(traces, tmp_path / "whole", processes=1)
    with cluster() as (address, _):
        command = [sys.executable, "-c", DRIVER, str(traces), str(tmp_path / "job"), address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
            while int(driver.stdout.readline()) < 3:
                pass
            driver.kill()
        finished = len(list((tmp_path / "job").glob("rank=*")))
        done = import_job(traces, tmp_path / "job", cluster=address)
    assert 3 <= finished <= 9
    assert (done.digest, done.ranks, done.repeated) == (whole.digest, 9, 9 - finished)


def test_an_import_without_its_scheduler_ends_in_words_and_continues_later(traces, tmp_path):
    with cluster(1) as (address, _):
        (scheduler,) = (
            int(path.name)
            for path in Path("/proc").glob("[0-9]*")
            if address.rpartition(":")[2] in command_of(path) and "dask_scheduler" in command_of(path)
        )

        def progress(done, *_):
            if done == 2:
                os.kill(scheduler, signal.SIGKILL)

        with pytest.raises(UsageValueError, match=r"the Dask scheduler at 'tcp://.*' is gone .* are kept: start one"):
            import_job(traces, tmp_path / "job", cluster=address, progress=progress)
    finished = len(list((tmp_path / "job").glob("rank=*")))
    assert finished >= 2
    assert import_job(traces, tmp_path / "job", processes=1).repeated == 9 - finished


def command_of(path):
    try:
        return (path / "cmdline").read_text("utf-8").replace("\0", " ")
    except OSError:
        return ""


def kill_worker_of(nanny):
    """Kill -9 what the nanny has started: the process that executes tasks."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            spawned = b"spawn_main" in (path / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[3]) == nanny.pid and int(path.name) != nanny.pid and spawned:
            os.kill(int(path.name), signal.SIGKILL)
            found.append(int(path.name))
    return found


def test_a_worker_that_does_not_see_the_job_is_named_with_the_remedy(traces, tmp_path):
    """It runs where another, empty file system is mounted over the one that all others share."""
    hide = hidden(tmp_path)
    words = r"the Dask worker tcp://.* cannot import: it has no access to .* shared file system"
    alone = cluster(1, inside=lambda number: hide if number else ())
    with alone as (address, _), pytest.raises(UsageValueError, match=words):
        import_job(traces, tmp_path / "job", cluster=address)
    assert not list((tmp_path / "job").glob(".shared-*"))


def hidden(folder):
    command = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {folder} && exec "$@"', "sh"]
    able = os.geteuid() == 0 and shutil.which("unshare") is not None
    if not able or subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs root and unshare to mount another file system")
    return command


def test_hosts_that_share_files_only_import_a_job(traces, tmp_path):
    """Scheduler and workers in network namespaces of their own, joined by a bridge; this process is outside."""
    whole = import_job(traces, tmp_path / "whole", processes=1)
    with ExitStack() as stack:
        host, inside = namespaces(stack, 3)
        with cluster(2, host, inside) as (address, _):
            done = import_job(traces, tmp_path / "job", cluster=address)
    assert (done.digest, done.ranks, done.left_out) == (whole.digest, 9, ())


def namespaces(stack, count):
    """The scheduler's address, and the command that runs a program in one of the namespaces."""
    tag, net = f"ev{os.getpid() % 10000}", f"10.{200 + os.getpid() % 50}.{os.getpid() % 250}"

    def ip(*arguments, check=True):
        return subprocess.run(["ip", *arguments], check=check, capture_output=True)

    able = os.geteuid() == 0 and shutil.which("ip") is not None
    if not able or ip("link", "add", tag, "type", "bridge", check=False).returncode:
        pytest.skip("needs root and ip netns to make network namespaces")
    stack.callback(ip, "link", "del", tag, check=False)
    ip("addr", "add", f"{net}.254/24", "dev", tag)
    ip("link", "set", tag, "up")
    for number in range(count):
        name = f"{tag}n{number}"
        ip("netns", "add", name)
        stack.callback(ip, "netns", "del", name, check=False)
        ip("link", "add", f"{tag}v{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", f"{tag}v{number}", "master", tag, "up")
        ip("-n", name, "addr", "add", f"{net}.{number + 1}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")
    return f"{net}.1", lambda number: ("ip", "netns", "exec", f"{tag}n{number}")


def test_no_scheduler_at_the_address_is_an_error_that_says_so(traces, tmp_path):
    words = r"there is no Dask scheduler at 'tcp://127.0.0.1:9' .* start one: dask scheduler"
    with pytest.raises(UsageValueError, match=words):
        import_job(traces, tmp_path / "job", cluster="tcp://127.0.0.1:9")


def session_of(path):
    try:
        return os.getsid(int(path.name))
    except OSError:
        return None
