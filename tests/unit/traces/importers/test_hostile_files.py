"""Untrusted files: any content gives runs or an error with its location."""

import base64
import gzip
import io
import random
import sqlite3
import zipfile
from contextlib import suppress
from typing import Any

import orjson
import pytest
import zstandard
from google.protobuf.json_format import ParseDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support import importing_fixtures as fixtures
from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.importers import registry
from traces.importers.common.times import parse_time
from traces.importers.files import archives, file_opener
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value
from traces.importers.files.source import Source
from traces.importers.importer import Importer
from traces.reading import file_reader, run_limits
from traces.reading.progress import NamedFile, PartSkipped, RunRead

seeds = st.integers(0, 2**32)
fuzzing = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def count_runs(importer: Importer, data: bytes) -> int:
    """Count the runs of a file, and check that their steps have unique keys, known parents and valid times."""
    source = Source(name="file", data=data)
    count = 0
    for run in importer.runs([source]):
        count += 1
        keys = [step.key for step in run.steps]
        assert len(keys) == len(set(keys))
        for step in run.steps:
            assert step.parent is None or step.parent in keys
            assert not (step.started_at and step.ended_at) or step.ended_at >= step.started_at
    return count


@pytest.mark.parametrize("name", sorted(fixtures.FORMATS))
@fuzzing
@given(seed=seeds)
def test_damaged_bytes_give_runs_or_error(name: str, seed: int) -> None:
    random_ = random.Random(seed)
    data = bytearray((fixtures.FOLDER / name).read_bytes())
    for _ in range(random_.randrange(1, 4)):
        at = random_.randrange(len(data))
        match random_.randrange(3):
            case 0:
                data[at] = random_.randrange(256)
            case 1:
                del data[at : at + random_.randrange(40)]
            case _:
                data[at:at] = random_.choice([b"\xff", b"\0", b"{", b"]", b'"', b"\r\n", b"NaN", b"\\ud800"])
    with suppress(BadFile):
        importer = registry.detect(fixtures.sample(name, bytes(data)))
        count_runs(importer, bytes(data))


@fuzzing
@given(data=st.binary(max_size=300))
def test_random_bytes_give_runs_or_error(data: bytes) -> None:
    with suppress(BadFile):
        importer = registry.detect(fixtures.sample("upload", data))
        count_runs(importer, data)


@fuzzing
@given(seed=seeds)
def test_damaged_protobuf_gives_runs_or_error(seed: int) -> None:
    random_ = random.Random(seed)
    data = bytearray(otlp_protobuf("otlp_genai.json"))
    for _ in range(random_.randrange(1, 6)):
        data[random_.randrange(len(data))] = random_.randrange(256)
    with suppress(BadFile):
        count_runs(registry.detect(fixtures.sample("spans.bin", bytes(data))), bytes(data))


def otlp_protobuf(name: str) -> bytes:
    """Convert an OTLP/JSON example to the protobuf that an exporter would send."""
    value: Any = fixtures.source(name).value
    for span in value["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for field in ("traceId", "spanId", "parentSpanId"):
            if field in span:
                span[field] = base64.b64encode(bytes.fromhex(span[field])).decode()
    return ParseDict(value, ExportTraceServiceRequest()).SerializeToString()


def test_protobuf_and_json_give_same_run() -> None:
    data = otlp_protobuf("otlp_genai.json")
    importer = registry.detect(fixtures.sample("spans.bin", data))
    (from_bytes,) = importer.runs([Source(name="spans.bin", data=data)])
    assert from_bytes == fixtures.run("otlp_genai.json")


@pytest.mark.parametrize(
    ("data", "problem", "location"),
    [
        (b"", "empty", "byte 0"),
        (b'{"a": NaN}', "NaN is not a JSON number", "line 1 column 7"),
        (b'{"a": 1' + b"0" * 30 + b"}", "beyond 64 bits", "byte 6"),
        (b'{"a": "\\ud800"}', "surrogate", "line 1"),
        (b'{"a": {"b": ' + b"[" * 200 + b"]" * 200 + b"}}", "nested deeper than 100 levels", "/a/b/0/…"),
        (b'{"a":\n  }', "not JSON", "line 2 column 3"),
    ],
)
def test_invalid_json_error_has_location(data: bytes, problem: str, location: str) -> None:
    with pytest.raises(BadFile, match=problem) as refusal:
        json_value(data)
    assert refusal.value.where.startswith(location)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_usual_encodings_are_read(encoding: str) -> None:
    assert json_value('{"a": "café · 3 ×"}'.encode(encoding)) == {"a": "café · 3 ×"}


def test_digits_inside_string_are_no_integer() -> None:
    assert json_value(b'{"id": "123456789012345678901234567890"}') == {"id": "123456789012345678901234567890"}


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_files_are_opened(pack: Any) -> None:
    assert file_opener.read_all(file_opener.decompress(io.BytesIO(pack(b"hello")))) == b"hello"
    assert file_opener.read_all(file_opener.decompress(io.BytesIO(pack(pack(b"hello"))))) == b"hello"
    with pytest.raises(BadFile, match="compressed more than 2 times"):
        file_opener.decompress(io.BytesIO(pack(pack(pack(b"hello")))))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_decompression_bomb_is_refused(pack: Any) -> None:
    with pytest.raises(BadFile, match="to more than 1 MiB"):
        file_opener.read_all(file_opener.decompress(io.BytesIO(pack(bytes(8 * 2**20)))), 2**20)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_truncated_compressed_file_is_refused(pack: Any) -> None:
    compressed_data = pack(random.Random(1).randbytes(200_000))
    with pytest.raises(BadFile, match="damaged compressed data"):
        file_opener.read_all(file_opener.decompress(io.BytesIO(compressed_data[: len(compressed_data) // 2])))


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("2026-11-21T20:43:10.167270+00:00Z", "2026-11-21T20:43:10.167270+00:00"),
        ("2025-11-29T00:27:46", "2025-11-29T00:27:46+00:00"),
        ("1795293702883081639", "2026-11-21T20:41:42.883081+00:00"),
        (1740787200123, "2025-03-01T00:00:00.123000+00:00"),
        (1740787200, "2025-03-01T00:00:00+00:00"),
        ("2026-01-01T01:00:00.123456789+01:00", "2026-01-01T00:00:00.123456+00:00"),
    ],
)
def test_time_notations_are_parsed(value: JSONValue, iso: str) -> None:
    time = parse_time(value, "/t")
    assert time is not None
    assert time.isoformat() == iso


@pytest.mark.parametrize(
    "value",
    [-5, "yesterday", 10**30, True, "0001-01-01T00:00:00", [1], "1969-12-31T23:59:59Z", "--5", "9" * 5000, "9" * 400],
)
def test_invalid_time_error_has_location(value: JSONValue) -> None:
    with pytest.raises(BadFile) as refusal:
        parse_time(value, "/spans/3/started_at")
    assert refusal.value.where == "/spans/3/started_at"


@pytest.mark.parametrize("pairs", [["aa"], ["ab", "bc", "ca", "da"], ["ab", "ba", "cd", "dc"]])
def test_cycles_of_parents_are_cut_with_a_note(pairs: list[str]) -> None:
    spans: list[JSONValue] = [
        {"span_id": pair[0], "parent_span_id": pair[1], "trace_id": "t", "span_type": "tool", "name": pair}
        for pair in pairs
    ]
    source = Source(name="spans.json", data=orjson.dumps(spans))
    (run,) = registry.get_importer("prela").runs([source])
    notes = [step for step in run.steps if "cyclic_parent" in step.attributes]
    assert len(run.steps) == len(pairs)
    assert notes == [step for step in run.steps if step.parent is None]


def test_deep_parent_chain_is_read() -> None:
    spans: list[JSONValue] = [
        {"span_id": f"s{at}", "parent_span_id": f"s{at + 1}", "trace_id": "t", "span_type": "tool", "name": "x"}
        for at in range(10_000)
    ]
    assert count_runs(registry.get_importer("prela"), orjson.dumps(spans)) == 1


def test_endless_database_view_is_refused(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE sessions (id TEXT, created_at INTEGER)")
    connection.execute("CREATE TABLE messages (id INTEGER, session_id TEXT)")
    connection.execute("DROP TABLE sessions")
    connection.execute(
        "CREATE VIEW sessions AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        "SELECT id, id AS created_at FROM n"
    )
    source = Source(name="krabs.db", data=connection.serialize())
    assert list(registry.get_importer("krabs").runs([source])) == []
    assert "an SQLite database with the tables messages" in str(source.problems[0])


def test_same_bytes_give_same_run() -> None:
    for name in fixtures.FORMATS:
        first, second = fixtures.runs(name), fixtures.runs(name)
        assert first == second
        assert digest([run.external_id for run in first]) == digest([run.external_id for run in second])


def test_padding_is_not_decompressed() -> None:
    compressed_data = gzip.compress(b'{"a": "%b"}\n' % (b"1" * 890) * 70_000, 9)
    assert len(compressed_data) < 2_000_000
    with pytest.raises(BadFile, match="200 times"):
        for _ in file_opener.read_lines(file_opener.decompress(io.BytesIO(compressed_data))):
            pass


@pytest.mark.parametrize("values", [b"[" + b"[]," * 2_000_000 + b"0]", b"[" + b'{"":0},' * 1_000_000 + b"0]"])
def test_too_many_values_are_refused(values: bytes) -> None:
    with pytest.raises(BadFile, match="too many values"):
        file_opener.check_weight(values, 250_000)
    file_opener.check_weight(values[:300_000], 250_000)


def test_runs_beyond_limit_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "MAX_RUNS", 3)
    monkeypatch.setattr(run_limits, "MAX_RUNS_PER_MIB", 0)
    line = b'{"id":"chat-%d","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]}'
    lines = b"\n".join(line % number for number in range(5))
    *runs, refusal = [
        event
        for event in file_reader.read_files([NamedFile(name="chats.jsonl", file=io.BytesIO(lines))])
        if isinstance(event, RunRead | PartSkipped)
    ]
    assert len(runs) == 3
    assert isinstance(refusal, PartSkipped)
    assert refusal.path == "chats.jsonl"
    assert "a file of this size may have 3 runs" in refusal.reason
    assert refusal.location == "line 4, run chat-3"


def test_runs_that_repeat_shared_facts_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "FREE_RUN_BYTES", 8_000_000)
    resource = {"attributes": [{"key": "x", "value": {"stringValue": "policy " * 30_000}}]}
    span = {"spanId": f"{1:016x}", "name": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    spans = [{**span, "traceId": f"{number:032x}"} for number in range(1, 101)]
    data = orjson.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]})
    *runs, refusal = [
        event
        for event in file_reader.read_files([NamedFile(name="spans.json", file=io.BytesIO(data))])
        if isinstance(event, RunRead | PartSkipped)
    ]
    assert 20 < len(runs) < 100
    assert isinstance(refusal, PartSkipped)
    assert "repeat what they share" in refusal.reason


def test_branches_that_repeat_a_long_beginning_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "MOST_STEPS", 100)
    monkeypatch.setattr(run_limits, "BYTES_PER_STEP", 10_000)
    # Responses 0 to 19 follow each other, and the others follow response 19.
    responses = [
        {"id": f"r{no}", "object": "response", "output": [], "previous_response_id": f"r{min(no - 1, 19)}"}
        for no in range(40)
    ]
    data = fixtures.json_lines(responses)
    *runs, refusal = [
        event
        for event in file_reader.read_files([NamedFile(name="responses.jsonl", file=io.BytesIO(data))])
        if isinstance(event, RunRead | PartSkipped)
    ]
    assert 0 < sum(len(event.run.steps) for event in runs if isinstance(event, RunRead)) <= 100
    assert isinstance(refusal, PartSkipped)
    assert "may have 100 steps, and these have more" in refusal.reason


def test_run_limit_grows_with_file_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limits, "MAX_RUNS", 0)
    line = b'{"messages":[{"role":"user","content":"%d"},{"role":"assistant","content":"' + b"yes " * 40 + b'"}]}'
    lines = b"\n".join(line % number for number in range(100))
    events = list(file_reader.read_files([NamedFile(name="chats.jsonl", file=io.BytesIO(lines))]))
    assert not [event for event in events if isinstance(event, PartSkipped)]
    assert len([event for event in events if isinstance(event, RunRead)]) == 100


def test_padded_archive_is_refused() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(2):
            archive.writestr(f"{number}.json", b" " * 30_000_000)
    with pytest.raises(BadFile, match="200 times"):
        archives.Archive(target.getvalue())
