"""Search inside a run: which of its steps hold some words, anywhere in their payloads, attributes, names and errors.

Each part of a payload is looked at once, however many requests repeat it, and a text is found where it first occurs in
the run: a conversation's later requests, which have it in their history, are not listed again.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import orjson

from traces.models import Step
from traces.payloads.digest_packing import part_digests
from traces.storage import artifacts
from traces.storage.artifacts import StoredBytes

_REFERENCE: Final = re.compile(rb'\{"\$part":"[0-9a-f]{64}"\}|"\$(?:blocks|literal)":')
_RESERVED: Final = b'"$'
_PAYLOADS: Final = ("input_ref", "output_ref", "attributes_ref")
_COLUMNS: Final = ("name", "summary", "error", "provider", "model", "tool_name", "call_id", "external_id", "type")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """Which words an artifact holds, a bit for each, and the artifacts that it refers to."""

    words: int
    refers_to: Sequence[str]


def steps_with(run_id: UUID, words: Sequence[str]) -> set[int]:
    """The numbers of the steps that hold all of these lower-case words."""
    wanted = (1 << len(words)) - 1
    needles = [(word, orjson.dumps(word)[1:-1].decode()) for word in words]
    rows = list(
        Step.objects.filter(run_id=run_id).order_by("sequence_no").values_list("sequence_no", *_PAYLOADS, *_COLUMNS)
    )
    parts = _parts({ref for _, *values in rows for ref in values[: len(_PAYLOADS)] if ref}, needles)
    seen: set[str] = set()
    found: set[int] = set()
    for number, *values in rows:
        refs, columns = values[: len(_PAYLOADS)], values[len(_PAYLOADS) :]
        held = _words_in("\n".join(columns).lower(), needles)
        for part in _new(refs, parts, seen):
            held |= part.words
        if held == wanted:
            found.add(number)
    return found


def _parts(digests: set[str], needles: Sequence[tuple[str, str]]) -> dict[str, _Part]:
    """What every artifact of these payloads holds; missing and damaged ones hold nothing."""
    parts: dict[str, _Part] = {}
    while digests:
        for stored in artifacts.verify(digests):
            if isinstance(stored, StoredBytes):
                parts[stored.sha256] = _looked_at(stored.data, needles)
        digests = {ref for each in digests & parts.keys() for ref in parts[each].refers_to if ref not in parts}
    return parts


def _looked_at(data: bytes, needles: Sequence[tuple[str, str]]) -> _Part:
    text = _REFERENCE.sub(b"", data) if _RESERVED in data else data
    return _Part(words=_words_in(text.decode(errors="replace").lower(), needles), refers_to=part_digests(data))


def _words_in(text: str, needles: Sequence[tuple[str, str]]) -> int:
    """The words in a text, as they are or as JSON writes them."""
    return sum(1 << at for at, (word, escaped) in enumerate(needles) if word in text or escaped in text)


def _new(refs: Iterable[str], parts: dict[str, _Part], seen: set[str]) -> Iterator[_Part]:
    """The parts that no earlier step had; they are in `seen` from now on."""
    left = [ref for ref in refs if ref]
    while left:
        ref = left.pop()
        if ref in seen or ref not in parts:
            continue
        seen.add(ref)
        yield parts[ref]
        left += parts[ref].refers_to
