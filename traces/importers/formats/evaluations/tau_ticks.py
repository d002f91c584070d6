"""Messages of full-duplex simulations of tau2-bench, in which both sides speak in chunks, one per tick."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from traces.core.json_access import as_list, as_number, as_object, as_objects, as_text, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage

_ROLES: Final = {"agent": "assistant", "user": "user"}
# Members of a chunk that are read, or true of this chunk only.
_CHUNK_FIELDS: Final = (
    *("role", "content", "tool_calls", "timestamp", "turn_idx", "cost"),
    *("chunk_id", "is_final_chunk", "utterance_ids", "contains_speech"),
)


@dataclass(kw_only=True)
class _Utterance:
    """What one side says in consecutive chunks, and the calls at its end."""

    role: str
    location: str
    started_at: datetime | None
    ids: set[str]
    texts: list[str] = field(default_factory=list)
    calls: list[JSONValue] = field(default_factory=list)
    time: JSONValue = None
    cost: float = 0.0
    details: JSONObject = field(default_factory=dict)

    def message(self) -> TranscriptMessage:
        value: JSONObject = {"role": self.role, "content": "".join(self.texts) or None, "timestamp": self.time}
        if self.calls:
            value["tool_calls"] = self.calls
        if self.cost:
            value["cost"] = self.cost
        return TranscriptMessage(value=value | self.details, location=self.location, started_at=self.started_at)


def read_ticks(ticks: JSONValue, location: str) -> list[TranscriptMessage]:
    """Return the messages of all ticks in the order in which they began."""
    transcript = _Transcript()
    for index, tick in enumerate(as_objects(ticks)):
        for side in _ROLES:
            transcript.add(side, tick, f"{location}/{index}")
    return [entry.message() if isinstance(entry, _Utterance) else entry for entry in transcript.entries]


class _Transcript:
    def __init__(self) -> None:
        self.entries: list[_Utterance | TranscriptMessage] = []
        # The last utterance of each side, until it calls tools.
        self._current: dict[str, _Utterance] = {}

    def add(self, side: str, tick: JSONObject, location: str) -> None:
        """Add what one side says, calls and gets in a tick."""
        chunk, calls = as_object(tick.get(f"{side}_chunk")), as_list(tick.get(f"{side}_tool_calls"))
        if as_text(chunk.get("content")):
            self._speak(side, chunk, tick, location)
        if calls:
            current = self._current.pop(side, None)
            if current is None or current is not self.entries[-1]:
                current = self._begin(side, tick, set(), location)
            current.calls, current.time = calls, tick.get("timestamp")
        results: Iterable[JSONValue] = as_list(tick.get(f"{side}_tool_results"))
        self.entries += [TranscriptMessage(value=result, location=location) for result in results]

    def _speak(self, side: str, chunk: JSONObject, tick: JSONObject, location: str) -> None:
        ids = {as_text(item) for item in as_list(chunk.get("utterance_ids"))}
        current = self._current.get(side)
        if current is None or not self._continues(current, ids):
            current = self._current[side] = self._begin(side, tick, ids, location)
        current.ids |= ids
        current.texts.append(as_text(chunk["content"]))
        current.time = tick.get("timestamp")
        current.cost += as_number(chunk.get("cost")) or 0
        current.details |= {name: item for name, item in omit(chunk, *_CHUNK_FIELDS).items() if item}

    def _continues(self, current: _Utterance, ids: set[str]) -> bool:
        """Return whether a chunk continues an utterance, maybe across one of the other side."""
        return not ids.isdisjoint(current.ids) if ids and current.ids else current is self.entries[-1]

    def _begin(self, side: str, tick: JSONObject, ids: set[str], location: str) -> _Utterance:
        started_at = parse_time(tick.get("timestamp"), location)
        utterance = _Utterance(role=_ROLES[side], location=location, started_at=started_at, ids=set(ids))
        self.entries.append(utterance)
        return utterance
