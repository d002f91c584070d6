"""What holds for every format: nothing is lost silently, and the shape of a file does not matter."""

import io
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun
from traces.reading import file_reader
from traces.reading.progress import MembersUnread, NamedFile, PartSkipped, RunRead

# Formats of JSON documents and lines; others cannot be changed value by value.
TEXTS = (".body", ".csv", ".eval", ".txt", ".md", ".history", ".log", "western.kurral")
JSON_FILES = sorted(name for name in fixtures.FORMATS if not name.endswith(TEXTS))
ODD_VALUES: list[Any] = [None, [], {}, "", 7, True, -1.5, [{}], ["x"], {"a": [1]}, "x" * 70_000, "😀\u202e\0", "12"]
NOTE = re.compile(r"unknown[0-9]+note")
Path = tuple[str | int, ...]


class Report:
    """What an import yields: runs, parts that were skipped, and members that are in no run."""

    def __init__(self, files: list[tuple[str, bytes]], format: str | None = None) -> None:
        named_files = [NamedFile(name=name, file=io.BytesIO(data)) for name, data in files]
        events = list(file_reader.read_files(named_files, format))
        self.runs: list[RecordedRun] = [event.run for event in events if isinstance(event, RunRead)]
        self.skipped = [event for event in events if isinstance(event, PartSkipped)]
        self.unread = dict(member for event in events if isinstance(event, MembersUnread) for member in event.members)


def documents(name: str) -> list[JSONValue]:
    """Return the values of an example: one, or one per line."""
    return [record.value for record in fixtures.source(name).records()]


def write(values: list[JSONValue]) -> bytes:
    return fixtures.json_lines(values)


def places(value: JSONValue, path: Path = ()) -> Iterator[Path]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def kinds_of_places(values: list[JSONValue]) -> list[Path]:
    """Return one path for each place, whatever the numbers in lists."""
    kinds = {tuple("*" if isinstance(key, int) else key for key in path): path for path in places(values) if path}
    return list(kinds.values())


@pytest.mark.parametrize("name", JSON_FILES)
def test_unknown_members_are_stored_or_named(name: str) -> None:
    values = documents(name)
    for number, path in enumerate(places(values)):
        if isinstance(holder := at(values, path), dict):
            holder["unknown_note"] = f"unknown{number}note"
    data = write(values)
    report = Report([(name, data)], fixtures.FORMATS[name])
    assert report.runs
    stored_notes, notes = (set(NOTE.findall(text)) for text in (repr(report.runs), data.decode()))
    unread = sum(count for member, count in report.unread.items() if member.endswith("unknown_note"))
    assert len(notes) - unread <= len(stored_notes)
    assert not (notes - stored_notes) or unread


@pytest.mark.parametrize("name", JSON_FILES)
def test_odd_value_anywhere_gives_runs_or_reason(name: str) -> None:
    values, random_ = documents(name), random.Random(name)
    paths = kinds_of_places(values)
    for path in random_.sample(paths, min(len(paths), 16)):
        mutation: Any = deepcopy(values)
        holder: Any = at(mutation, path[:-1])
        match random_.randrange(6):
            case 0 if isinstance(holder, dict):
                del holder[path[-1]]
            case 1 if isinstance(holder, list):
                holder.append(deepcopy(at(holder, path[-1:])))
            case _:
                holder[path[-1]] = deepcopy(random_.choice(ODD_VALUES))
        report = Report([(name, write(mutation))], fixtures.FORMATS[name])
        assert report.runs or report.skipped, path
        assert not [skip for skip in report.skipped if "an error of Forkpoint" in skip.reason], path


def pack(name: str) -> bytes:
    """Write an example with other white space into a folder of a zip archive."""
    values = documents(name)
    lines = [orjson.dumps(value, option=orjson.OPT_INDENT_2 if len(values) == 1 else 0) for value in values]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(f"logs/{name}", b"\xef\xbb\xbf" + b"\n\n".join(lines).replace(b"\n", b"\r\n"))
    return target.getvalue()


def envelop(name: str) -> bytes:
    """Write the lines of an example, or its document, as the list in an object."""
    values = documents(name)
    rows = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return orjson.dumps({"data": rows, "next_cursor": None})


@pytest.mark.parametrize("shape", [pack, envelop])
@pytest.mark.parametrize("name", JSON_FILES)
def test_other_shapes_give_same_runs(name: str, shape: Callable[[str], bytes]) -> None:
    report = Report([("upload", shape(name))])
    assert report.skipped == []
    assert [(run.app, run.external_id, run.steps) for run in report.runs] == [
        (run.app, run.external_id, run.steps) for run in fixtures.runs(name)
    ]
