"""The database of a session of `cursor-agent` (`~/.cursor/chats/…/store.db`): its messages by their hashes.

`meta` has one object as JSON in hexadecimal digits. The blob that it names lists the messages in order: each is a field
1 of 32 bytes in a message of Protocol Buffers.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, has_column

FORMAT: Final = "cursor-session"
_COLUMNS: Final[dict[str, Sequence[str]]] = {"meta": ("key", "value"), "blobs": ("id",)}
_ROOT: Final = "latestRootBlobId"
# The key and the length of a hash in the list of messages.
_HASH: Final = b"\x0a\x20"
_HASH_BYTES: Final = 32
_LENGTH_DELIMITED: Final = 2
_WIDTHS: Final = {1: 8, 5: 4}


def sniff(sample: Sample) -> float:
    is_store = has_column(sample.head, "blobs", "data") and has_column(sample.head, "meta", "value")
    return 1.0 if is_store else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the session."""
    database = Database(source.data, _COLUMNS)
    try:
        if "meta" not in database or "blobs" not in database:
            raise BadFile("a database of cursor-agent needs `meta` and `blobs`", "table meta")
        facts = _facts(database)
        blobs = {as_text(id): _bytes(data) for id, data in database.select("id, data FROM blobs")}
    finally:
        database.close()
    root = as_text(facts.get(_ROOT))
    if root not in blobs:
        raise BadFile("the list of messages is not in this database: import it with its `-wal` merged", "table blobs")
    entries = [entry for id in _hashes(blobs[root]) if (entry := _entry(blobs.get(id), id, source)) is not None]
    model = as_text(facts.get("lastUsedModel"))
    yield build_run(
        RunFacts(
            external_id=as_text(facts.get("agentId")) or root,
            app="cursor",
            format=FORMAT,
            title=_title(facts),
            started_at=parse_time(facts.get("createdAt"), "meta/createdAt"),
            metadata={name: item for name, item in facts.items() if name not in ("agentId", "name", _ROOT)},
        ),
        transcripts.build_steps(
            entries, TranscriptSettings(agent="cursor", model=model, provider=normalize_provider(None, model))
        ),
        location="table blobs",
    )


def _facts(database: Database) -> JSONObject:
    """Return the object about the session."""
    for row in database.rows("meta"):
        try:
            facts = json_value(bytes.fromhex(as_text(row.get("value"))))
        except (ValueError, BadFile):
            continue
        if _ROOT in as_object(facts):
            return as_object(facts)
    raise BadFile("a database of cursor-agent names its messages in `meta`", "table meta")


def _title(facts: JSONObject) -> str:
    name = as_text(facts.get("name"))
    return "" if name == "New Agent" else name


def _bytes(data: object) -> bytes:
    return data if isinstance(data, bytes) else str(data).encode()


def _hashes(data: bytes) -> Iterator[str]:
    """Yield the hashes in a list of messages; other fields are skipped, and a damaged end is ignored."""
    at = 0
    while at < len(data):
        if data.startswith(_HASH, at):
            yield data[at + 2 : at + 2 + _HASH_BYTES].hex()
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _LENGTH_DELIMITED:
            length, at = _varint(data, at)
            at += length
        elif kind == 0:
            _, at = _varint(data, at)
        elif kind in _WIDTHS:
            at += _WIDTHS[kind]
        else:
            return


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a byte, and its end."""
    number = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number, at


def _entry(data: bytes | None, id: str, source: Source) -> TranscriptMessage | None:
    location = f"blob {id[:12]}"
    try:
        message: JSONValue = json_value(data) if data is not None else None
    except BadFile as problem:
        source.problems.append(problem.prefix_location(location))
        return None
    if "role" not in as_object(message):
        source.problems.append(BadFile("a message of the session is missing", location))
        return None
    return TranscriptMessage(value=message, location=location)
