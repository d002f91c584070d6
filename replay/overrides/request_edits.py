"""Apply a step's edits to its request: model, parameters, system prompt, messages. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from replay.overrides.profile import MessageEdit
from traces.core.json_types import JSONObject, JSONValue

_PARAMETERS: Final = ("temperature", "top_p", "max_tokens", "seed", "stop")
_REQUEST: Final = ("tools", "response_format")
# Names under which recordings carry the same parameter.
_SPELLINGS: Final = {"max_tokens": ("max_tokens", "max_completion_tokens"), "stop": ("stop", "stop_sequences")}


def canonical_name(name: str) -> str:
    return next((known for known, spellings in _SPELLINGS.items() if name in spellings), name)


def edited_request(input: JSONObject, model: JSONObject) -> JSONObject:
    """A model input with other tools, response format or parameters, under the spellings that the recording uses."""
    given = {name: model[name] for name in _PARAMETERS if name in model} | _object(model.get("parameters"))
    gone = frozenset(map(str, _names(model.get("unset"))))
    edited: JSONObject = {**input, **{name: model[name] for name in _REQUEST if name in model}}
    edited = {name: value for name, value in edited.items() if name not in gone} if gone else edited
    if not given and not gone:
        return edited
    parameters = {**_object(input.get("parameters"))}
    for name, value in given.items():
        spelled = next((known for known in _SPELLINGS.get(name, ()) if known in parameters), name)
        parameters[spelled] = value
    parameters = {name: value for name, value in parameters.items() if not {name, canonical_name(name)} & gone}
    edited["parameters"] = parameters
    return edited if parameters or not gone else {name: edited[name] for name in edited if name != "parameters"}


def edited_names(model: JSONObject) -> list[str]:
    """What of a request is set or left out, by name."""
    own = [name for name in model if name not in {"parameters", "unset"}]
    return [*own, *_object(model.get("parameters")), *map(str, _names(model.get("unset")))]


def with_system(messages: list[JSONValue], text: str) -> list[JSONValue]:
    """The messages with their first system prompt replaced, or one put in front where there was none.

    An empty text leaves out every system prompt, but for one that was empty before.
    """
    if not text:
        return [message for message in messages if not _is_system(message) or _is_empty(message)]
    for at, message in enumerate(messages):
        if isinstance(message, dict) and _is_system(message):
            return [*messages[:at], {**message, "content": text}, *messages[at + 1 :]]
    return [{"role": "system", "content": text}, *messages]


def with_system_slots(slots: list[list[JSONValue]], text: str) -> list[list[JSONValue]]:
    """Like `with_system`, keeping each message in its slot."""
    if not text:
        return [with_system(slot, text) for slot in slots]
    for at, slot in enumerate(slots):
        if any(map(_is_system, slot)):
            return [*slots[:at], with_system(slot, text), *slots[at + 1 :]]
    return [with_system(slots[0], text), *slots[1:]] if slots else [with_system([], text)]


def edit_slots(slots: list[list[JSONValue]], edits: Iterable[MessageEdit]) -> list[list[JSONValue]]:
    """Message edits by recorded index; a slot holds what stands in one recorded message's place.

    An insertion at an index stands before that message; an index past the end appends.
    """
    edited = [list(slot) for slot in slots] + [[]]
    inserted: dict[int, list[JSONValue]] = {}
    for edit in edits:
        at = min(edit.index, len(slots))
        if edit.op == "insert":
            made = edit.message or {"role": edit.role or "user", "content": edit.content}
            inserted.setdefault(at, []).append(made)
        elif edit.op == "delete":
            edited[at] = []
        else:
            edited[at] = [_replaced(edited[at], edit)]
    return [[*inserted.get(at, []), *slot] for at, slot in enumerate(edited)]


def _system_places(messages: Sequence[JSONValue], prompt: JSONObject) -> list[int]:
    """Which messages `prompt.system` sets: see `with_system`."""
    if "system" not in prompt:
        return []
    places = [at for at, message in enumerate(messages) if _is_system(message)]
    return places[:1] if prompt["system"] else places


def _replaced(slot: list[JSONValue], edit: MessageEdit) -> JSONValue:
    if edit.message is not None:
        return edit.message
    old = slot[0] if slot and isinstance(slot[0], dict) else {}
    role = edit.role or old.get("role", "user")
    return {**old, "role": role, "content": edit.content}


def _is_system(message: JSONValue) -> bool:
    return isinstance(message, dict) and message.get("role") in {"system", "developer"}


def _is_empty(message: JSONValue) -> bool:
    return isinstance(message, dict) and message.get("content") == ""


def _object(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _names(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else []
