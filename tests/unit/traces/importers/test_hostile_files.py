"""Files from elsewhere: whatever is in them, an importer gives runs or says what is wrong, and where."""

import base64
import gzip
import io
import json
import random
import sqlite3
import zipfile
from contextlib import suppress
from copy import deepcopy
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
from traces.reading import file_reader
from traces.reading.progress import NamedFile, PartSkipped, RunRead

ODD_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    2**63,
    2**40,
    -0.0,
    1e308,
    "",
    "x",
    "-5",
    "NaN",
    "\0",
    "\ud7ff",
    "1970-01-01",
    "9999-12-31T23:59:59",
    "0001-01-01T00:00:00+23:59",
    [],
    {},
    [[]],
    {"": {}},
    [None],
    ["x"],
    {"role": "user"},
    "{}",
    "[",
    "a" * 5000,
    "2026-10-01T10:00:00Z",
    {"content": {"type": []}},
    {"type": ["tool_use"]},
    [{"type": "tool_use"}],
]
seeds = st.integers(0, 2**32)
fuzzing = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def odd(random_: random.Random) -> Any:
    """A copy: the same list put in twice could be put into itself."""
    return deepcopy(random_.choice(ODD_VALUES))


def mutated(value: JSONValue, random_: random.Random, count: int) -> JSONValue:
    """A copy of `value` with some of its parts replaced, removed, doubled or moved."""
    copy: JSONValue = json.loads(json.dumps(value))
    for _ in range(count):
        holder, key = random_.choice(list(places(copy)) or [(None, None)])
        if isinstance(holder, dict) and isinstance(key, str):
            mutate_object(holder, key, random_)
        elif isinstance(holder, list) and isinstance(key, int) and key < len(holder):
            match random_.randrange(4):
                case 0:
                    holder[key] = odd(random_)
                case 1:
                    del holder[key]
                case 2:
                    holder.append(deepcopy(holder[key]))
                case _:
                    random_.shuffle(holder)
    return copy


def mutate_object(holder: dict[str, JSONValue], key: str, random_: random.Random) -> None:
    match random_.randrange(4):
        case 0 | 1:
            holder[key] = odd(random_)
        case 2:
            holder.pop(key, None)
        case _:
            other = random_.choice(list(holder))
            holder[key], holder[other] = holder[other], holder[key]


def places(value: JSONValue) -> Any:
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from places(item)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield value, at
            yield from places(item)


def parsed(importer: registry.Importer, data: bytes) -> int:
    """How many runs the importer makes of it; every run must be such that it can be named and digested."""
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


JSON_FILES = [
    name for name in fixtures.FORMATS if not name.endswith((".body", ".csv", ".eval", ".txt", "western.kurral"))
]


@pytest.mark.parametrize("name", JSON_FILES)
@fuzzing
@given(seed=seeds)
def test_a_changed_file_gives_runs_or_a_refusal(name: str, seed: int) -> None:
    random_ = random.Random(seed)
    values = [record.value for record in fixtures.source(name).records()]
    changed = [mutated(value, random_, random_.randrange(1, 5)) for value in values]
    data = b"\n".join(orjson.dumps(value) for value in changed)
    with suppress(BadFile):
        parsed(registry.get_importer(fixtures.FORMATS[name]), data)


@pytest.mark.parametrize("name", sorted(fixtures.FORMATS))
@fuzzing
@given(seed=seeds)
def test_damaged_bytes_give_runs_or_a_refusal(name: str, seed: int) -> None:
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
        parsed(importer, bytes(data))


@fuzzing
@given(data=st.binary(max_size=300))
def test_any_bytes_are_recognised_or_refused(data: bytes) -> None:
    with suppress(BadFile):
        importer = registry.detect(fixtures.sample("upload", data))
        parsed(importer, data)


@fuzzing
@given(seed=seeds)
def test_damaged_protobuf_gives_runs_or_a_refusal(seed: int) -> None:
    random_ = random.Random(seed)
    data = bytearray(otlp_protobuf("otlp_genai.json"))
    for _ in range(random_.randrange(1, 6)):
        data[random_.randrange(len(data))] = random_.randrange(256)
    with suppress(BadFile):
        parsed(registry.detect(fixtures.sample("spans.bin", bytes(data))), bytes(data))


def otlp_protobuf(name: str) -> bytes:
    """An example in OTLP/JSON as the protobuf that an exporter would send."""
    value: Any = fixtures.source(name).value
    for span in value["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for field in ("traceId", "spanId", "parentSpanId"):
            if field in span:
                span[field] = base64.b64encode(bytes.fromhex(span[field])).decode()
    return ParseDict(value, ExportTraceServiceRequest()).SerializeToString()


def test_protobuf_and_json_give_the_same_run() -> None:
    data = otlp_protobuf("otlp_genai.json")
    importer = registry.detect(fixtures.sample("spans.bin", data))
    (from_bytes,) = importer.runs([Source(name="spans.bin", data=data)])
    assert from_bytes == fixtures.run("otlp_genai.json")


@pytest.mark.parametrize(
    ("data", "problem", "where"),
    [
        (b"", "empty", "byte 0"),
        (b'{"a": NaN}', "NaN is not a JSON number", "line 1 column 7"),
        (b'{"a": 1' + b"0" * 30 + b"}", "beyond 64 bits", "byte 6"),
        (b'{"a": "\\ud800"}', "surrogate", "line 1"),
        (b'{"a": {"b": ' + b"[" * 200 + b"]" * 200 + b"}}", "nested deeper than 100 levels", "/a/b/0/…"),
        (b'{"a":\n  }', "not JSON", "line 2 column 3"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(data: bytes, problem: str, where: str) -> None:
    with pytest.raises(BadFile, match=problem) as refusal:
        json_value(data)
    assert refusal.value.where.startswith(where)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_text_in_any_usual_encoding_is_read(encoding: str) -> None:
    assert json_value('{"a": "café · 3 ×"}'.encode(encoding)) == {"a": "café · 3 ×"}


def test_long_digits_inside_a_text_are_no_integer() -> None:
    assert json_value(b'{"id": "123456789012345678901234567890"}') == {"id": "123456789012345678901234567890"}


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_files_are_opened(pack: Any) -> None:
    assert file_opener.read_all(file_opener.decompress(io.BytesIO(pack(b"hello")))) == b"hello"
    assert file_opener.read_all(file_opener.decompress(io.BytesIO(pack(pack(b"hello"))))) == b"hello"
    with pytest.raises(BadFile, match="compressed more than 2 times"):
        file_opener.decompress(io.BytesIO(pack(pack(pack(b"hello")))))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_bomb_is_refused_at_the_limit(pack: Any) -> None:
    with pytest.raises(BadFile, match="to more than 1 MiB"):
        file_opener.read_all(file_opener.decompress(io.BytesIO(pack(bytes(8 * 2**20)))), 2**20)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_cut_off_compressed_file_is_refused(pack: Any) -> None:
    packed = pack(random.Random(1).randbytes(200_000))
    with pytest.raises(BadFile, match="damaged compressed data"):
        file_opener.read_all(file_opener.decompress(io.BytesIO(packed[: len(packed) // 2])))


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
def test_times_in_every_notation(value: JSONValue, iso: str) -> None:
    found = parse_time(value, "/t")
    assert found is not None
    assert found.isoformat() == iso


@pytest.mark.parametrize(
    "value",
    [-5, "yesterday", 10**30, True, "0001-01-01T00:00:00", [1], "1969-12-31T23:59:59Z", "--5", "9" * 5000, "9" * 400],
)
def test_a_time_that_is_none_is_refused_by_place(value: JSONValue) -> None:
    with pytest.raises(BadFile) as refusal:
        parse_time(value, "/spans/3/started_at")
    assert refusal.value.where == "/spans/3/started_at"


def test_parents_in_a_circle_are_refused() -> None:
    spans: list[JSONValue] = [
        {"span_id": a, "parent_span_id": b, "trace_id": "t", "span_type": "tool", "name": a}
        for a, b in ("ab", "bc", "ca")
    ]
    with pytest.raises(BadFile, match="cycle"):
        parsed(registry.get_importer("prela"), orjson.dumps(spans))


def test_a_chain_of_ten_thousand_parents_is_no_problem() -> None:
    spans: list[JSONValue] = [
        {"span_id": f"s{at}", "parent_span_id": f"s{at + 1}", "trace_id": "t", "span_type": "tool", "name": "x"}
        for at in range(10_000)
    ]
    assert parsed(registry.get_importer("prela"), orjson.dumps(spans)) == 1


def test_a_database_whose_tables_are_endless_queries_is_refused() -> None:

    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE sessions (id TEXT, created_at INTEGER)")
    connection.execute("CREATE TABLE messages (id INTEGER, session_id TEXT)")
    connection.execute("DROP TABLE sessions")
    connection.execute(
        "CREATE VIEW sessions AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        "SELECT id, id AS created_at FROM n"
    )
    source = Source(name="krabs.db", data=connection.serialize())
    assert list(registry.get_importer("krabs").runs([source])) == []
    assert "no `sessions` and `messages`" in str(source.problems[0])


def test_importing_the_same_bytes_gives_the_same_run() -> None:
    for name in fixtures.FORMATS:
        first, second = fixtures.runs(name), fixtures.runs(name)
        assert first == second
        assert digest([run.external_id for run in first]) == digest([run.external_id for run in second])


def test_padding_is_not_unpacked() -> None:
    packed = gzip.compress(b'{"a": 1}\n' * 7_000_000, 9)
    assert len(packed) < 2_000_000
    with pytest.raises(BadFile, match="200 times"):
        for _ in file_opener.read_lines(file_opener.decompress(io.BytesIO(packed))):
            pass


@pytest.mark.parametrize("values", [b"[" + b"[]," * 2_000_000 + b"0]", b"[" + b'{"":0},' * 1_000_000 + b"0]"])
def test_files_with_too_many_values_are_not_parsed(values: bytes) -> None:
    with pytest.raises(BadFile, match="too many values"):
        file_opener.check_weight(values, 250_000)
    file_opener.check_weight(values[:300_000], 250_000)


def test_runs_beyond_the_most_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_reader, "MOST_RUNS", 3)
    monkeypatch.setattr(file_reader, "RUNS_OF_MIB", 0)
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
    assert "a file of its size may have 3 runs" in refusal.reason
    assert refusal.where == "run chat-3"


def test_large_files_may_have_as_many_runs_as_fit_into_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_reader, "MOST_RUNS", 0)
    line = b'{"messages":[{"role":"user","content":"%d"},{"role":"assistant","content":"' + b"yes " * 40 + b'"}]}'
    lines = b"\n".join(line % number for number in range(100))
    events = list(file_reader.read_files([NamedFile(name="chats.jsonl", file=io.BytesIO(lines))]))
    assert not [event for event in events if isinstance(event, PartSkipped)]
    assert len([event for event in events if isinstance(event, RunRead)]) == 100


def test_archives_in_proportion_are_opened() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(2):
            archive.writestr(f"{number}.json", b" " * 30_000_000)
    with pytest.raises(BadFile, match="200 times"):
        archives.Archive(target.getvalue())
