"""Contents of steps from stored parts, each part read once: a conversation's history is not read again. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.inspection.core.places import ANSWERS, CALLS, CONTAINERS, StepContent
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.parts import assemble, references


@dataclass
class _Reader:
    """Stored parts, and those that an earlier step has shown."""

    stored: Mapping[str, JSONValue]
    seen: set[str] = field(default_factory=set)
    has_asked: bool = False
    lost: int = 0  # parts that were looked for and are not stored

    def new(self, ref: str, *, history: bool) -> Iterator[JSONValue]:
        """Parts that no earlier step was given; a model's own answers support nothing but as its first `history`."""
        waiting = [ref]
        while waiting:
            digest = waiting.pop()
            if digest in self.seen:
                continue
            if digest not in self.stored:
                self.lost += 1
                continue
            self.seen.add(digest)
            value = self.stored[digest]
            if history or not _is_answer(value):
                yield value
                waiting += references(value)

    def whole(self, ref: str) -> JSONValue:
        """A value with all of its parts; None where one of them is missing, or nothing was recorded."""
        if not ref:
            return None
        try:
            return assemble(self.stored[ref], self.stored)
        except LookupError:
            self.lost += 1
            return None


def closure(digests: Iterable[str], load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> dict[str, JSONValue]:
    """Stored parts of values, as many of them as there are."""
    stored: dict[str, JSONValue] = {}
    asked: set[str] = set()
    wanted = {digest for digest in digests if digest}
    while wanted:
        asked |= wanted
        found = load(wanted)
        stored.update(found)
        wanted = {ref for value in found.values() for ref in references(value) if ref not in asked}
    return stored


def contents(
    rows: Sequence[Mapping[str, Any]], stored: Mapping[str, JSONValue], producers: Mapping[int, Sequence[int]]
) -> list[StepContent]:
    """Steps from their columns, in order."""
    reader = _Reader(stored)
    return [_content(row, reader, tuple(producers.get(row["sequence_no"], ()))) for row in rows]


def _content(row: Mapping[str, Any], reader: _Reader, producers: tuple[int, ...]) -> StepContent:
    type, lost = StepType(row["type"]), reader.lost
    given: list[JSONValue] = []
    is_opening = type is StepType.MODEL and not reader.has_asked
    if type not in CONTAINERS and type not in CALLS and row["input_ref"]:
        given = list(reader.new(row["input_ref"], history=not reader.has_asked))
        reader.has_asked = reader.has_asked or type is StepType.MODEL
    input = reader.whole(row["input_ref"]) if type in CALLS else None
    output = None if type in CONTAINERS else reader.whole(row["output_ref"])
    return StepContent(
        no=row["sequence_no"],
        type=type,
        name=row["tool_name"] or row["name"],
        status=StepStatus(row["status"]),
        error=row["error"],
        signature=row["signature"],
        given=given,
        input=input,
        output=output,
        producers=producers,
        is_opening=is_opening,
        is_unread=reader.lost > lost,
    )


def _is_answer(value: JSONValue) -> bool:
    return isinstance(value, dict) and value.get("role") in ANSWERS
