"""Matcher: which call of a recording a request of the running agent is. Pure.

A request that equals a recorded one is that call, whatever other calls came before it: equal ones in recorded order.
Else it is the recorded call from which it differs only in volatile values and in fields that the app ignores. Each
recorded call is matched once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from replay.reruns.core.comparison import ABSENT, Difference, first_difference
from replay.reruns.core.recorded_calls import (
    RecordedCalls,
    RecordedRequest,
    call_of_lane,
    lane_distance,
    may_be_equal,
)
from replay.reruns.core.renaming import Renaming, Trial, nothing_is_meant
from replay.reruns.core.volatile_values.volatile_tokens import ID_KINDS, Kind
from traces.core.canonical import digest, escape_pointer
from traces.core.json_access import as_list
from traces.core.json_types import JSONObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """The recorded call that a request is."""

    call: RecordedRequest
    is_equal: bool
    # Kind, old value and new value of what this request renames.
    renames: Sequence[tuple[str, str, str]] = ()
    # Whether it differs in what the recording lacks.
    has_other_content: bool = False
    # Equal calls with other answers, of which it may be any.
    rivals: Sequence[int] = ()

    @property
    def is_exact(self) -> bool:
        """Whether it is this call for certain."""
        return self.is_equal and not self.has_other_content and not self.rivals


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """A request that is none of the recorded calls left: the nearest of them, and the first difference from it."""

    nearest: RecordedRequest | None = None
    difference: Difference | None = None


def unchanged(request: JSONObject) -> JSONObject:
    """Return the request: nothing in it is ignored."""
    return request


@dataclass(kw_only=True)
class Matcher:
    """The calls of a recording, those that were matched, and the names of volatile values.

    `reduce` returns a request without the fields that the app ignores. `is_meant` is that of `Trial`. An id that the
    recording contains is always meant as it is: what an agent generates is new. `lane` is the thread or task that makes
    the requests, and `call_id` what the model called the tool's call that is asked for; empty if that is not known.
    """

    calls: RecordedCalls
    used_numbers: set[int] = field(default_factory=set)
    renaming: Renaming = field(default_factory=Renaming)
    reduce: Callable[[JSONObject], JSONObject] = unchanged
    is_meant: Callable[[Kind, str, str], bool] = nothing_is_meant
    lane: str = ""
    call_id: str = ""

    def match(self, request: JSONObject, strict: JSONObject, content_digest: str = "") -> Match | Divergence:
        """Return the recorded call that a request is, and take it; or why it is none."""
        equal_match = self.match_equal(request, strict, content_digest)
        return equal_match or self._match_renamed(self.reduce(request), strict)

    def match_equal(self, request: JSONObject, strict: JSONObject, content_digest: str = "") -> Match | None:
        """Return the recorded call left that a request equals, and take it.

        It is the one with the same id of the model, else of the same lane, else the first one. The digests of their
        contents show whether they differ in what the stored request lacks.
        """
        calls = [call for call in self.calls.by_digest.get(digest([strict, request]), ()) if self._is_left(call)]
        same_calls = [call for call in calls if may_be_equal(call.content_digest, content_digest)]
        namesake = self._namesake(same_calls or calls)
        if (call := namesake or call_of_lane(same_calls or calls, self.lane)) is None:
            return None
        self.used_numbers.add(call.no)
        rivals = () if namesake else self.calls.rivals_of(call)
        return Match(call=call, is_equal=True, has_other_content=not same_calls, rivals=rivals)

    def _namesake(self, calls: Sequence[RecordedRequest]) -> RecordedRequest | None:
        """Return the one of these calls that a recorded answer requested with the same id; None if several did."""
        if self.calls.count_of(self.call_id) != 1:
            return None
        return next((call for call in calls if call.call_id == self.call_id), None)

    def _is_left(self, call: RecordedRequest) -> bool:
        return call.no not in self.used_numbers

    def unused_calls(self) -> list[RecordedRequest]:
        """Return the recorded calls that were not made."""
        return [call for call in self.calls.requests if call.no not in self.used_numbers]

    def _match_renamed(self, request: JSONObject, strict: JSONObject) -> Match | Divergence:
        """Take the call that renames the fewest new values, then one of the same lane, then the earliest."""
        best: tuple[tuple[int, int], Trial, RecordedRequest] | None = None
        for call in self.unused_calls():
            trial = self._trial()
            if call.strict != strict or first_difference(self.reduce(call.request), request, trial):
                continue
            distance = trial.new_count(), lane_distance(call.lane, self.lane)
            if best is None or distance < best[0]:
                best = distance, trial, call
        if best is None:
            return self._divergence(request, strict)
        _, trial, call = best
        trial.keep()
        self.used_numbers.add(call.no)
        return Match(call=call, is_equal=False, renames=trial.names.pairs())

    def _trial(self) -> Trial:
        return Trial(self.renaming, is_meant=self._is_known_or_meant)

    def _is_known_or_meant(self, kind: Kind, old: str, new: str) -> bool:
        return (kind in ID_KINDS and self.calls.contains(new)) or self.is_meant(kind, old, new)

    def _divergence(self, request: JSONObject, strict: JSONObject) -> Divergence:
        """Compare with the call that shares the longest beginning of the conversation, then the earliest."""
        nearest = max(
            self.unused_calls(),
            key=lambda call: _common_messages(self.reduce(call.request), request, self._trial()),
            default=None,
        )
        if nearest is None:
            return Divergence()
        trial = self._trial()
        difference = _strict_difference(nearest.strict, strict) or first_difference(
            self.reduce(nearest.request), request, trial
        )
        return Divergence(nearest=nearest, difference=difference)


def _strict_difference(old: JSONObject, new: JSONObject) -> Difference | None:
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    return next(
        (
            Difference(path=f"/{escape_pointer(name)}", old=old.get(name, ABSENT), new=new.get(name, ABSENT))
            for name in names
        ),
        None,
    )


def _common_messages(old: JSONObject, new: JSONObject, trial: Trial) -> int:
    """Return how many messages two requests share at their beginning."""
    pairs = zip(as_list(old.get("messages")), as_list(new.get("messages")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: first_difference(*pair, trial) is None, pairs))
