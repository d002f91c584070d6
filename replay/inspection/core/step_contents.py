"""Step contents from stored parts; each part is read once, so a conversation's history is not read again. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.inspection.core.places import ANSWERS, CALLS, CONTAINERS, StepContent
from traces.core.json_access import as_text, member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.parts import assemble, references


@dataclass
class _Reader:
    """Stored parts, and the digests of those that earlier steps contain."""

    parts: Mapping[str, JSONValue]
    read_digests: set[str] = field(default_factory=set)
    has_read_request: bool = False
    missing_count: int = 0  # parts that were looked for and are not stored

    def new(self, ref: str, *, history: bool) -> Iterator[JSONValue]:
        """Parts that no earlier step received; a model's own answers count only in the first request (`history`)."""
        pending = [ref]
        while pending:
            digest = pending.pop()
            if digest in self.read_digests:
                continue
            if digest not in self.parts:
                self.missing_count += 1
                continue
            self.read_digests.add(digest)
            value = self.parts[digest]
            if history or not _is_answer(value):
                yield value
                pending += references(value)

    def whole(self, ref: str) -> JSONValue:
        """A value with all of its parts; None if a part is missing or nothing was recorded."""
        if not ref:
            return None
        try:
            return assemble(self.parts[ref], self.parts)
        except LookupError:
            self.missing_count += 1
            return None


def closure(digests: Iterable[str], load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> dict[str, JSONValue]:
    """Stored parts of values, recursively; missing ones are left out."""
    parts: dict[str, JSONValue] = {}
    requested_digests: set[str] = set()
    pending = {digest for digest in digests if digest}
    while pending:
        requested_digests |= pending
        batch = load(pending)
        parts.update(batch)
        pending = {ref for value in batch.values() for ref in references(value) if ref not in requested_digests}
    return parts


def contents(
    rows: Sequence[Mapping[str, Any]], parts: Mapping[str, JSONValue], producers: Mapping[int, Sequence[int]]
) -> list[StepContent]:
    """Contents of steps from their columns, in order."""
    reader = _Reader(parts)
    return [_content(row, reader, tuple(producers.get(row["sequence_no"], ()))) for row in rows]


def _content(row: Mapping[str, Any], reader: _Reader, producers: tuple[int, ...]) -> StepContent:
    type, missing_count = StepType(row["type"]), reader.missing_count
    new_inputs: list[JSONValue] = []
    is_opening = type is StepType.MODEL and not reader.has_read_request
    if type not in CONTAINERS and type not in CALLS and row["input_ref"]:
        new_inputs = list(reader.new(row["input_ref"], history=not reader.has_read_request))
        reader.has_read_request = reader.has_read_request or type is StepType.MODEL
    input = reader.whole(row["input_ref"]) if type in CALLS else None
    output = None if type in CONTAINERS else reader.whole(row["output_ref"])
    return StepContent(
        no=row["sequence_no"],
        type=type,
        name=row["tool_name"] or row["name"],
        status=StepStatus(row["status"]),
        error=row["error"],
        signature=row["signature"],
        new_inputs=new_inputs,
        input=input,
        output=output,
        producers=producers,
        is_opening=is_opening,
        is_unread=reader.missing_count > missing_count,
    )


def _is_answer(value: JSONValue) -> bool:
    return as_text(member(value, "role")) in ANSWERS
