"""The calls of a recording, and how they are found. Pure."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from traces.core.canonical import canonical_bytes, digest
from traces.core.json_types import JSONObject, JSONValue

# What may be an id.
_WORD: Final = re.compile(r"[A-Za-z0-9_-]{6,}")
# What is before the task or job in the name of a lane that works on one.
_JOB: Final = "/"


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """A recorded model call: the number of its step, and its request as the step has it.

    `strict` are the fields in which no value is volatile: provider, model and headers. It lasted from `start_s` to
    `end_s`; both are zero if that is not known. `ref` names the stored request, and `sent_digest` its bytes as the
    agent sent them, `content_digest` what in them the answer depends on: the stored request lacks some of it. They are
    empty if that is not known. `server` is what is known of the MCP server of a tool. Equal answers have the same
    `answer`. `lane` is the thread or task that made the call, `call_id` what the model called it; empty if not known.
    """

    no: int
    request: JSONObject
    strict: JSONObject
    start_s: float = 0.0
    end_s: float = 0.0
    ref: str = ""
    sent_digest: str = ""
    content_digest: str = ""
    server: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    has_failed: bool = False
    lane: str = ""
    call_id: str = ""

    @cached_property
    def digest(self) -> str:
        return digest([self.strict, self.request])


class RecordedCalls:
    """The calls of a recording in order. What is looked up among them is computed once, for all calls of an agent."""

    def __init__(self, requests: Sequence[RecordedRequest]) -> None:
        self.requests = requests
        self._kinds: dict[str, RecordedCalls] = {}

    def of_kind(self, tool_api: str) -> "RecordedCalls":
        """Return the model calls, or those of an API that no model answers."""
        if tool_api not in self._kinds:
            requests = [request for request in self.requests if request.strict.get("api", "") == tool_api]
            self._kinds[tool_api] = RecordedCalls(requests)
        return self._kinds[tool_api]

    @cached_property
    def by_digest(self) -> Mapping[str, Sequence[RecordedRequest]]:
        """Equal requests, by their digests."""
        requests: dict[str, list[RecordedRequest]] = defaultdict(list)
        for request in self.requests:
            requests[request.digest].append(request)
        return requests

    @cached_property
    def by_sent_digest(self) -> Mapping[str, Sequence[RecordedRequest]]:
        """Equal requests that were all sent as the same bytes, by the digests of these.

        A request of these bytes equals exactly them, so that it need not be read.
        """
        equal_requests: dict[tuple[str, bytes], list[RecordedRequest]] = defaultdict(list)
        for request in self.requests:
            equal_requests[request.ref, canonical_bytes(request.strict)].append(request)
        requests: dict[str, Sequence[RecordedRequest]] = {}
        ambiguous = {""}
        for group in equal_requests.values():
            digests = {request.sent_digest for request in group}
            if len(digests) > 1 or digests & requests.keys():
                ambiguous |= digests
            requests |= dict.fromkeys(digests, group)
        return {name: group for name, group in requests.items() if name not in ambiguous}

    def count_of(self, call_id: str) -> int:
        """Return how many calls of tools have an id of the model."""
        return self._call_ids[call_id] if call_id else 0

    @cached_property
    def _call_ids(self) -> Counter[str]:
        return Counter(request.call_id for request in self.requests)

    def contains(self, id: str) -> bool:
        """Return whether any request contains an id as a word."""
        return id in self._words

    @cached_property
    def _words(self) -> frozenset[str]:
        texts = _texts([request.request for request in self.requests], set())
        return frozenset(word for text in texts for word in _WORD.findall(text) if not word.isalpha())

    def rivals_of(self, call: RecordedRequest) -> Sequence[int]:
        """Return the equal calls with other answers from which nothing tells this one apart; it is among them."""
        return self._rivals.get(call.no, ())

    @cached_property
    def _rivals(self) -> Mapping[int, Sequence[int]]:
        """Equal calls of an agent that does one thing after another are told apart by their order.

        Of several threads, tasks or processes, each may be the first one next time.
        """
        rivals: dict[int, Sequence[int]] = {}
        equal_calls: dict[tuple[str, str, bytes], list[RecordedRequest]] = defaultdict(list)
        for call in self.requests:
            # Long conversations are equal if their references are: no need to read them.
            key = call.ref or call.digest, call.content_digest, canonical_bytes(call.strict)
            equal_calls[key].append(call)
        for calls in equal_calls.values():
            if len({call.answer for call in calls}) > 1 and self._may_change_places(calls):
                numbers = tuple(call.no for call in calls)
                rivals |= dict.fromkeys(numbers, numbers)
        return rivals

    def _may_change_places(self, calls: Sequence[RecordedRequest]) -> bool:
        """Return whether equal calls may come in another order, as far as the recording shows."""
        lanes = {call.lane.partition(_JOB)[0] for call in calls}
        if "" not in lanes:
            return len(lanes) > 1
        # All but one failed: as a rule they are the attempts of one call, one after another.
        is_repeated = sum(not call.has_failed for call in calls) <= 1
        start_s, end_s = min(call.start_s for call in calls), max(call.end_s for call in calls)
        overlaps = _overlaps(calls) if is_repeated else self._overlaps
        return any(overlap_start < end_s and overlap_end > start_s for overlap_start, overlap_end in overlaps)

    @cached_property
    def _overlaps(self) -> Sequence[tuple[float, float]]:
        return _overlaps(self.requests)

    def answered_before(self, call: RecordedRequest) -> list[int]:
        """Return the calls that were open at the same time as this one and were answered before it."""
        ends = self._ends
        first = bisect_right(ends, call.start_s, key=lambda request: request.end_s)
        last = bisect_left(ends, call.end_s, key=lambda request: request.end_s)
        return sorted(request.no for request in ends[first:last])

    @cached_property
    def _ends(self) -> Sequence[RecordedRequest]:
        return sorted(self.requests, key=lambda request: request.end_s)


def call_of_lane(calls: Sequence[RecordedRequest], lane: str) -> RecordedRequest | None:
    """Return the one of these equal calls that a thread or task of the running agent most likely makes; None of none.

    It is the first call of the recorded lane with the same number: a program that does the same numbers them alike. A
    call of an unknown lane comes next, then any other, each in recorded order.
    """
    return min(calls, key=lambda call: lane_distance(call.lane, lane), default=None)


def lane_distance(old_lane: str, new_lane: str) -> int:
    """Return how much speaks against two lanes being the same one of the agent's code: 0, 1 if that is not known, 2."""
    if not old_lane or not new_lane:
        return 1
    return 0 if _place(old_lane) == _place(new_lane) else 2


def _place(lane: str) -> str:
    """Return the number of a lane in its process, or of the task or job that it works on."""
    place, separator, job = lane.rpartition("-")[2].partition(_JOB)
    return separator + job or place


def may_be_equal(old_digest: str, new_digest: str) -> bool:
    """Return whether two contents may be equal: one of their digests is not known, or they are the same."""
    return not old_digest or not new_digest or old_digest == new_digest


def _overlaps(calls: Sequence[RecordedRequest]) -> list[tuple[float, float]]:
    """Return when two calls were open at once."""
    overlaps: list[tuple[float, float]] = []
    last_end_s = 0.0
    for call in sorted(calls, key=lambda request: request.start_s):
        if call.start_s < last_end_s:
            overlaps.append((call.start_s, min(call.end_s, last_end_s)))
        last_end_s = max(last_end_s, call.end_s)
    return overlaps


def _texts(value: JSONValue | Sequence[JSONValue], visited_ids: set[int]) -> Iterator[str]:
    """Yield the texts of a value; messages that requests share once."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | Sequence) and id(value) not in visited_ids:
        visited_ids.add(id(value))
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, visited_ids)
