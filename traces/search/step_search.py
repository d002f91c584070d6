"""Search inside a run: find the steps whose payloads, attributes, names or errors contain some words.

Each part of a payload is searched once, however many requests repeat it. A text is found only where it first occurs in
the run: later requests of a conversation, which repeat it in their history, are not listed.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from traces.core.gc_pause import without_pauses
from traces.models import Step
from traces.payloads.digest_packing import part_digests
from traces.search.tokens import fold
from traces.storage import artifacts
from traces.storage.artifacts import StoredBytes

_REFERENCE: Final = re.compile(rb'\{"\$part":"[0-9a-f]{64}"\}|"\$(?:blocks|literal)":')
_REFERENCE_MARK: Final = b'"$'
_PAYLOADS: Final = ("input_ref", "output_ref", "attributes_ref")
_COLUMNS: Final = ("name", "summary", "error", "provider", "model", "tool_name", "call_id", "external_id", "type")
# The bit of a word, and a folded text to find it by.
_Needle = tuple[int, str]


class _Part(NamedTuple):
    """The words in an artifact, one bit per word, and the artifacts that it refers to."""

    words: int
    refers_to: Sequence[str]


@without_pauses()
def find_steps(run_id: UUID, words: Sequence[str]) -> set[int]:
    """Return the numbers of the steps that contain all of these words, without regard to case and accents."""
    all_words = (1 << len(words)) - 1
    needles = list(_needles(words))
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


def _needles(words: Sequence[str]) -> Iterator[_Needle]:
    """Yield each word, plain and, where that differs, escaped as in JSON."""
    for index, word in enumerate(words):
        for form in {fold(word), fold(orjson.dumps(word)[1:-1].decode())}:
            yield 1 << index, form


def _parts(digests: set[str], needles: Sequence[_Needle]) -> dict[str, _Part]:
    """Search every artifact of these payloads; missing and damaged ones are skipped."""
    parts: dict[str, _Part] = {}
    while digests:
        for artifact in artifacts.verify(digests):
            if isinstance(artifact, StoredBytes):
                parts[artifact.sha256] = _search(artifact.data, needles)
        digests = {ref for digest in digests & parts.keys() for ref in parts[digest].refers_to if ref not in parts}
    return parts


def _search(data: bytes, needles: Sequence[_Needle]) -> _Part:
    if _REFERENCE_MARK not in data:
        return _Part(_words_in(fold(data.decode(errors="replace")), needles), ())
    text = _REFERENCE.sub(b"", data).decode(errors="replace")
    return _Part(_words_in(fold(text), needles), part_digests(data))


def _words_in(text: str, needles: Sequence[_Needle]) -> int:
    words = 0
    for bit, form in needles:
        if form in text:
            words |= bit
    return words


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
