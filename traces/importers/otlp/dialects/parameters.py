"""Parameters of a model call in span attributes, and the fields of a request that are none."""

from dataclasses import dataclass
from typing import Final

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.model_calls import REQUEST_ATTRIBUTES, normalize_parameters
from traces.importers.formats.chats.openai_items import shaping_fields
from traces.importers.otlp.dialects.attributes import Attributes

_SAMPLING: Final = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "seed",
    "stop_sequences",
    "frequency_penalty",
    "presence_penalty",
    "choice.count",
    "reasoning_effort",
    "reasoning_summary",
)
_AI_SETTINGS: Final = (
    "temperature",
    "topP",
    "topK",
    "maxTokens",
    "maxOutputTokens",
    "seed",
    "stopSequences",
    "frequencyPenalty",
    "presencePenalty",
)
_COUNT: Final = "choice.count"
_GROUPS: Final = (
    ("gen_ai.request.", _SAMPLING),
    ("gen_ai.openai.request.", ("seed",)),
    ("ai.settings.", _AI_SETTINGS),
)
_OBJECTS: Final = ("llm.invocation_parameters", "langfuse.observation.model.parameters")
_PRINTED_SETTINGS: Final = ("temperature", "top_p", "max_tokens", "seed", "stop_sequences", "tool_choice")
_SCHEMAS: Final = ("gen_ai.request.structured_output_schema", "gen_ai.openai.request.response_format")
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Parameters and response format of a request, and its fields that are neither."""

    parameters: JSONObject
    response_format: JSONValue = None
    other: JSONObject

    def merge(self, request: "Settings") -> "Settings":
        """Add the settings of the request itself, which take precedence."""
        return Settings(
            parameters={**self.parameters, **request.parameters},
            response_format=request.response_format or self.response_format,
            other={**self.other, **request.other},
        )


_NO_SETTINGS: Final = Settings(parameters={}, other={})


def extract_settings(attributes: Attributes, body: JSONObject) -> Settings:
    """Return the settings in the attributes, without the fields that `body`, the request itself, states."""
    fields: JSONObject = {}
    for prefix, names in _GROUPS:
        fields |= {name: value for name, value in attributes.take_group(prefix, names).items() if value != []}
    # Beside messages that the tracer printed.
    printed_request = {} if body else as_object(attributes.look_json("input.value"))
    fields |= {name: value for name in _PRINTED_SETTINGS if (value := printed_request.get(name)) is not None}
    if _COUNT in fields:
        fields["n"] = fields.pop(_COUNT)
    for name in _OBJECTS:
        recorded_fields = as_object(attributes.look_json(name))
        if all(body.get(key, value) == value for key, value in recorded_fields.items()):
            attributes.take(name)
        fields |= {key: value for key, value in recorded_fields.items() if key not in body}
    if (schema := attributes.take_json(*_SCHEMAS)) is not None:
        fields["response_format"] = schema
    return split_settings(fields)


def split_settings(request: JSONObject) -> Settings:
    """Separate the parameters of a request from what only describes it or its response."""
    if not request:
        return _NO_SETTINGS
    fields = shaping_fields(request)
    for name in _CONFIGURATIONS:
        fields = {**as_object(fields.pop(name, None)), **fields}
    response_format = fields.pop("response_format", None)
    return Settings(
        parameters=normalize_parameters({key: value for key, value in fields.items() if key not in _NOT_PARAMETERS}),
        response_format=response_format,
        other={key: value for key, value in request.items() if value is not None and key in _DESCRIPTIONS},
    )
