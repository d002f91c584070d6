"""Settings of a model call in span attributes."""

from typing import Final

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.otlp.dialects.attributes import Attributes
from traces.importers.otlp.request_settings import Settings, split_settings

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
_AI_TOOL_CHOICE: Final = "ai.prompt.toolChoice"
_SCHEMAS: Final = ("gen_ai.request.structured_output_schema", "gen_ai.openai.request.response_format")


def extract_settings(attributes: Attributes, body: JSONObject) -> Settings:
    """Return the settings in the attributes, without the fields that `body`, the request itself, states."""
    fields: JSONObject = {}
    for prefix, names in _GROUPS:
        if attributes.has_prefix(prefix):
            fields |= {name: value for name, value in attributes.take_group(prefix, names).items() if value != []}
    # Beside messages that the tracer printed.
    if not body and (printed_request := as_object(attributes.look_json("input.value"))):
        fields |= {name: value for name in _PRINTED_SETTINGS if (value := printed_request.get(name)) is not None}
    if _COUNT in fields:
        fields["n"] = fields.pop(_COUNT)
    for name in attributes.present(_OBJECTS):
        recorded_fields = as_object(attributes.look_json(name))
        if all(body.get(key, value) == value for key, value in recorded_fields.items()):
            attributes.take(name)
        fields |= {key: value for key, value in recorded_fields.items() if key not in body}
    if choice := as_object(attributes.take_json(_AI_TOOL_CHOICE)):
        fields["tool_choice"] = _tool_choice(choice)
    if (schema := attributes.take_json(*_SCHEMAS)) is not None:
        fields["response_format"] = schema
    return split_settings(fields)


def _tool_choice(choice: JSONObject) -> JSONValue:
    """Return the choice of a tool by the Vercel AI SDK in the form of OpenAI's chat API."""
    if choice.get("type") == "tool":
        return {"type": "function", "function": {"name": choice.get("toolName")}}
    return choice.get("type")
