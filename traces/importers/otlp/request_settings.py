"""Settings of a model request: its parameters and response format, and what only describes it."""

from typing import Final

import msgspec

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.model_calls import REQUEST_ATTRIBUTES, is_infinite, normalize_parameters
from traces.importers.formats.chats.openai_items import shaping_fields

# Fields that are the model, the tools and the messages of a call.
_STATED_ELSEWHERE: Final = frozenset(
    {"model", "model_name", "tools", "functions", "messages", "input", "contents", "instructions", "system", "prompt"}
    | {"invocation_params", "system_instruction", "systemInstruction"}
)
# Gemini's parameters.
_CONFIGURATIONS: Final = ("generation_config", "generationConfig")
# The instrumentation of OpenAI's Agents SDK records the fields of the response and the address of the server, that of
# LangChain the kind of its model.
_DESCRIPTIONS: Final = REQUEST_ATTRIBUTES | {
    "id",
    "object",
    "created_at",
    "completed_at",
    "status",
    "base_url",
    "_type",
}
_NOT_PARAMETERS: Final = _DESCRIPTIONS | _STATED_ELSEWHERE


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters and response format of a request, and its fields that are neither."""

    parameters: JSONObject
    response_format: JSONValue = None
    other: JSONObject

    def merge(self, request: "Settings") -> "Settings":
        """Add the settings of the request itself, which take precedence."""
        if self is _NO_SETTINGS:
            return request
        return Settings(
            parameters={**self.parameters, **request.parameters},
            response_format=request.response_format or self.response_format,
            other={**self.other, **request.other},
        )


_NO_SETTINGS: Final = Settings(parameters={}, other={})


def split_settings(request: JSONObject) -> Settings:
    """Separate the parameters of a request from what only describes it or its response."""
    if not request:
        return _NO_SETTINGS
    fields = shaping_fields(request)
    for name in _CONFIGURATIONS:
        fields = {**as_object(fields.pop(name, None)), **fields}
    response_format = fields.pop("response_format", None)
    settings: JSONObject = {key: value for key, value in fields.items() if key not in _NOT_PARAMETERS}
    parameters = normalize_parameters(settings)
    other: JSONObject = {key: value for key, value in request.items() if value is not None and key in _DESCRIPTIONS}
    if len(parameters) < len(settings):
        # Clients fill in defaults, which are no limits.
        other |= {key: value for key, value in settings.items() if is_infinite(value)}
    return Settings(parameters=parameters, response_format=response_format, other=other)
