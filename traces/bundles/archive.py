"""Bundle of a portable run: a zip of a manifest with the hash of every member, the run, its steps and its artifacts.

=====================  ================================================================================
member                 content
=====================  ================================================================================
manifest.json          format, version, content digest of the run, SHA-256 and size of every member, and
                       as `unavailable` the artifacts that the exporting store had lost, if any
run.json               the run's columns, and the run it was derived from
steps.jsonl            one step per line, in sequence order
edges.jsonl            one provenance edge per line
judgements.jsonl       one judgement per line; absent if there is none, not part of the content digest
artifacts/<sha256>     the bytes that hash to this name
=====================  ================================================================================

A bundle is treated as hostile: nothing is unpacked to disk, no member is read beyond the size in its header, and
every byte is hashed.
"""

import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final

import orjson

from traces.core import duplicate_keys
from traces.core.canonical import digest_bytes
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.errors import ProblemError, TooLarge

FORMAT: Final = "forkpoint-bundle"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
ARTIFACTS: Final = "artifacts/"
MAX_MEMBERS: Final = 2_000_000
MAX_MEMBER: Final = 256 * 1024 * 1024
MAX_TOTAL: Final = 4 * 1024 * 1024 * 1024
# Deflate reaches 1,000; JSON of recordings rarely exceeds 20.
MAX_RATIO: Final = 200
_UNPACKED_FREE: Final = 32 * 1024 * 1024
# Of all members together, which are in memory at once.
_UNPACKED_RATIO: Final = 100
# A small member may consist of spaces only.
_ALWAYS_ALLOWED: Final = 1024 * 1024
_RUN: Final = "run.json"
_TABLES: Final = (_RUN, "steps.jsonl", "edges.jsonl", "judgements.jsonl")
# A constant, so that equal runs give equal files.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class BadBundle(ProblemError):
    """A file that is not a bundle, or a damaged bundle."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """A verified bundle."""

    content_digest: str
    run: JSONObject
    steps: list[JSONObject]
    edges: list[JSONObject]
    judgements: list[JSONObject]
    artifacts: dict[str, bytes]
    # Artifacts that the exporting store had lost.
    unavailable: frozenset[str]


def is_bundle(file: IO[bytes]) -> bool:
    """True for a zip with our manifest; the file position is reset to the start."""
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            return MANIFEST in archive.namelist() and "steps.jsonl" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return False
    finally:
        file.seek(0)


def write(
    file: IO[bytes],
    *,
    content_digest: str,
    tables: Mapping[str, bytes],
    artifacts: Iterable[tuple[str, bytes]],
    unavailable: Sequence[str],
) -> None:
    """Write a bundle. `unavailable` is read last, because it may fill up while `artifacts` are consumed."""
    members: dict[str, JSONValue] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _all_members(tables, artifacts):
            members[name] = {"sha256": digest_bytes(data), "size": len(data)}
            _add(archive, name, data)
        identity: JSONObject = {"format": FORMAT, "version": VERSION, "content_digest": content_digest}
        manifest: JSONObject = {**identity, "members": members}
        if unavailable:
            manifest["unavailable"] = [*unavailable]
        _add(archive, MANIFEST, orjson.dumps(manifest))


def to_lines(values: Iterable[JSONObject]) -> bytes:
    """Encode values as JSON Lines."""
    return b"".join(orjson.dumps(value) + b"\n" for value in values)


def read(file: IO[bytes]) -> Bundle:
    """Read and verify a bundle; raise `BadBundle` with the member at fault, or `TooLarge`."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _read(archive)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, OSError) as error:
        raise BadBundle(f"this is not a complete zip file: {error}") from error


def _all_members(tables: Mapping[str, bytes], artifacts: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    yield from tables.items()
    for sha256, data in artifacts:
        yield f"{ARTIFACTS}{sha256}", data


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_STORED if _looks_like_a_bomb(data) else zipfile.ZIP_DEFLATED
    archive.writestr(info, data)


def _looks_like_a_bomb(data: bytes) -> bool:
    """True if readers would reject the compressed member for its ratio: it is then stored uncompressed."""
    # Half of the limit, because another zlib may compress slightly better or worse.
    return len(data) > _ALWAYS_ALLOWED and len(data) > len(zlib.compress(data)) * MAX_RATIO // 2


def _read(archive: zipfile.ZipFile) -> Bundle:
    infos = _members(archive)
    manifest = _manifest(archive, infos)
    entries = manifest["members"]
    if not isinstance(entries, dict) or set(entries) != set(infos) - {MANIFEST}:
        raise BadBundle("the manifest does not list exactly the files of the bundle", where=MANIFEST)
    data = {name: _read_verified(archive, infos[name], entries[name]) for name in entries}
    return Bundle(
        content_digest=str(manifest["content_digest"]),
        run=_run(data),
        steps=_json_lines(data, "steps.jsonl"),
        edges=_json_lines(data, "edges.jsonl"),
        judgements=_json_lines(data, "judgements.jsonl"),
        artifacts=_artifacts(data),
        unavailable=_unavailable(manifest),
    )


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; reject unknown and duplicate names, and sizes beyond the limits."""
    members: dict[str, zipfile.ZipInfo] = {}
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise TooLarge(f"the bundle has {len(infos)} files, more than {MAX_MEMBERS}")
    for info in infos:
        _check_member(info)
        if members.setdefault(info.filename, info) is not info:
            raise BadBundle(f"the bundle contains “{info.filename}” twice", where=info.filename)
    total = sum(info.file_size for info in infos)
    if total > MAX_TOTAL:
        raise TooLarge(f"the bundle unpacks to {total} bytes, more than {MAX_TOTAL}")
    if total > _UNPACKED_FREE + _UNPACKED_RATIO * sum(info.compress_size for info in infos):
        raise BadBundle(f"the bundle unpacks to more than {_UNPACKED_RATIO} times its size")
    return members


def _check_member(info: zipfile.ZipInfo) -> None:
    name = info.filename
    sha256 = name.removeprefix(ARTIFACTS)
    is_artifact = name.startswith(ARTIFACTS) and _is_digest(sha256)
    if not (is_artifact or name == MANIFEST or name in _TABLES):
        raise BadBundle(f"the bundle contains an unexpected file: “{name[:100]}”", where=name[:100])
    if info.flag_bits & 1:
        raise BadBundle(f"{name} is encrypted", where=name)
    if info.file_size > MAX_MEMBER:
        raise TooLarge(f"{name} has {info.file_size} bytes, more than {MAX_MEMBER}", where=name)
    if info.file_size > max(_ALWAYS_ALLOWED, info.compress_size * MAX_RATIO):
        raise BadBundle(f"{name} unpacks to more than {MAX_RATIO} times its size", where=name)


def _manifest(archive: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo]) -> JSONObject:
    if MANIFEST not in infos:
        raise BadBundle(f"the bundle has no {MANIFEST}", where=MANIFEST)
    manifest = _json(_bytes(archive, infos[MANIFEST]), MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BadBundle(f"{MANIFEST} does not declare the format “{FORMAT}”", where=f"{MANIFEST}#/format")
    if manifest.get("version") != VERSION:
        raise BadBundle(
            f"the bundle has version {manifest.get('version')}; this server supports version {VERSION}",
            where=f"{MANIFEST}#/version",
        )
    return {"members": {}, "content_digest": "", **manifest}


def _unavailable(manifest: JSONObject) -> frozenset[str]:
    digests = manifest.get("unavailable", [])
    if not isinstance(digests, list) or not all(isinstance(item, str) and _is_digest(item) for item in digests):
        raise BadBundle("`unavailable` is not a list of artifact digests", where=f"{MANIFEST}#/unavailable")
    return frozenset(map(str, digests))


def _is_digest(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def _read_verified(archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: JSONValue) -> bytes:
    data = _bytes(archive, info)
    expected = as_object(entry)
    if expected.get("size") != len(data) or expected.get("sha256") != digest_bytes(data):
        raise BadBundle(f"{info.filename} does not match the manifest: the bundle is damaged", where=info.filename)
    return data


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read a member, at most as many bytes as its header states: a header can lie."""
    try:
        with archive.open(info) as member:
            data = member.read(info.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise BadBundle(f"{info.filename} is damaged: {error}", where=info.filename) from error
    if len(data) > info.file_size:
        raise BadBundle(f"{info.filename} is longer than its header states", where=info.filename)
    return data


def _artifacts(data: Mapping[str, bytes]) -> dict[str, bytes]:
    artifacts = {name.removeprefix(ARTIFACTS): data[name] for name in data if name.startswith(ARTIFACTS)}
    for sha256, content in artifacts.items():
        if digest_bytes(content) != sha256:
            raise BadBundle(f"artifact {sha256} does not hash to its name", where=f"{ARTIFACTS}{sha256}")
        _json(content, f"{ARTIFACTS}{sha256}")
    return artifacts


def _run(data: Mapping[str, bytes]) -> JSONObject:
    value = _json(data.get(_RUN, b""), _RUN)
    if not isinstance(value, dict):
        raise BadBundle(f"{_RUN} is not an object", where=_RUN)
    return value


def _json_lines(data: Mapping[str, bytes], name: str) -> list[JSONObject]:
    objects = []
    for number, line in enumerate(data.get(name, b"").splitlines(), 1):
        value = _json(line, f"{name}:{number}")
        if not isinstance(value, dict):
            raise BadBundle(f"line {number} of {name} is not an object", where=f"{name}:{number}")
        objects.append(value)
    return objects


def _json(data: bytes, location: str) -> JSONValue:
    try:
        value: JSONValue = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadBundle(f"{location} is not JSON: {error}", where=location) from error
    if (duplicate := duplicate_keys.find(data, value)) is not None:
        raise BadBundle(f"{location}: {duplicate}", where=f"{location}#{duplicate.pointer}")
    return value
