"""The SDK's writer with threads and processes: every line is written, in the order of its thread."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkpoint.transport.files import FileSink
from forkpoint.transport.writer import Writer

_THREADS, _LINES = 12, 200


@pytest.fixture
def hasty() -> Iterator[None]:
    """Switch threads as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def writing() -> int:
    return sum(thread.name == "forkpoint-recorder" for thread in threading.enumerate())


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("attempt", range(5))
def test_concurrent_threads_share_one_writer(tmp_path: Path, attempt: int) -> None:
    writer, start = Writer(FileSink(tmp_path)), threading.Barrier(_THREADS)
    before = writing()

    def record(name: int) -> None:
        start.wait()
        for number in range(_LINES):
            writer.enqueue(f"run-{attempt}", f"{name} {number}")

    threads = [threading.Thread(target=record, args=(name,)) for name in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.flush()
    assert writing() == before + 1
    lines = [line.split() for line in (tmp_path / f"run-{attempt}.jsonl").read_text().splitlines()]
    for name in range(_THREADS):
        assert [number for owner, number in lines if owner == str(name)] == [str(number) for number in range(_LINES)]


_FORKS = """
import multiprocessing, os, sys
from pathlib import Path
from forkpoint.transport.files import FileSink
from forkpoint.transport.writer import Writer

writer = Writer(FileSink(Path(sys.argv[1])))
writer.enqueue("parent", "before")
child = multiprocessing.get_context("fork").Process(target=writer.enqueue, args=("child", "in a process of a pool"))
child.start()
child.join()
pid = os.fork()
writer.enqueue("parent" if pid else "fork", "after")
if pid:
    os.waitpid(pid, 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_forked_process_writes_its_own_lines(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _FORKS, str(tmp_path)], check=True, timeout=60)
    contents = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert contents == {
        "parent.jsonl": "before\nafter\n",
        "child.jsonl": "in a process of a pool\n",
        "fork.jsonl": "after\n",
    }
