"""Edits of a fork, applied to a request in its provider's format. All else in it stays as the agent wrote it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from replay.live.providers import openai_protocol
from replay.overrides.edits import Edits
from replay.overrides.profile import MessageEdit
from replay.overrides.request_edits import apply_model_settings
from traces.core.json_access import as_list, as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue

# Members of a request that are no parameters.
_CONTENT: Final = frozenset({"model", "messages", "tools", "response_format", "stream", "stream_options"})
_OWN_SETTINGS: Final = frozenset({"model", "provider", "tools", "response_format"})


def edit_request(api: str, body: JSONObject, edits: Edits) -> JSONObject:
    """Return a request with another system prompt, other messages, or other settings."""
    if edits.messages or edits.prompt:
        body = _edit_messages(body, edits)
    return _edit_settings(body, edits.model) if edits.model else body


def replace_results(api: str, body: JSONObject, results: Mapping[str, str]) -> JSONObject:
    """Return a request with other results of tools, by the ids of their calls."""
    messages = [
        {**message, "content": results[as_text(message.get("tool_call_id"))]}
        if message.get("role") == "tool" and message.get("tool_call_id") in results
        else message
        for message in as_objects(body.get("messages"))
    ]
    return {**body, "messages": list[JSONValue](messages)}


def _edit_messages(body: JSONObject, edits: Edits) -> JSONObject:
    messages = tuple(_in_wire_format(edit) for edit in edits.messages)
    slots = replace(edits, messages=messages).apply_to([[message] for message in as_list(body.get("messages"))])
    return {**body, "messages": [message for slot in slots for message in slot]}


def _in_wire_format(edit: MessageEdit) -> MessageEdit:
    if edit.message is None:
        return edit
    return edit.model_copy(update={"message": openai_protocol.message_body(edit.message)})


def _edit_settings(body: JSONObject, settings: JSONObject) -> JSONObject:
    absent = {*map(str, as_list(settings.get("unset")))}
    content = {name: value for name, value in body.items() if name in _CONTENT and name not in absent}
    parameters = {name: value for name, value in body.items() if name not in _CONTENT}
    rest = {name: value for name, value in settings.items() if name not in _OWN_SETTINGS}
    result = {**content, **as_object(apply_model_settings({"parameters": parameters}, rest).get("parameters"))}
    result |= {name: settings[name] for name in ("model", "response_format") if name in settings}
    if "tools" in settings:
        result["tools"] = [openai_protocol.tool_body(tool) for tool in as_objects(settings["tools"])]
    return result
