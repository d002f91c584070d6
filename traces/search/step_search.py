"""Search inside a run: find the steps whose payloads, attributes, names or errors contain some words.

Each part of a payload is searched once, however many requests repeat it. A text is found only where it first occurs in
the run: later requests of a conversation, which repeat it in their history, are not listed.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import orjson

from traces.models import Step
from traces.payloads.digest_packing import part_digests
from traces.search.tokens import fold
from traces.storage import artifacts
from traces.storage.artifacts import StoredBytes

_REFERENCE: Final = re.compile(rb'\{"\$part":"[0-9a-f]{64}"\}|"\$(?:blocks|literal)":')
_REFERENCE_MARK: Final = b'"$'
_PAYLOADS: Final = ("input_ref", "output_ref", "attributes_ref")
_COLUMNS: Final = ("name", "summary", "error", "provider", "model", "tool_name", "call_id", "external_id", "type")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """The words in an artifact, one bit per word, and the artifacts that it refers to."""

    words: int
    refers_to: Sequence[str]


def find_steps(run_id: UUID, words: Sequence[str]) -> set[int]:
    """Return the numbers of the steps that contain all of these words, without regard to case and accents."""
    all_words = (1 << len(words)) - 1
    needles = [(fold(word), fold(orjson.dumps(word)[1:-1].decode())) for word in words]
    rows = list(
        Step.objects.filter(run_id=run_id).order_by("sequence_no").values_list("sequence_no", *_PAYLOADS, *_COLUMNS)
    )
    parts = _parts({ref for _, *values in rows for ref in values[: len(_PAYLOADS)] if ref}, needles)
    visits: set[str] = set()
    matches: set[int] = set()
    for number, *values in rows:
        refs, columns = values[: len(_PAYLOADS)], values[len(_PAYLOADS) :]
        step_words = _words_in(fold("\n".join(columns)), needles)
        for part in _new_parts(refs, parts, visits):
            step_words |= part.words
        if step_words == all_words:
            matches.add(number)
    return matches


def _parts(digests: set[str], needles: Sequence[tuple[str, str]]) -> dict[str, _Part]:
    """Search every artifact of these payloads; missing and damaged ones are skipped."""
    parts: dict[str, _Part] = {}
    while digests:
        for artifact in artifacts.verify(digests):
            if isinstance(artifact, StoredBytes):
                parts[artifact.sha256] = _search(artifact.data, needles)
        digests = {ref for digest in digests & parts.keys() for ref in parts[digest].refers_to if ref not in parts}
    return parts


def _search(data: bytes, needles: Sequence[tuple[str, str]]) -> _Part:
    text = _REFERENCE.sub(b"", data) if _REFERENCE_MARK in data else data
    return _Part(words=_words_in(fold(text.decode(errors="replace")), needles), refers_to=part_digests(data))


def _words_in(text: str, needles: Sequence[tuple[str, str]]) -> int:
    """Return the words in a text, plain or escaped as in JSON."""
    return sum(1 << index for index, (word, json_word) in enumerate(needles) if word in text or json_word in text)


def _new_parts(refs: Iterable[str], parts: dict[str, _Part], visits: set[str]) -> Iterator[_Part]:
    """Yield the parts that no earlier step contains, and add them to `visits`."""
    stack = [ref for ref in refs if ref]
    while stack:
        ref = stack.pop()
        if ref in visits or ref not in parts:
            continue
        visits.add(ref)
        yield parts[ref]
        stack += parts[ref].refers_to
