"""Events on the way to a server: sent once it can be reached, and stored until then."""

import json
import logging
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkpoint import Recorder
from forkpoint.transport import server as server_module
from forkpoint.transport.server import ServerSink
from forkpoint.transport.spill import SpillFolder
from forkpoint.transport.writer import Line
from tests.support.patience import patience_s, wait_until
from tests.support.servers.event_server import EventServer, event_server


@pytest.fixture
def server() -> Iterator[EventServer]:
    with event_server() as server:
        yield server


@pytest.fixture
def spill(tmp_path: Path) -> SpillFolder:
    return SpillFolder(tmp_path / "spill")


def line(number: int, text: str = "") -> Line:
    event = {"run_id": "r", "sequence_no": number, "event_type": "output", "text": text}
    return Line("r", json.dumps(event))


def numbers(server: EventServer) -> list[int]:
    return sorted(event["sequence_no"] for event in server.events)


def test_recorded_run_reaches_server(server: EventServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORKPOINT_HOME", str(tmp_path))
    monkeypatch.setenv("FORKPOINT_URL", server.url + "/")
    monkeypatch.setenv("FORKPOINT_TOKEN", "secret")
    recorder = Recorder(app="desk")
    with recorder.run("r"):
        recorder.output("done").record()
    assert recorder.flush()
    assert server.names() == ["run_started", "final_output", "run_completed"]
    assert set(server.tokens) == {"Bearer secret"}
    assert recorder.stats() == {
        "recorded": 3,
        "pending": 0,
        "sent": 3,
        "stored": 0,
        "spilled_bytes": 0,
        "rejected": 0,
        "dropped": 0,
        "unsampled_runs": 0,
    }


def test_unreachable_server_gets_events_later(
    server: EventServer, spill: SpillFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_MIN_BACKOFF_S", 0.05)
    server.default = (500, {})
    sink = ServerSink(url=server.url, token="", spill=spill)
    sink.write([line(0)])
    assert not sink.flush(5)
    [path] = spill.path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(spill.path.stat().st_mode) == 0o700
    server.default = (200, {})
    sink.write([line(1)])
    wait_until(lambda: numbers(server) == [0, 1], 20)
    wait_until(lambda: spill.files() == [], 20)
    sink.close(5)
    assert sink.stats() == {"sent": 2, "stored": 1, "rejected": 0, "dropped": 0, "spilled_bytes": 0}


_PROGRAM = """
import sys
import threading
from forkpoint import Recorder
recorder = Recorder()
with recorder.run(sys.argv[1]):
    recorder.output(sys.argv[1]).record()
"""


def test_next_process_sends_stored_events(server: EventServer, tmp_path: Path) -> None:
    def run_program(url: str, name: str) -> None:
        environment = {**os.environ, "FORKPOINT_HOME": str(tmp_path), "FORKPOINT_URL": url}
        subprocess.run([sys.executable, "-c", _PROGRAM, name], check=True, timeout=60, env=environment)

    server.default = (502, {})
    run_program(server.url, "first")
    assert server.events == []
    server.default = (200, {})
    run_program(server.url, "second")
    names = [event["payload"]["name"] for event in server.events if event["event_type"] == "run_started"]
    assert sorted(names) == ["first", "second"]
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_exit_stores_events_without_server(tmp_path: Path) -> None:
    with socket.socket() as closed_port:
        closed_port.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed_port.getsockname()[1]}"
        environment = {**os.environ, "FORKPOINT_HOME": str(tmp_path), "FORKPOINT_URL": url}
        subprocess.run([sys.executable, "-c", _PROGRAM, "alone"], check=True, timeout=60, env=environment)
    events = [json.loads(text) for path in tmp_path.rglob("*.jsonl") for text in path.read_text().splitlines()]
    assert [event["event_type"] for event in events] == ["run_started", "final_output", "run_completed"]


def test_refused_token_stops_sending(server: EventServer, spill: SpillFolder, caplog: pytest.LogCaptureFixture) -> None:
    server.default = (401, {})
    sink = ServerSink(url=server.url, token="wrong", spill=spill)
    for number in range(3):
        sink.write([line(number)])
        assert not sink.flush(5)
    assert len(server.tokens) == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "refused the token" in caplog.text
    sink.close(5)
    assert sum(len(spill.read(name).splitlines()) for name in spill.files()) == 3


def test_busy_server_is_asked_again(server: EventServer, spill: SpillFolder) -> None:
    server.answers = [(429, {"Retry-After": "0"}), (503, {"Retry-After": "0.05"})]
    sink = ServerSink(url=server.url, token="", spill=spill)
    sink.write([line(0)])
    assert sink.flush(patience_s(10))
    assert (len(server.tokens), numbers(server), spill.files()) == (3, [0], [])
    sink.close(5)


def test_busy_server_is_given_its_time(server: EventServer, spill: SpillFolder) -> None:
    server.answers = [(429, {"Retry-After": "20"})]
    sink = ServerSink(url=server.url, token="", spill=spill)
    sink.write([line(0)])
    wait_until(lambda: len(server.tokens) == 1, 20)
    assert not sink.flush(0.3)
    assert len(server.tokens) == 1
    sink.close(0)
    assert len(spill.files()) == 1


def test_too_large_batches_are_split(server: EventServer, spill: SpillFolder) -> None:
    server.answers = [(413, {}), (200, {}), (413, {})]
    sink = ServerSink(url=server.url, token="", spill=spill)
    sink.write([line(0), line(1)])
    assert sink.flush(patience_s(10))
    assert numbers(server) == [0]
    assert sink.stats()["rejected"] == 1
    [path] = spill.path.iterdir()
    assert path.suffix == ".rejected"
    sink.close(5)


def test_too_large_stored_batches_are_split(
    server: EventServer, spill: SpillFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_MIN_BACKOFF_S", 0.05)
    server.default = (500, {})
    sink = ServerSink(url=server.url, token="", spill=spill)
    sink.write([line(0), line(1), line(2)])
    assert not sink.flush(5)
    # The whole batch, then the second half with the large event, then that event alone.
    server.answers = [(413, {}), (200, {}), (413, {}), (200, {}), (413, {})]
    server.default = (200, {})
    wait_until(lambda: spill.files() == [] and len(list(spill.path.iterdir())) == 1, 20)
    sink.close(5)
    assert len(numbers(server)) == 2
    assert (sink.stats()["sent"], sink.stats()["rejected"]) == (2, 1)
    [path] = spill.path.iterdir()
    assert path.suffix == ".rejected"
    assert path.read_text().count("\n") == 1


def test_address_without_a_host_is_named(spill: SpillFolder, caplog: pytest.LogCaptureFixture) -> None:
    sink = ServerSink(url="localhost:8950", token="", spill=spill)
    sink.write([line(0)])
    assert not sink.flush(5)
    sink.close(5)
    assert "has no host: write it as in http://localhost:8700" in caplog.text


def test_rejected_lines_are_counted(server: EventServer, spill: SpillFolder, caplog: pytest.LogCaptureFixture) -> None:
    server.rejected_types = frozenset({"output"})
    sink = ServerSink(url=server.url, token="", spill=spill)
    sink.write([line(0)])
    assert sink.flush(patience_s(10))
    assert (sink.stats()["sent"], sink.stats()["rejected"]) == (0, 1)
    assert "a test rejects it" in caplog.text
    sink.close(5)


def test_full_folder_drops_and_counts(spill: SpillFolder, tmp_path: Path) -> None:
    small = SpillFolder(tmp_path / "small", max_bytes=10)
    sink = ServerSink(url="http://127.0.0.1:9", token="", spill=small)
    sink.write([line(0)])
    assert not sink.flush(5) or sink.dropped_events == 1
    assert sink.dropped_events == 1
    sink.close(0)


def test_memory_is_bounded(spill: SpillFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_MAX_PENDING_BYTES", 1000)
    sink = ServerSink(url="http://127.0.0.1:9", token="", spill=spill)
    sink.write([line(number, "x" * 100) for number in range(20)])
    assert sum(len(spill.read(name).splitlines()) for name in spill.files()) == 20
    sink.close(0)


def test_unreadable_batch_is_kept(server: EventServer, spill: SpillFolder) -> None:
    spill.path.mkdir(mode=0o700)
    # What reading gives when the process has too many open files, or another user wrote the batch.
    (spill.path / "1-a.jsonl").mkdir()
    spill.write(f"{line(1).text}\n".encode())
    sink = ServerSink(url=server.url, token="", spill=spill)
    sink.write([line(2)])
    assert not sink.flush(5)
    assert numbers(server) == [1, 2]
    assert spill.files() == ["1-a.jsonl"]


def test_full_disk_leaves_no_halves(spill: SpillFolder) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        assert not spill.write(b"x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [*spill.path.iterdir()] == []


def test_halves_of_killed_processes_are_removed(tmp_path: Path) -> None:
    old, fresh = tmp_path / "1-a.new", tmp_path / "2-b.new"
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert SpillFolder(tmp_path).oldest() is None
    assert [*tmp_path.iterdir()] == [fresh]


def test_rejected_batches_have_limit(tmp_path: Path) -> None:
    spill = SpillFolder(tmp_path, max_bytes=100)
    for _ in range(5):
        spill.set_aside(b"x" * 40)
    assert len([*tmp_path.iterdir()]) == 2


def test_events_survive_failed_thread(server: EventServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKPOINT_HOME", str(tmp_path))
    recorder = Recorder("off")
    recorder.configure(url=server.url)
    with monkeypatch.context() as patch, recorder.run("r"):
        patch.setattr(threading.Thread, "start", _refuse)
        recorder.output("done").record()
    assert recorder.flush()
    assert server.names() == ["run_started", "final_output", "run_completed"]
    assert recorder.dropped_events == 0


def _refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
