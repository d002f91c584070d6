"""The SDK's writer with threads and processes: every line is written, in the order of its thread."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkpoint.transport.events import Event
from forkpoint.transport.files import FileSink
from forkpoint.transport.writer import Writer

_THREADS, _LINES = 12, 200


def event(run_id: str, text: str) -> Event:
    return Event(run_id, None, None, 0, "final_output", 0.0, json.dumps(text))


def texts(path: Path) -> list[str]:
    return [json.loads(line)["payload"] for line in path.read_text().splitlines()]


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
            writer.enqueue(event(f"run-{attempt}", f"{name} {number}"))

    threads = [threading.Thread(target=record, args=(name,)) for name in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.flush()
    assert writing() == before + 1
    lines = [text.split() for text in texts(tmp_path / f"run-{attempt}.jsonl")]
    for name in range(_THREADS):
        assert [number for owner, number in lines if owner == str(name)] == [str(number) for number in range(_LINES)]


_FORKS = """
import json, multiprocessing, os, sys
from pathlib import Path
from forkpoint.transport.events import Event
from forkpoint.transport.files import FileSink
from forkpoint.transport.writer import Writer

writer = Writer(FileSink(Path(sys.argv[1])))
event = lambda run, text: Event(run, None, None, 0, "final_output", 0.0, json.dumps(text))
def work():
    writer.enqueue(event("worker", "terminated"))
writer.enqueue(event("parent", "before"))
child = multiprocessing.get_context("fork").Process(target=writer.enqueue, args=(event("child", "in a pool"),))
child.start()
child.join()
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.apply(work)
pid = os.fork()
writer.enqueue(event("parent" if pid else "fork", "after"))
if pid:
    os.waitpid(pid, 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_forked_process_writes_its_own_lines(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _FORKS, str(tmp_path)], check=True, timeout=60)
    assert {path.name: texts(path) for path in tmp_path.iterdir()} == {
        "parent.jsonl": ["before", "after"],
        "child.jsonl": ["in a pool"],
        "worker.jsonl": ["terminated"],
        "fork.jsonl": ["after"],
    }
