"""Parallel tool calls that a tracer wrote into messages of their own, or under other ids than their results."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue

# Several agents of a trace may take turns.
_MOST_RECENT: Final = 4
_NO_IDS: Final[frozenset[str]] = frozenset()


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Messages in which each result names its call, and the ids of results that the tracer recorded, by call."""

    messages: list[JSONObject]
    call_ids: JSONObject = msgspec.field(default_factory=dict)

    @property
    def attributes(self) -> JSONObject:
        return {"call_ids": self.call_ids} if self.call_ids else {}


@dataclass(kw_only=True, slots=True)
class CallReader:
    """Joins and matches the calls of a trace's requests; of a history that it has read, it reads only what follows."""

    # Messages in which nothing had to change, with the ids of their calls, latest last.
    _recent: deque[tuple[list[JSONObject], frozenset[str]]] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))

    def read(self, messages: list[JSONObject]) -> Conversation:
        """Join the calls of each answer in one message, and give each result the id of its call."""
        start, ids = self._history(messages)
        new = messages[start:]
        ids = ids.union(_call_ids(new))
        if any(map(_continues, messages[max(start, 1) :], messages[max(start, 1) - 1 :])) or not _all_match(new, ids):
            return match_results(join_calls(messages))
        self._recent.append((messages, ids))
        return Conversation(messages=messages)

    def _history(self, messages: list[JSONObject]) -> tuple[int, frozenset[str]]:
        """Return the length of an earlier history that these messages continue, and the ids of its calls."""
        for earlier, ids in reversed(self._recent):
            if messages[: len(earlier)] == earlier:
                return len(earlier), ids
        return 0, _NO_IDS


def join_calls(messages: list[JSONObject]) -> list[JSONObject]:
    """Join messages that each contain a call of the same answer.

    No API takes two of them in a row, because the results of the first would be missing.
    """
    if not any(map(_continues, messages[1:], messages)):
        return messages
    result = messages[:1]
    for message in messages[1:]:
        if _continues(message, result[-1]):
            calls = [*as_list(result[-1]["tool_calls"]), *as_list(message["tool_calls"])]
            result[-1] = {**result[-1], "tool_calls": calls}
        else:
            result.append(message)
    return result


def match_results(messages: list[JSONObject]) -> Conversation:
    """Give results the ids of their calls, by position, where none of them names any call.

    Traceloop records the calls of a response under the ids of their items.
    """
    ids = _call_ids(messages)
    if _all_match(messages, ids):
        return Conversation(messages=messages)
    result, renamed_ids = list(messages), dict[str, JSONValue]()
    for index, message in enumerate(messages):
        calls = as_list(message.get("tool_calls"))
        results = messages[index + 1 : index + 1 + len(calls)]
        if calls and _are_unrelated(results, messages[index + 1 + len(calls) :], ids) and len(results) == len(calls):
            for offset, (call, answer) in enumerate(zip(calls, results, strict=True), index + 1):
                call_id = as_object(call).get("id")
                renamed_ids[str(call_id)] = answer["tool_call_id"]
                result[offset] = {**answer, "tool_call_id": call_id}
    return Conversation(messages=result, call_ids=renamed_ids)


def _continues(message: JSONObject, earlier: JSONObject) -> bool:
    roles = (earlier.get("role"), message.get("role"))
    has_calls = bool(earlier.get("tool_calls") and message.get("tool_calls"))
    return has_calls and roles == ("assistant", "assistant") and message.get("content") is None


def _call_ids(messages: Sequence[JSONObject]) -> frozenset[str]:
    calls = (as_object(call) for message in messages for call in as_list(message.get("tool_calls")))
    return frozenset(as_text(call.get("id")) for call in calls)


def _all_match(messages: Sequence[JSONObject], ids: frozenset[str]) -> bool:
    """Return whether no result names a call that is not there."""
    known_ids = {"", *ids}
    return all(
        message.get("role") != "tool" or as_text(message.get("tool_call_id")) in known_ids for message in messages
    )


def _are_unrelated(results: Sequence[JSONObject], later: Sequence[JSONObject], ids: frozenset[str]) -> bool:
    """Return whether these are all results that follow a message, and none of them names a call."""
    is_complete = not later or later[0].get("role") != "tool"
    return is_complete and all(
        result.get("role") == "tool" and as_text(result.get("tool_call_id")) not in {"", *ids} for result in results
    )
