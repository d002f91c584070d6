"""Archives of recordings: each member is read like a file, and what is no recording is reported by its name."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from typing import Final

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.importers.files.errors import LISTED_PROBLEMS
from traces.reading import file_reader
from traces.reading.progress import Event, NamedFile, PartSkipped, RunRead


def transcript(number: int) -> bytes:
    messages = [{"role": "user", "content": "Is Dune in stock?"}, {"role": "assistant", "content": "Yes."}]
    return orjson.dumps({"run_id": f"run-{number}", "dataset": "shop", "messages": messages})


def make_zip(files: Mapping[str, bytes]) -> bytes:
    with (buffer := io.BytesIO()), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.close()
        return buffer.getvalue()


def make_tar(files: Mapping[str, bytes]) -> bytes:
    with (buffer := io.BytesIO()), tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        archive.close()
        return buffer.getvalue()


ARCHIVES: Final[dict[str, Callable[[Mapping[str, bytes]], bytes]]] = {
    "zip": make_zip,
    "tar": make_tar,
    "tar.gz": lambda files: gzip.compress(make_tar(files)),
}


def read(data: bytes, format: str | None = None) -> list[Event]:
    return list(file_reader.read_files([NamedFile(name="all", file=io.BytesIO(data))], format))


def ids_of(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.path, event.run.external_id) for event in events if isinstance(event, RunRead)]


def refusals(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.path, event.reason) for event in events if isinstance(event, PartSkipped)]


@pytest.mark.parametrize("kind", ARCHIVES)
def test_members_are_read_like_files(kind: str) -> None:
    files = {
        "runs/1.json": transcript(1),
        "runs/2.jsonl.gz": gzip.compress(transcript(2) + b"\n" + transcript(3)),
        "README.md": b"# Runs",
        ".cache/4.json": transcript(4),
        "__MACOSX/runs/1.json": b"\0\5\x16\7",
    }
    events = read(ARCHIVES[kind](files))
    assert ids_of(events) == [
        ("all/runs/1.json", "run-1"),
        ("all/runs/2.jsonl.gz", "run-2"),
        ("all/runs/2.jsonl.gz", "run-3"),
    ]
    ((path, reason),) = refusals(events)
    assert path == "all/README.md"
    assert "# Runs" in reason


@pytest.mark.parametrize("kind", ARCHIVES)
def test_run_spread_over_members_is_one(kind: str) -> None:
    def batch(span: str, name: str) -> bytes:
        attributes = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
        times = {"startTimeUnixNano": "1000000000", "endTimeUnixNano": "2000000000"}
        item = {"traceId": "a" * 32, "spanId": span * 16, "name": name, "attributes": attributes, **times}
        return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [item]}]}]})

    events = read(ARCHIVES[kind]({"1.json": batch("1", "chat one"), "2.json": batch("2", "chat two")}))
    (run,) = [event.run for event in events if isinstance(event, RunRead)]
    assert len(run.steps) == 2


@pytest.mark.parametrize("kind", ARCHIVES)
def test_archive_inside_an_archive_is_refused(kind: str) -> None:
    events = read(ARCHIVES[kind]({"inner.zip": make_zip({"1.json": transcript(1)}), "2.json": transcript(2)}))
    assert ids_of(events) == [("all/2.json", "run-2")]
    assert refusals(events) == [
        ("all/inner.zip", "an archive inside an archive: unpack it and import its files"),
    ]


@pytest.mark.parametrize("kind", ARCHIVES)
def test_recording_that_is_a_zip_is_read_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its directory is at the end."""
    monkeypatch.setattr(file_reader, "SIZE", 300)
    name = next(name for name, format in sorted(fixtures.FORMATS.items()) if format == "chatgpt")
    export = make_zip({"conversations.json": (fixtures.FOLDER / name).read_bytes()})
    events = read(ARCHIVES[kind]({"export.zip": export}))
    assert (len(ids_of(events)) > 0, refusals(events)) == (True, [])


@pytest.mark.parametrize("kind", ARCHIVES)
def test_empty_archive_is_refused(kind: str) -> None:
    assert [reason for _, reason in refusals(read(ARCHIVES[kind]({".hidden": b""})))] == [
        "the archive contains no files"
    ]


def test_damaged_member_spares_the_others() -> None:
    data = make_zip({"1.json": transcript(1), "2.json": transcript(2)})
    start = data.index(b"1.json") + len(b"1.json")
    events = read(data[:start] + b"\xff" * 20 + data[start + 20 :])
    assert ids_of(events) == [("all/2.json", "run-2")]
    assert refusals(events)[0][0] == "all/1.json"


def test_cut_tar_keeps_what_came_before() -> None:
    data = make_tar({"1.json": transcript(1), "2.json": transcript(2) + b" " * 5000})
    events = read(data[: data.index(b"2.json") + 1000])
    assert ids_of(events) == [("all/1.json", "run-1")]
    assert refusals(events)[0] == ("all/2.json", "this member of the tar file is damaged: unexpected end of data")


def test_links_and_sparse_files_are_refused() -> None:
    with (buffer := io.BytesIO()), tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        archive.close()
        data = buffer.getvalue()
    assert refusals(read(data)) == [("all/link.json", "a link or special file in a tar file")]


def test_format_applies_to_members() -> None:
    name = next(name for name, format in sorted(fixtures.FORMATS.items()) if format == "chat")
    data = (fixtures.FOLDER / name).read_bytes()
    assert len(ids_of(read(make_zip({name: data}), "chat"))) == len(ids_of(read(data, "chat"))) > 0


def test_refused_members_are_counted() -> None:
    events = read(make_zip({f"{number}.txt": b"notes" for number in range(LISTED_PROBLEMS + 5)}))
    assert len(refusals(events)) == LISTED_PROBLEMS + 1
    assert refusals(events)[-1] == ("all", "5 more parts of this archive cannot be read")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xfd7zXZ\0\0\4", "the file is compressed by xz: unpack it, or use gzip or zstd"),
        (b"PAR1\x15\0", "a Parquet file: write its rows as JSON Lines"),
    ],
)
def test_foreign_files_are_named(data: bytes, reason: str) -> None:
    ((name, text),) = refusals(read(data))
    assert name == "all"
    assert text.startswith(reason)


def test_long_name_is_cut_in_the_report() -> None:
    [(path, _)] = refusals(read(make_tar({"a" * 100_000: b"{}"})))
    assert path == f"all/{'a' * 1_000}"
