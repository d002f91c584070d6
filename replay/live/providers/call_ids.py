"""Ids of tool calls and their results, where the API of a recording has none: they belong together by their order."""

from collections.abc import Iterator, Sequence

from traces.core.json_access import as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue


def with_ids(messages: Sequence[JSONObject]) -> list[JSONObject]:
    """Return messages in which each call and each result of a call has an id; ids that are there stay."""
    return [*_with_ids(messages)]


def result_names(messages: Sequence[JSONObject]) -> list[str]:
    """Return for each message the name of the tool whose result it is; empty if it is no result."""
    names: dict[str, str] = {}
    result: list[str] = []
    for message in _with_ids(messages):
        names |= {as_text(call.get("id")): as_text(call.get("name")) for call in as_objects(message.get("tool_calls"))}
        name = as_text(message.get("name")) or names.get(as_text(message.get("tool_call_id")), "")
        result.append(name if message.get("role") in ("tool", "function") else "")
    return result


def _with_ids(messages: Sequence[JSONObject]) -> Iterator[JSONObject]:
    count, open_ids = 0, list[str]()
    for message in messages:
        calls = as_objects(message.get("tool_calls"))
        if message.get("role") == "assistant":
            open_ids = [as_text(call.get("id")) or f"call_{count + place}" for place, call in enumerate(calls, 1)]
            count += len(calls)
            pairs = zip(calls, open_ids, strict=True)
            new_calls: list[JSONValue] = [call if call.get("id") else {**call, "id": id} for call, id in pairs]
            yield {**message, "tool_calls": new_calls} if calls else message
        elif message.get("role") == "tool" and not message.get("tool_call_id") and open_ids:
            yield {**message, "tool_call_id": open_ids.pop(0)}
        else:
            yield message
