"""Files with many bad parts: the first are reported, the rest counted, and too many end the reading."""

import io
from pathlib import Path

import pytest

from traces.importers.files.errors import LISTED_PROBLEMS, MOST_PROBLEMS
from traces.reading import file_reader
from traces.reading.progress import NamedFile, PartSkipped

FIXTURES = Path(__file__).parents[3] / "fixtures" / "importers"
GOOD = b'{"messages": [{"role": "user", "content": "Is Dune in stock?"}, {"role": "assistant", "content": "Yes."}]}\n'


def refusals(data: bytes) -> list[PartSkipped]:
    events = file_reader.read_files([NamedFile(name="a.jsonl", file=io.BytesIO(data))])
    return [event for event in events if isinstance(event, PartSkipped)]


def test_bad_lines_beyond_limit_are_counted() -> None:
    parts = refusals(GOOD + b"{}\n" * (LISTED_PROBLEMS + 500))
    assert len(parts) == LISTED_PROBLEMS + 1
    assert parts[-1].reason == "500 more parts of this file cannot be read"
    assert parts[-1].location.startswith(f"after line {LISTED_PROBLEMS + 1}")


def test_too_many_bad_lines_end_reading() -> None:
    parts = refusals(GOOD + b"{}\n" * (MOST_PROBLEMS + 10) + b"{broken\n")
    assert parts[-1].reason.startswith(f"more than {MOST_PROBLEMS} parts of this file cannot be read")
    assert parts[-1].location.startswith(f"line {MOST_PROBLEMS + 2}")


def test_problems_of_one_document_are_limited() -> None:
    event = b'{"event_type": "run.started", "run_id": "r", "sequence_no": 0}\n'
    parts = refusals(event + b"[]\n" * (MOST_PROBLEMS + 10))
    assert len(parts) <= LISTED_PROBLEMS + 1


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"\xff\xfe\n\0", b"\xff\xfe\0\0"])
def test_files_without_text_are_empty(data: bytes) -> None:
    assert [part.reason for part in refusals(data)] == ["the file is empty"]


@pytest.mark.parametrize(
    ("name", "number", "long_number"),
    [
        ("cloud_trace.json", b'"spanId": "41"', b'"spanId": "4%s"'),
        ("bfcl_results.jsonl", b"step_0", b"step_1%s"),
        ("gemini_telemetry.log", b'"duration_ms": 1500', b'"duration_ms": 1%s.0'),
    ],
)
def test_long_numbers_are_no_errors_of_forkpoint(name: str, number: bytes, long_number: bytes) -> None:
    data = (FIXTURES / name).read_bytes()
    changed = data.replace(number, long_number % (b"0" * (300 if b"." in long_number else 5_000)))
    assert changed != data
    assert not [part for part in refusals(changed) if "an error of Forkpoint" in part.reason]
