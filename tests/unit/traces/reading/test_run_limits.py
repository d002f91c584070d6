"""Limits of the runs of a file: what they share counts in each of them."""

import io
import zipfile
from collections.abc import Iterator
from random import Random

import orjson
import pytest

from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.files.source import Source
from traces.payloads.conversation import Conversation, Messages
from traces.reading import file_reader, run_limits
from traces.reading.progress import NamedFile, PartSkipped, RunRead
from traces.reading.run_limits import RunLimits


def runs_with(header: str, count: int, numbers: list[int]) -> Iterator[RecordedRun]:
    """Build runs that share a header, and note which were built."""
    step = RecordedStep(key="s", type=StepType.TURN, name="turn")
    for number in range(count):
        numbers.append(number)
        metadata: JSONObject = {"header": header}
        yield RecordedRun(external_id=f"r{number}", name="r", app="a", format="f", steps=(step,), metadata=metadata)


def test_importer_stops_at_limit_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "FREE_RUN_BYTES", 100_000)
    source, numbers = Source(name="x", data=b"x" * 10_000), list[int]()
    limits = RunLimits(size=10_000, read_bytes=10_000)
    runs = list(limits.weigh(runs_with("x" * 9_000, 1000, numbers), [source]))
    # 100,000 bytes and eight times the file's size.
    assert 16 < len(runs) < 22
    assert len(numbers) == len(runs) + 1
    assert limits.is_exceeded
    (problem,) = source.problems
    assert "more than 180,000 bytes" in problem.problem
    assert problem.where == f"run r{len(runs)}"


def test_runs_as_large_as_their_text_are_no_repetition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "FREE_RUN_BYTES", 0)
    source, numbers = Source(name="x", data=b"x" * 900_000), list[int]()
    # Packed to a fifteenth of its size.
    limits = RunLimits(size=60_000, read_bytes=900_000)
    assert len(list(limits.weigh(runs_with("x" * 9_000, 100, numbers), [source]))) == 100
    assert not source.problems


def test_bytes_of_compressed_files_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "MAX_RUN_BYTES", 100_000)
    source, numbers = Source(name="x", data=b""), list[int]()
    limits = RunLimits(size=1_000, read_bytes=10**9)
    assert len(list(limits.weigh(runs_with("x" * 9_000, 100, numbers), [source]))) < 15
    assert source.problems


def test_number_of_runs_is_limited_while_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "MAX_RUNS", 3)
    monkeypatch.setattr(run_limits, "MAX_RUNS_PER_MIB", 0)
    source, numbers = Source(name="x", data=b""), list[int]()
    limits = RunLimits(size=0)
    assert [run.run.external_id for run in limits.weigh(runs_with("", 10, numbers), [source])] == ["r0", "r1", "r2"]
    assert numbers == [0, 1, 2, 3]


def test_what_steps_share_counts_in_each_of_them() -> None:
    shared: JSONObject = {"config": "x" * 100_000}
    steps = tuple(
        RecordedStep(key=f"{number}", type=StepType.MODEL, name="m", attributes=shared) for number in range(10_000)
    )
    run = RecordedRun(external_id="r", name="r", app="a", format="f", steps=steps)
    source = Source(name="x", data=b"")
    assert not list(RunLimits(size=400_000, read_bytes=400_000).weigh([run], [source]))
    assert "their steps repeat" in source.problems[0].problem


def test_a_conversation_counts_once() -> None:
    conversation = Conversation([{"role": "user", "content": "x" * 10_000} for _ in range(400)])
    steps = tuple(
        RecordedStep(key=f"{n}", type=StepType.MODEL, name="m", input={"messages": Messages(conversation, n)})  # type: ignore[dict-item]
        for n in range(1, 400)
    )
    run = RecordedRun(external_id="r", name="r", app="a", format="f", steps=steps)
    (weighed_run,) = RunLimits(size=0, read_bytes=0).weigh([run], [Source(name="x", data=b"")])
    assert 4_000_000 < weighed_run.weight < 5_000_000


def test_one_run_of_tiny_steps_is_refused() -> None:
    calls: list[dict[str, str]] = [{}] * 30_000
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    data = orjson.dumps({"messages": [{"role": "user", "content": "go"}, message]})
    events = list(file_reader.read_files([NamedFile(name="x.json", file=io.BytesIO(data))]))
    assert not any(isinstance(event, RunRead) for event in events)
    (refusal,) = (event for event in events if isinstance(event, PartSkipped))
    assert "may have 20,000 steps" in refusal.reason


def test_steps_of_archives_are_counted_by_what_they_unpack_to() -> None:
    messages = [{"role": ("user", "assistant")[number % 2], "content": f"{number}"} for number in range(24_000)]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("talk.json", orjson.dumps({"messages": messages}))
        # Text that does not compress.
        archive.writestr("key.txt", Random(1).randbytes(200_000))
    events = list(file_reader.read_files([NamedFile(name="x.zip", file=io.BytesIO(target.getvalue()))]))
    (run,) = (event.run for event in events if isinstance(event, RunRead))
    assert len(run.steps) > run_limits.MOST_STEPS


def test_short_chats_are_all_read() -> None:
    line = b'{"messages":[{"role":"user","content":"%d"},{"role":"assistant","content":"ok"}]}'
    data = b"\n".join(line % number for number in range(6_000))
    events = list(file_reader.read_files([NamedFile(name="x.jsonl", file=io.BytesIO(data))]))
    runs = [event.run for event in events if isinstance(event, RunRead)]
    assert len(runs) == 6_000
    assert sum(len(run.steps) for run in runs) > run_limits.MOST_STEPS
