"""Edits of a fork, applied to a request in its provider's format. All else in it stays as the agent wrote it."""

from collections.abc import Mapping
from typing import Final

from replay.overrides.edits import Edits
from replay.overrides.request_edits import apply_model_settings
from replay.reruns.requests.request_formats import RequestFormat, find_format
from traces.core.json_access import as_list, as_object, as_objects
from traces.core.json_types import JSONObject

# Members of a request that are no parameters.
_CONTENT: Final = frozenset(
    {"model", "messages", "input", "instructions", "system", "tools", "response_format", "text", "output_config"}
    | {"stream", "stream_options"}
)
_OWN_SETTINGS: Final = frozenset({"model", "provider", "tools", "response_format"})


def edit_request(api: str, body: JSONObject, input: JSONObject, edits: Edits) -> JSONObject:
    """Return a request with another system prompt, other messages, or other settings; raise `CannotEdit`.

    `input` is the request as the input of a step, whose messages the edits count.
    """
    if edits.messages or edits.prompt:
        body = find_format(api).with_messages(body, input, edits)
    return _edit_settings(api, body, edits.model) if edits.model else body


def replace_results(api: str, body: JSONObject, results: Mapping[str, str]) -> JSONObject:
    """Return a request with other results of tools, by the ids of their calls; raise `CannotEdit`."""
    return find_format(api).with_results(body, results)


def _edit_settings(api: str, body: JSONObject, settings: JSONObject) -> JSONObject:
    format = find_format(api)
    if not format.parameters:
        return _edit_members(format, body, settings)
    config = as_object(body.get(format.parameters))
    new_config = _edit_members(format, config, settings)
    absent = {*map(str, as_list(settings.get("unset")))}
    own_members: JSONObject = {name: new_config.pop(name) for name in format.own_members if name in new_config}
    rest = {name: value for name, value in body.items() if name != format.parameters and name not in absent}
    return {**rest, **({format.parameters: new_config} if new_config else {}), **own_members}


def _edit_members(format: RequestFormat, body: JSONObject, settings: JSONObject) -> JSONObject:
    absent = {*map(str, as_list(settings.get("unset")))}
    names = {wire_name: name for name, wire_name in format.spellings.items()}
    content = {name: value for name, value in body.items() if name in _CONTENT and name not in absent}
    parameters = {names.get(name, name): value for name, value in body.items() if name not in _CONTENT}
    rest = {name: value for name, value in settings.items() if name not in _OWN_SETTINGS}
    edited_parameters = as_object(apply_model_settings({"parameters": parameters}, rest).get("parameters"))
    result = {**content, **{format.spellings.get(name, name): value for name, value in edited_parameters.items()}}
    if "model" in settings:
        result["model"] = settings["model"]
    if "tools" in settings:
        result["tools"] = [format.tool(tool) for tool in as_objects(settings["tools"])]
    if "response_format" in settings:
        result |= format.response_format(settings["response_format"])
    return result
