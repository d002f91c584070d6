"""The file of a portable run: a zip of a manifest with the hash of every member, the run, its steps and its artifacts.

=====================  ================================================================================
member                 what it holds
=====================  ================================================================================
manifest.json          format, version, content digest of the run, SHA-256 and size of every member, and
                       under `unavailable` the artifacts that the exporting store had lost, where there are any
run.json               the run's columns, and where it was derived from
steps.jsonl            one step a line, in sequence order
edges.jsonl            one provenance edge a line
judgements.jsonl       one judgement a line; absent where there is none, and no part of the content digest
artifacts/<sha256>     the bytes that hash to this name
=====================  ================================================================================

A bundle is read as a hostile file: nothing is unpacked to disk, no member is read beyond the size that the
manifest gives, and every byte is hashed.
"""

import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final

import orjson

from traces.core import duplicate_keys
from traces.core.canonical import digest_bytes
from traces.core.json_types import JSONObject, JSONValue
from traces.errors import ProblemError, TooLarge

FORMAT: Final = "forkpoint-bundle"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
ARTIFACTS: Final = "artifacts/"
MAX_MEMBERS: Final = 2_000_000
MAX_MEMBER: Final = 256 * 1024 * 1024
MAX_TOTAL: Final = 4 * 1024 * 1024 * 1024
MAX_RATIO: Final = 200  # deflate reaches 1,000; JSON of recordings seldom 20
_UNPACKED_FREE: Final = 32 * 1024 * 1024
_UNPACKED_RATIO: Final = 100  # of all members together, which are in memory at once
_ALWAYS_ALLOWED: Final = 1024 * 1024  # a small member may well be all spaces
_TABLES: Final = ("run.json", "steps.jsonl", "edges.jsonl", "judgements.jsonl")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # so that equal runs give equal files


class BadBundle(ProblemError):
    """A bundle that is not one, or that is damaged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """A read and checked bundle."""

    content_digest: str
    run: JSONObject
    steps: list[JSONObject]
    edges: list[JSONObject]
    judgements: list[JSONObject]
    artifacts: dict[str, bytes]
    unavailable: frozenset[str]  # artifacts that the exporting store had lost


def is_bundle(file: IO[bytes]) -> bool:
    """Whether it is a zip with our manifest; the position is left at the start."""
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
    """Write a bundle; `artifacts` are consumed one by one, and only then is it known which are `unavailable`."""
    members: dict[str, JSONValue] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _all_members(tables, artifacts):
            members[name] = {"sha256": digest_bytes(data), "size": len(data)}
            _add(archive, name, data)
        manifest: JSONObject = {
            "format": FORMAT,
            "version": VERSION,
            "content_digest": content_digest,
            "members": members,
        }
        if unavailable:
            manifest["unavailable"] = [*unavailable]
        _add(archive, MANIFEST, orjson.dumps(manifest))


def lines(values: Iterable[JSONObject]) -> bytes:
    """JSON Lines."""
    return b"".join(orjson.dumps(value) + b"\n" for value in values)


def read(file: IO[bytes]) -> Bundle:
    """Read a bundle whole; raises `BadBundle` naming the member, or `TooLarge`."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _read(archive)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, OSError) as error:
        raise BadBundle(f"this is not a whole zip file: {error}") from error


def _all_members(tables: Mapping[str, bytes], artifacts: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    yield from tables.items()
    for sha256, data in artifacts:
        yield f"{ARTIFACTS}{sha256}", data


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_STORED if _looks_like_a_bomb(data) else zipfile.ZIP_DEFLATED
    archive.writestr(info, data)


def _looks_like_a_bomb(data: bytes) -> bool:
    """Whether it would unpack to so much that whoever reads it refuses: such a member goes as it is."""
    # Half of what is refused: another reader's limit is the same, another zlib packs a little better or worse.
    return len(data) > _ALWAYS_ALLOWED and len(data) > len(zlib.compress(data)) * MAX_RATIO // 2


def _read(archive: zipfile.ZipFile) -> Bundle:
    infos = _members(archive)
    manifest = _manifest(archive, infos)
    listed = manifest["members"]
    if not isinstance(listed, dict) or set(listed) != set(infos) - {MANIFEST}:
        raise BadBundle("the manifest does not list exactly the files of the bundle", where=MANIFEST)
    data = {name: _checked(archive, infos[name], listed[name]) for name in listed}
    return Bundle(
        content_digest=str(manifest["content_digest"]),
        run=_one(data, "run.json"),
        steps=_many(data, "steps.jsonl"),
        edges=_many(data, "edges.jsonl"),
        judgements=_many(data, "judgements.jsonl"),
        artifacts=_artifacts(data),
        unavailable=_unavailable(manifest),
    )


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members by name: only names that we write, each once, within the limits."""
    found: dict[str, zipfile.ZipInfo] = {}
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise TooLarge(f"the bundle has {len(infos)} files, more than {MAX_MEMBERS}")
    for info in infos:
        _check_member(info)
        if found.setdefault(info.filename, info) is not info:
            raise BadBundle(f"the bundle holds {info.filename!r} twice", where=info.filename)
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MAX_TOTAL:
        raise TooLarge(f"the bundle holds more than {MAX_TOTAL} bytes")
    if unpacked > _UNPACKED_FREE + _UNPACKED_RATIO * sum(info.compress_size for info in infos):
        raise BadBundle(f"the bundle unpacks to more than {_UNPACKED_RATIO} times its size")
    return found


def _check_member(info: zipfile.ZipInfo) -> None:
    name = info.filename
    sha256 = name.removeprefix(ARTIFACTS)
    is_artifact = name.startswith(ARTIFACTS) and _is_digest(sha256)
    if not (is_artifact or name == MANIFEST or name in _TABLES):
        raise BadBundle(f"the bundle holds {name[:100]!r}, which no bundle does", where=name[:100])
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
        raise BadBundle(f"{MANIFEST} does not say that its format is {FORMAT!r}", where=f"{MANIFEST}#/format")
    if manifest.get("version") != VERSION:
        raise BadBundle(
            f"the bundle has version {manifest.get('version')}; this server reads {VERSION}",
            where=f"{MANIFEST}#/version",
        )
    return {"members": {}, "content_digest": "", **manifest}


def _unavailable(manifest: JSONObject) -> frozenset[str]:
    listed = manifest.get("unavailable", [])
    if not isinstance(listed, list) or not all(isinstance(one, str) and _is_digest(one) for one in listed):
        raise BadBundle("`unavailable` is no list of artifacts", where=f"{MANIFEST}#/unavailable")
    return frozenset(map(str, listed))


def _is_digest(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def _checked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, listed: JSONValue) -> bytes:
    data = _bytes(archive, info)
    said = listed if isinstance(listed, dict) else {}
    if said.get("size") != len(data) or said.get("sha256") != digest_bytes(data):
        raise BadBundle(f"{info.filename} is not what the manifest says: the bundle is damaged", where=info.filename)
    return data


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, never more than its header says: a header can lie."""
    try:
        with archive.open(info) as member:
            data = member.read(info.file_size + 1)
    except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError) as error:
        raise BadBundle(f"{info.filename} is damaged: {error}", where=info.filename) from error
    if len(data) > info.file_size:
        raise BadBundle(f"{info.filename} is longer than it says", where=info.filename)
    return data


def _artifacts(data: Mapping[str, bytes]) -> dict[str, bytes]:
    artifacts = {name.removeprefix(ARTIFACTS): data[name] for name in data if name.startswith(ARTIFACTS)}
    for sha256, content in artifacts.items():
        if digest_bytes(content) != sha256:
            raise BadBundle(f"artifact {sha256} does not hash to its name", where=f"{ARTIFACTS}{sha256}")
        _json(content, f"{ARTIFACTS}{sha256}")
    return artifacts


def _one(data: Mapping[str, bytes], name: str) -> JSONObject:
    value = _json(data.get(name, b""), name)
    if not isinstance(value, dict):
        raise BadBundle(f"{name} is not an object", where=name)
    return value


def _many(data: Mapping[str, bytes], name: str) -> list[JSONObject]:
    found = []
    for number, line in enumerate(data.get(name, b"").splitlines(), 1):
        value = _json(line, f"{name}:{number}")
        if not isinstance(value, dict):
            raise BadBundle(f"line {number} of {name} is not an object", where=f"{name}:{number}")
        found.append(value)
    return found


def _json(data: bytes, where: str) -> JSONValue:
    try:
        value: JSONValue = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadBundle(f"{where} is not JSON: {error}", where=where) from error
    if (twice := duplicate_keys.find(data, value)) is not None:
        raise BadBundle(f"{where}: {twice}", where=f"{where}#{twice.pointer}")
    return value
