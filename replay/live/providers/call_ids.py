"""Ids of tool calls and their results, where the API of a recording has none: by the tool, and then by the order."""

from collections.abc import Iterator, Sequence

from traces.core.json_access import as_objects, as_text
from traces.core.json_types import JSONObject


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
    count, open_calls = 0, list[JSONObject]()
    for message in messages:
        calls = as_objects(message.get("tool_calls"))
        if message.get("role") == "assistant":
            open_calls = [
                call if call.get("id") else {**call, "id": f"call_{count + place}"}
                for place, call in enumerate(calls, 1)
            ]
            count += len(calls)
            yield {**message, "tool_calls": [*open_calls]} if calls else message
        elif message.get("role") == "tool" and not message.get("tool_call_id") and open_calls:
            yield {**message, "tool_call_id": _take_call(open_calls, as_text(message.get("name")))["id"]}
        else:
            yield message


def _take_call(calls: list[JSONObject], name: str) -> JSONObject:
    """Remove the first call of a tool and return it; of any tool if the result names none that was called."""
    call = next((call for call in calls if name and call.get("name") == name), calls[0])
    calls.remove(call)
    return call
