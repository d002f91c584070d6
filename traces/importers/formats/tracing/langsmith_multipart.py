"""Multipart bodies of LangSmith clients, as batches.

A run has a part `post.{id}` or `patch.{id}` and one for each large field, for example `post.{id}.inputs`. Attachments
(`attachment.{id}.{name}`) become a field of their run, as base64.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value

_NAME: Final = re.compile(r'name="(post|patch|attachment|feedback)\.([^".]+)(?:\.([^"]+))?"')
_TYPE: Final = re.compile(r"^content-type:[ \t]*([^\r\n]+)", re.I | re.M)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One part: `verb` and `id` of the record that it belongs to, and the record's field (empty: the record)."""

    verb: str
    id: str
    field: str
    media_type: str
    body: bytes
    offset: int

    @property
    def value(self) -> JSONValue:
        """The JSON of the part. Raises `BadFile`."""
        try:
            return json_value(self.body)
        except BadFile as problem:
            raise problem.prefix_location(f"the part at byte {self.offset}") from problem


def is_multipart(head: bytes) -> bool:
    return head.startswith(b"--") and b'form-data; name="' in head[:2000]


def read_parts(data: bytes) -> Iterator[Part]:
    """Yield the parts of records; the first line is the boundary. Raises `BadFile` if the last boundary is missing."""
    boundary = data.split(b"\n", 1)[0].rstrip(b"\r")
    if not data.rstrip().endswith(boundary + b"--"):
        raise BadFile("the multipart body ends before its last boundary", f"byte {len(data)}")
    offset = 0
    for part in data.split(boundary):
        headers, _, body = part.partition(b"\r\n\r\n")
        header_text = headers.decode("latin-1")
        if match := _NAME.search(header_text):
            media_type = _TYPE.search(header_text)
            yield Part(
                verb=match[1],
                id=match[2],
                field=match[3] or "",
                media_type=media_type[1] if media_type else "",
                body=body.removesuffix(b"\r\n"),
                offset=offset,
            )
        offset += len(part) + len(boundary)


def read_batch(data: bytes, problems: list[BadFile] | None = None) -> JSONObject:
    """Assemble the parts of a body into a batch. Raises `BadFile`.

    With `problems`, records with an unreadable part are left out, and the reasons added to it.
    """
    records: dict[tuple[str, str], JSONObject] = {}
    broken_records: set[tuple[str, str]] = set()
    parts = list(read_parts(data))
    verbs = {part.id: part.verb for part in reversed(parts) if part.verb != "attachment"}
    for part in parts:
        key = (verbs.get(part.id, "patch") if part.verb == "attachment" else part.verb, part.id)
        record = records.setdefault(key, {"id": part.id})
        try:
            _add_part(record, part)
        except BadFile as problem:
            if problems is None:
                raise
            problems.append(problem)
            broken_records.add(key)
    batch: JSONObject = {"post": [], "patch": [], "feedback": []}
    for (verb, id), record in records.items():
        entries = batch[verb]
        if (verb, id) not in broken_records and isinstance(entries, list):
            entries.append(record)
    return batch


def _add_part(record: JSONObject, part: Part) -> None:
    if part.verb == "attachment":
        attachments = as_object(record.setdefault("attachments", {}))
        # The SDK adds the length, because a part of a form has no other place for it.
        media_type = part.media_type.partition(";")[0].strip()
        attachments[part.field] = {"media_type": media_type, "data": b64encode(part.body).decode()}
    elif part.field:
        record[part.field] = part.value
    else:
        record.update(as_object(part.value))
