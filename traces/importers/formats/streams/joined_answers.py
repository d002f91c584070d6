"""Answers joined from the pieces in which a model's API streams them, in the form that it returns without a stream.

chat          {"object": "chat.completion.chunk", "id", "choices": [{"index", "delta": {…}, "finish_reason"}], "usage"}
responses     {"type": "response.output_item.done", "output_index", "item"}   {"type": "response.completed", "response"}
anthropic     {"type": "message_start", "message"}   {"type": "content_block_delta", "index", "delta": {…}}
gemini        {"candidates": [{"content": {"parts": […]}}], "usageMetadata", "responseId"}
ollama        {"model", "created_at", "message": {…}, "done": false}
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from traces.core.json_access import (
    as_integer,
    as_list,
    as_object,
    as_objects,
    as_string,
    as_text,
    first_member,
    has_list,
    has_object,
    omit,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.chats.streamed_answers import join_stream

Api = Literal["chat", "responses", "anthropic", "gemini", "ollama"]
_ANTHROPIC: Final = frozenset(
    {"message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta"}
    | {"content_block_stop"}
)
# Fields of a delta that come in pieces; of others, the last one counts.
_PIECES: Final = frozenset({"content", "reasoning_content", "reasoning", "refusal", "thinking"})
_CALLS: Final = ("tool_calls", "function_call")
_OLLAMA_COUNTS: Final = {"prompt_eval_count": "prompt_tokens", "eval_count": "completion_tokens"}
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


def api_of(event: JSONObject) -> Api | None:
    """Return the API whose stream has such events; None for any other."""
    kind = as_text(event.get("type"))
    if kind in _ANTHROPIC:
        # Agents have events of this name, too, with messages of their own.
        is_other = kind == "message_start" and as_object(event.get("message")).get("type") != "message"
        return None if is_other else "anthropic"
    if kind.startswith("response.") and "event_id" not in event:
        return "responses" if has_object(event, "response") or "output_index" in event else None
    if event.get("object") == "chat.completion.chunk" or _has_delta(event):
        return "chat"
    if has_list(event, "candidates"):
        return "gemini"
    is_ollama = isinstance(event.get("done"), bool) and "model" in event
    return "ollama" if is_ollama and (has_object(event, "message") or "response" in event) else None


def starts_answer(api: Api, event: JSONObject, previous: JSONObject | None) -> bool:
    """Return whether an event is the first of an answer, after the previous event of its API."""
    if previous is None or event.get("type") in ("message_start", "response.created"):
        return True
    name = {"chat": "id", "gemini": "responseId"}.get(api)
    if name and (event.get(name) or previous.get(name)):
        return as_text(event.get(name)) != as_text(previous.get(name))
    # Without ids, an answer begins after the end of another.
    is_more = bool(as_list(first_member(event, "choices", "candidates"))) or api == "ollama"
    return is_more and _is_end(api, previous)


def join_answer(api: Api, events: Sequence[JSONObject]) -> JSONObject:
    """Return the answer that these events form; its `object` or `type` is that of an answer without a stream."""
    return _JOINS[api](events)


def join_events(events: Sequence[JSONObject]) -> JSONObject | None:
    """Return the answer in the events of one answer; None if their API is unknown."""
    api = next((api for event in events if (api := api_of(event))), None)
    return None if api is None else join_answer(api, [event for event in events if api_of(event) == api])


def has_end(api: Api, events: Sequence[JSONObject]) -> bool:
    """Return whether the end of an answer is among its events."""
    return any(_is_end(api, event) for event in events)


def _is_end(api: Api, event: JSONObject) -> bool:
    match api:
        case "responses":
            return as_text(event.get("type")) in _ENDS
        case "anthropic":
            return event.get("type") == "message_stop" or bool(as_object(event.get("delta")).get("stop_reason"))
        case "ollama":
            return event.get("done") is True
        case _:
            choices = as_objects(first_member(event, "choices", "candidates"))
            return any(first_member(choice, "finish_reason", "finishReason") for choice in choices)


def _has_delta(event: JSONObject) -> bool:
    return any(has_object(choice, "delta") for choice in as_list(event.get("choices")))


@dataclass(kw_only=True)
class _Call:
    """A call of a tool, and the pieces of its arguments."""

    fields: JSONObject
    pieces: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class _Message:
    """A message of the assistant, and the pieces of its texts by their names."""

    fields: JSONObject = field(default_factory=dict)
    pieces: dict[str, list[str]] = field(default_factory=dict)
    calls: list[_Call] = field(default_factory=list)
    # Positions of the calls by the index that their pieces name.
    positions: dict[int, int] = field(default_factory=dict)

    def add(self, delta: JSONObject) -> None:
        for name, value in delta.items():
            if name in _PIECES and isinstance(value, str):
                self.pieces.setdefault(name, []).append(value)
            elif name not in _CALLS and value is not None:
                self.fields[name] = value
        for call in as_objects(delta.get("tool_calls")):
            self._add_call(call, as_integer(call.get("index")))
        if function := as_object(delta.get("function_call")):
            self._add_call({"function": function}, 0)

    def _add_call(self, call: JSONObject, index: int | None) -> None:
        function = as_object(call.get("function"))
        position = self.positions.get(len(self.calls) if index is None else index)
        # Some servers send whole calls, all under the first index.
        is_other = position is not None and call.get("id") not in (None, "", self.calls[position].fields.get("id"))
        if position is None or is_other:
            position = len(self.calls)
            self.positions[position if index is None else index] = position
            self.calls.append(_Call(fields={"type": "function", **omit(call, "function", "index")}))
        current = self.calls[position]
        current.fields |= other_members(omit(function, "arguments"), ())
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            current.pieces.append(arguments)
        elif arguments is not None:
            current.fields["arguments"] = arguments

    def whole(self) -> JSONObject:
        texts: JSONObject = {name: "".join(pieces) for name, pieces in self.pieces.items()}
        calls: list[JSONValue] = [_join_call(call) for call in self.calls]
        return {
            "role": "assistant",
            "content": None,
            **self.fields,
            **texts,
            **({"tool_calls": calls} if calls else {}),
        }


def _join_call(call: _Call) -> JSONObject:
    function: JSONObject = {
        "name": call.fields.get("name"),
        "arguments": "".join(call.pieces) or call.fields.get("arguments", ""),
    }
    return {**omit(call.fields, "name", "arguments"), "function": function}


def _join_chunks(events: Sequence[JSONObject]) -> JSONObject:
    """Return the chat completion of these chunks."""
    messages: dict[int, _Message] = {}
    choices: dict[int, JSONObject] = {}
    completion: JSONObject = {}
    for event in events:
        completion |= other_members(event, {"choices", "object", "obfuscation"})
        for choice in as_objects(event.get("choices")):
            index = as_integer(choice.get("index")) or 0
            messages.setdefault(index, _Message()).add(as_object(choice.get("delta")))
            choices.setdefault(index, {}).update(other_members(choice, {"delta", "index", "logprobs"}))
    message_choices: list[JSONValue] = [
        {"index": index, "message": messages[index].whole(), **choice} for index, choice in sorted(choices.items())
    ]
    return {**completion, "object": "chat.completion", "choices": message_choices}


def _join_response(events: Sequence[JSONObject]) -> JSONObject:
    """Return the response at the end of its events; without an end, what came of its output until then."""
    response: JSONObject = {}
    items: dict[int, JSONObject] = {}
    pieces: dict[int, list[str]] = {}
    for event in events:
        response |= as_object(event.get("response"))
        number = as_integer(event.get("output_index"))
        if number is None:
            continue
        if item := as_object(event.get("item")):
            items[number] = item
        if isinstance(piece := event.get("delta"), str) and "summary" not in as_text(event.get("type")):
            pieces.setdefault(number, []).append(piece)
    if as_list(response.get("output")) or any(as_text(event.get("type")) in _ENDS for event in events):
        return response
    output: list[JSONValue] = [_item(item, "".join(pieces.get(number, []))) for number, item in sorted(items.items())]
    return {"object": "response", **response, "output": output}


def _item(item: JSONObject, text: str) -> JSONObject:
    """Return an item of the output; one that did not end has only its pieces."""
    if not text or item.get("content") or item.get("arguments"):
        return item
    if item.get("type") == "message":
        return {**item, "content": [{"type": "output_text", "text": text}]}
    return {**item, "arguments": text} if "arguments" in item else item


def _join_blocks(events: Sequence[JSONObject]) -> JSONObject:
    """Return the message of Anthropic in these events."""
    usage: JSONObject = {}
    for event in events:
        usage |= other_members(as_object(as_object(event.get("message")).get("usage")), ())
        usage |= other_members(as_object(event.get("usage")), ())
    message: JSONObject = {"type": "message", **join_stream([*events])}
    return {**message, "content": as_list(message.get("content")), **({"usage": usage} if usage else {})}


def _join_candidates(events: Sequence[JSONObject]) -> JSONObject:
    """Return the answer of Gemini in these pieces."""
    answer: JSONObject = {}
    candidates: dict[int, JSONObject] = {}
    parts: dict[int, list[JSONObject]] = {}
    for event in events:
        answer |= omit(event, "candidates")
        for candidate in as_objects(event.get("candidates")):
            index = as_integer(candidate.get("index")) or 0
            content = as_object(candidate.get("content"))
            candidates.setdefault(index, {"content": {}}).update(omit(candidate, "content"))
            parts.setdefault(index, []).extend(as_objects(content.get("parts")))
    whole_candidates: list[JSONValue] = [
        {**candidate, "content": {"role": "model", "parts": _join_parts(parts[index])}}
        for index, candidate in sorted(candidates.items())
    ]
    return {**answer, "candidates": whole_candidates}


def _join_parts(parts: list[JSONObject]) -> list[JSONValue]:
    """Return parts with consecutive texts of one kind joined."""
    groups: list[tuple[JSONObject, list[str]]] = []
    for part in parts:
        fields, text = omit(part, "text"), part.get("text")
        # The last piece of a text has its signature.
        is_text = isinstance(text, str) and fields.keys() <= {"thought", "thoughtSignature"}
        if is_text and groups and groups[-1][1] and groups[-1][0].get("thought") == fields.get("thought"):
            groups[-1][0].update(fields)
            groups[-1][1].append(as_string(text))
        else:
            groups.append(({**fields} if is_text else {**part}, [as_string(text)] if is_text else []))
    return [{**fields, **({"text": "".join(texts)} if texts else {})} for fields, texts in groups]


def _join_lines(events: Sequence[JSONObject]) -> JSONObject:
    """Return the answer of Ollama as a chat completion."""
    message = _Message()
    for event in events:
        body = as_object(event.get("message")) or {"content": event.get("response"), "thinking": event.get("thinking")}
        calls = [{**call, "index": None} for call in as_objects(body.get("tool_calls"))]
        message.add({**body, "tool_calls": [*calls]})
    last = events[-1]
    usage: JSONObject = {name: last[count] for count, name in _OLLAMA_COUNTS.items() if count in last}
    reason = as_text(last.get("done_reason")) or ("stop" if last.get("done") is True else None)
    answer = message.whole()
    thoughts = {"reasoning_content": answer["thinking"]} if answer.get("thinking") else {}
    choice: JSONObject = {"index": 0, "message": {**omit(answer, "thinking"), **thoughts}, "finish_reason": reason}
    fields = other_members(last, {"message", "response", "thinking", "done", "done_reason", *_OLLAMA_COUNTS})
    return {**fields, "object": "chat.completion", "choices": [choice], **({"usage": usage} if usage else {})}


_JOINS: Final[dict[Api, Callable[[Sequence[JSONObject]], JSONObject]]] = {
    "chat": _join_chunks,
    "responses": _join_response,
    "anthropic": _join_blocks,
    "gemini": _join_candidates,
    "ollama": _join_lines,
}
