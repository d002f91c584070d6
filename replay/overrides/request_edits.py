"""Apply a step's edits to its request: model, parameters, system prompt, messages. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from replay.overrides.profile import MessageEdit, Passage
from traces.core.json_access import as_list, as_object, member
from traces.core.json_types import JSONObject, JSONValue

_PARAMETERS: Final = ("temperature", "top_p", "max_tokens", "seed", "stop")
_REQUEST: Final = ("tools", "response_format")
# Spellings of the same parameter in recordings.
_SPELLINGS: Final = {"max_tokens": ("max_tokens", "max_completion_tokens"), "stop": ("stop", "stop_sequences")}


def canonical_name(name: str) -> str:
    return next((canonical for canonical, spellings in _SPELLINGS.items() if name in spellings), name)


def apply_model_settings(input: JSONObject, model: JSONObject) -> JSONObject:
    """Apply model settings to an input, in the recording's spellings of parameters."""
    settings = {name: model[name] for name in _PARAMETERS if name in model} | as_object(model.get("parameters"))
    removed = frozenset(map(str, as_list(model.get("unset"))))
    request: JSONObject = {**input, **{name: model[name] for name in _REQUEST if name in model}}
    request = {name: value for name, value in request.items() if name not in removed} if removed else request
    if not settings and not removed:
        return request
    parameters = {**as_object(input.get("parameters"))}
    for name, value in settings.items():
        spelling = next((candidate for candidate in _SPELLINGS.get(name, ()) if candidate in parameters), name)
        parameters[spelling] = value
    parameters = {name: value for name, value in parameters.items() if not {name, canonical_name(name)} & removed}
    request["parameters"] = parameters
    return request if parameters or not removed else {name: request[name] for name in request if name != "parameters"}


def edited_names(model: JSONObject) -> list[str]:
    """Names of the request settings that an entry sets or removes."""
    own = [name for name in model if name not in {"parameters", "unset"}]
    return [*own, *as_object(model.get("parameters")), *map(str, as_list(model.get("unset")))]


def with_system(messages: list[JSONValue], text: str) -> list[JSONValue]:
    """Replace the first system prompt, or insert one at the front if there is none.

    An empty text removes every system prompt except those that were empty already.
    """
    if not text:
        return [message for message in messages if not _is_system(message) or _is_empty(message)]
    for at, message in enumerate(messages):
        if _is_system(message):
            return [*messages[:at], {**as_object(message), "content": text}, *messages[at + 1 :]]
    return [{"role": "system", "content": text}, *messages]


def with_system_slots(slots: list[list[JSONValue]], text: str) -> list[list[JSONValue]]:
    """Like `with_system`, but each message stays in its slot."""
    if not text:
        return [with_system(slot, text) for slot in slots]
    for at, slot in enumerate(slots):
        if any(map(_is_system, slot)):
            return [*slots[:at], with_system(slot, text), *slots[at + 1 :]]
    return [with_system(slots[0], text), *slots[1:]] if slots else [with_system([], text)]


def edit_slots(slots: list[list[JSONValue]], edits: Iterable[MessageEdit]) -> list[list[JSONValue]]:
    """Apply message edits by recorded index; a slot contains the replacement of one recorded message.

    Messages are inserted before the message at their index; an index past the end appends to the last slot. There are
    as many slots as before, because a later call of the conversation has its next message in the next slot.
    """
    new_slots = [list(slot) for slot in slots] + [[]]
    insertions: dict[int, list[JSONValue]] = {}
    for edit in edits:
        at = min(edit.index, len(slots))
        if edit.op == "insert":
            message = edit.message or {"role": edit.role or "user", "content": edit.content}
            insertions.setdefault(at, []).append(message)
        elif edit.op == "delete":
            new_slots[at] = []
        else:
            new_slots[at] = [_replacement(new_slots[at], edit)]
    *edited_slots, end = ([*insertions.get(at, []), *slot] for at, slot in enumerate(new_slots))
    return [*edited_slots[:-1], [*edited_slots[-1], *end]] if edited_slots else [end]


def system_prompt_indexes(messages: Sequence[JSONValue], prompt: JSONObject) -> list[int]:
    """Indexes of the messages that `prompt.system` replaces or removes: see `with_system`."""
    if "system" not in prompt:
        return []
    places = [at for at, message in enumerate(messages) if _is_system(message)]
    return places[:1] if prompt["system"] else places


def _replacement(slot: list[JSONValue], edit: MessageEdit) -> JSONValue:
    if edit.message is not None:
        return edit.message
    old = as_object(slot[0] if slot else None)
    if edit.passages is not None:
        return {**old, "content": _with_passages(old.get("content"), edit.passages)}
    role = edit.role or old.get("role", "user")
    # Null is a content, too; an absent one keeps the recorded content.
    content = edit.content if "content" in edit.model_fields_set else old.get("content")
    return {**old, "role": role, "content": content}


def _with_passages(content: JSONValue, passages: Iterable[Passage]) -> JSONValue:
    """Replace the first occurrence of each passage in a text; other content stays as it is."""
    if not isinstance(content, str):
        return content
    for passage in passages:
        content = content.replace(passage.before, passage.after, 1)
    return content


def _is_system(message: JSONValue) -> bool:
    return member(message, "role") in ("system", "developer")


def _is_empty(message: JSONValue) -> bool:
    return member(message, "content") == ""
