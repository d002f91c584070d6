"""Files with many bad parts: the first are reported, the rest counted, and too many end the reading."""

import io

from traces.importers.files.errors import LISTED_PROBLEMS, MOST_PROBLEMS
from traces.reading import file_reader
from traces.reading.progress import NamedFile, PartSkipped

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
