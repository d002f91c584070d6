"""Reading files in a process with limits: the same events as without one, and errors that name the limit."""

import gzip
import io
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.importers.files.errors import BadFile
from traces.imports import reader_process
from traces.reading import file_reader
from traces.reading.limits import Budget
from traces.reading.progress import Event, NamedFile, PartSkipped, ReadingStarted, RunRead


def named_file(name: str, data: bytes) -> NamedFile:
    return NamedFile(name=name, file=io.BytesIO(data))


def transcript(number: int, content: str = "Is Dune in stock?") -> bytes:
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": "Yes."}]
    return orjson.dumps({"run_id": f"run-{number}", "dataset": "shop", "messages": messages})


def long_message() -> NamedFile:
    """A file with one message that exceeds the limits of `LITTLE`."""
    return named_file("long.json", transcript(0, "a" * 30_000_000))


LITTLE = Budget(memory=60 * 2**20, memory_per_byte=0)


finds_processes = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes by /proc")


def names_of(events: Sequence[Event]) -> list[str]:
    return [event.run.external_id for event in events if isinstance(event, RunRead)]


def refusals(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.path, event.reason) for event in events if isinstance(event, PartSkipped)]


def test_process_yields_the_same_events() -> None:
    files = [named_file(name, (fixtures.FOLDER / name).read_bytes()) for name in sorted(fixtures.FORMATS)]
    assert list(reader_process.read_files(files)) == list(file_reader.read_files(files))


def test_memory_limit_skips_one_file() -> None:
    files = [named_file("a", transcript(1)), long_message(), named_file("b", transcript(2))]
    events = list(reader_process.read_files(files, budget=LITTLE))
    assert names_of(events) == ["run-1", "run-2"]
    ((path, reason),) = refusals(events)
    assert path == "long.json"
    assert "memory" in reason


def test_time_limit_names_the_seconds() -> None:
    lines = b"\n".join(transcript(number) for number in range(40_000))
    files = [named_file("a", transcript(1)), named_file("many.jsonl", lines), named_file("b", transcript(2))]
    events = list(reader_process.read_files(files, budget=Budget(seconds=0, seconds_per_mib=0)))
    assert refusals(events) == [("many.jsonl", "takes more than 0 seconds to read")]
    assert names_of(events)[-1] == "run-2"


def children() -> set[int]:
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def read_and_kill(files: Sequence[NamedFile], name: str) -> list[Event]:
    """The events if each process is killed when it starts to read a file of this name."""
    other_events = children()
    events: list[Event] = []
    for event in reader_process.read_files(files):
        events.append(event)
        if isinstance(event, ReadingStarted) and files[event.files[0]].name == name:
            (reader,) = children() - other_events
            os.kill(reader, signal.SIGKILL)
    assert children() == other_events
    return events


@finds_processes
def test_killed_process_skips_its_file() -> None:
    lines = b"\n".join(transcript(number) for number in range(2_000))
    events = read_and_kill([named_file("many.jsonl", lines), named_file("b", transcript(9_999))], "many.jsonl")
    ((path, reason),) = refusals(events)
    assert path == "many.jsonl"
    assert "takes more than" in reason
    assert names_of(events)[-1] == "run-9999"


@finds_processes
def test_spread_files_survive_a_crash() -> None:
    first, second = [
        named_file(name, (fixtures.FOLDER / name).read_bytes()) for name in ("prela_http.json", "prela_spans.jsonl")
    ]
    lines = b"\n".join(transcript(number) for number in range(2_000))
    events = read_and_kill([first, named_file("many.jsonl", lines), second], "many.jsonl")
    spread = list(file_reader.read_files([first, second]))
    assert [run for run in names_of(events) if not run.startswith("run-")] == names_of(spread)


@finds_processes
def test_too_many_crashes_end_import() -> None:
    lines = b"\n".join(transcript(number) for number in range(2_000))
    events = read_and_kill(
        [*[named_file("many.jsonl", lines)] * 3, named_file("last", transcript(9_999))], "many.jsonl"
    )
    assert "not read" in dict(refusals(events))["last"]


@finds_processes
def test_abandoned_reading_ends_its_process() -> None:
    before = children()
    events = reader_process.read_files([named_file("many.jsonl", b"\n".join(transcript(n) for n in range(5_000)))])
    next(events)
    assert len(children() - before) == 1
    events.close()
    assert children() == before


def test_unknown_format_is_rejected_first() -> None:
    with pytest.raises(BadFile, match="“morse” is not a format"):
        next(reader_process.read_files([], "morse"))


@pytest.mark.parametrize(
    ("data", "small"),
    [
        (b"{}", True),
        (b"{" + b" " * 70_000 + b"}", False),
        (gzip.compress(b"{}"), False),
        (b"PK\x03\x04", False),
        (b"SQLite format 3\0", False),
    ],
)
def test_small_plain_files_need_no_process(data: bytes, small: bool) -> None:
    assert reader_process.is_small([named_file("x", data)]) is small


def test_many_small_files_need_a_process() -> None:
    assert not reader_process.is_small([named_file("x", b" " * 60_000)] * 2)
