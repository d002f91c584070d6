import io
from collections.abc import Callable, Iterator

import pytest
import zstandard

from tests.unit.traces.importers.otlp.test_batches import json_body, json_span, protobuf, span
from traces.core.recorded_run import RecordedRun
from traces.importers.otlp import message_frames
from traces.reading.file_reader import read_files
from traces.reading.progress import Event, NamedFile, PartSkipped, RunRead

TIMES = {"startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000001000000000"}
PROTOBUF = [protobuf(span(1)), protobuf(span(2, 1))]
JSON = [json_body(json_span(1, **TIMES)), json_body(json_span(2, parentSpanId=f"{1:016x}", **TIMES))]


def after_length(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def compressed(message: bytes) -> bytes:
    return after_length(zstandard.ZstdCompressor().compress(message))


def after_varint(message: bytes) -> bytes:
    assert 128 > len(message) > 0
    return bytes([len(message)]) + message


def events(data: bytes) -> Iterator[Event]:
    return read_files([NamedFile(name="traces", file=io.BytesIO(data))])


def runs(data: bytes) -> list[RecordedRun]:
    return [event.run for event in events(data) if isinstance(event, RunRead)]


@pytest.mark.parametrize(
    ("frame", "messages"),
    [(after_length, PROTOBUF), (compressed, PROTOBUF), (compressed, JSON), (after_varint, PROTOBUF)],
)
def test_messages_after_their_lengths_are_one_run(frame: Callable[[bytes], bytes], messages: list[bytes]) -> None:
    (run,) = runs(b"".join(map(frame, messages)))
    assert [(step.key, step.parent) for step in run.steps] == [(f"{1:016x}", None), (f"{2:016x}", f"{1:016x}")]


def test_message_without_its_end_is_reported() -> None:
    data = b"".join(map(after_length, PROTOBUF))
    skipped = [event for event in events(data[:-3]) if isinstance(event, PartSkipped)]
    (run,) = runs(data[:-3])
    assert len(run.steps) == 1
    assert [(part.reason, part.location) for part in skipped] == [
        ("the file ends inside a message", f"byte {len(PROTOBUF[0]) + 4}")
    ]


@pytest.mark.parametrize(
    "head", [b"", b"\n", PROTOBUF[0], JSON[0], b"{\n" + b" " * 122, b"\0\0\0\x04abcd", b"[\n 1\n]", b"\x05\nhello"]
)
def test_other_files_have_no_frames(head: bytes) -> None:
    assert not message_frames.has_frames(head)
