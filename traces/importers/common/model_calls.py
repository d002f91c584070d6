"""Model calls of every client in one normal form: request, answer, usage, sampling parameters, provider."""

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import as_text, normalize_messages, normalize_tools, parse_message_json
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, kind, obj, parse_embedded, text

_MOST_TOKENS: Final = 2**31 - 1
# Of a request body, these are not sampling parameters; the rest is kept as one.
_NOT_PARAMETERS: Final = frozenset(
    {
        "model",
        "messages",
        "input",
        "contents",
        "prompt",
        "system",
        "instructions",
        "tools",
        "functions",
        "response_format",
        "stream",
        "stream_options",
        "metadata",
        "user",
        "model_name",
        "invocation_params",
    }
)
_PARAMETER_NAMES: Final = {
    "maxTokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
    "stop_sequences": "stop",
    "stopSequences": "stop",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
}
_PROVIDERS: Final = {
    "az.ai.openai": "azure",
    "azure.ai.openai": "azure",
    "azure_openai": "azure",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "google_genai": "google",
    "google_vertexai": "google",
    "vertex_ai": "google",
    "vertexai": "google",
    "gemini": "google",
    "aws.bedrock": "bedrock",
    "unknown": "",
}
_MODEL_FAMILIES: Final = (
    ("gpt-", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude", "anthropic"),
    ("gemini", "google"),
    ("models/gemini", "google"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens and cost of one call; `tokens_in` counts the cached ones too. None: the recording does not say."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: Decimal | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A model's answer as a step's output, with what its envelope says besides."""

    output: JSONObject | None
    model: str = ""
    usage: Usage = Usage()


def normalize_request(body: JSONObject) -> JSONObject:
    """A request body as a model step's input: messages, tools, parameters, response format."""
    messages = normalize_messages(first(body, "messages", "input", "contents", "prompt"))
    system = [
        {**each, "role": "system"} for each in normalize_messages(first(body, "system", "instructions"), "system")
    ]
    tools = normalize_tools(first(body, "tools", "functions") or [])
    parameters = normalize_parameters({key: value for key, value in body.items() if key not in _NOT_PARAMETERS})
    return model_input([*_joined(system), *messages], tools, parameters, body.get("response_format"))


def model_input(
    messages: list[JSONObject], tools: list[JSONValue], parameters: JSONObject, response_format: JSONValue = None
) -> JSONObject:
    """A model step's input, without the fields that say nothing."""
    optional: JSONObject = {"tools": tools, "parameters": parameters, "response_format": response_format}
    return {"messages": [dict(each) for each in messages], **{key: value for key, value in optional.items() if value}}


def normalize_parameters(given: JSONObject) -> JSONObject:
    """Sampling parameters under their common names, numbers as numbers; an infinite limit is no limit."""
    named = {_PARAMETER_NAMES.get(key, key): _number(value) for key, value in given.items()}
    return {key: value for key, value in named.items() if value is not None and not _infinite(value)}


def normalize_answer(value: JSONValue, finish: str = "") -> Answer:
    """An answer in any shape: a response envelope, messages, a message, a text, or an object said as JSON."""
    value = parse_message_json(value)
    if value is None or value == "" or value == [] or value == {}:
        return Answer(output=None)
    body = obj(value)
    choice = obj(next(iter(items(first(body, "choices", "candidates"))), None)) or _generation(body)
    message = _answer_message(choice or body, value)
    reason = finish or text(first(choice or body, "finish_reason", "finishReason", "stop_reason"))
    usage = obj(first(body, "usage", "usage_metadata", "usageMetadata"))
    output: JSONObject = {"message": message, **({"finish_reason": normalize_finish_reason(reason)} if reason else {})}
    return Answer(output=output, model=text(body.get("model")), usage=normalize_usage(usage, "/usage"))


def normalize_finish_reason(given: str) -> str:
    """Finish reasons in OpenAI's words, where they mean the same."""
    same = {
        "tool_call": "tool_calls",
        "tool_use": "tool_calls",
        "tool-calls": "tool_calls",
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "STOP": "stop",
        "MAX_TOKENS": "length",
    }
    return same.get(given, given)


def normalize_usage(usage: JSONObject, where: str) -> Usage:
    """Token counts in any client's words."""
    details = obj(first(usage, "prompt_tokens_details", "input_tokens_details", "input_token_details"))
    given = first(usage, "prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "input", "promptTokenCount")
    out = first(
        usage,
        "completion_tokens",
        "output_tokens",
        "completionTokens",
        "outputTokens",
        "output",
        "candidatesTokenCount",
    )
    cached = first(details, "cached_tokens", "cache_read")
    if cached is None:
        cached = first(usage, "cached_tokens", "cached_input_tokens", "cachedInputTokens", "cachedContentTokenCount")
    tokens_in, tokens_cached = parse_token_count(given, where), parse_token_count(cached, where)
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        # Anthropic counts what came from or went into the cache apart from the rest of the input
        tokens_cached = parse_token_count(usage.get("cache_read_input_tokens"), where)
        written = parse_token_count(usage.get("cache_creation_input_tokens"), where)
        tokens_in = (tokens_in or 0) + (tokens_cached or 0) + (written or 0)
    cost = first(usage, "total_cost", "totalCost", "estimated_cost_usd", "cost")
    return Usage(
        tokens_in=tokens_in,
        tokens_out=parse_token_count(out, where),
        tokens_cached=tokens_cached,
        cost_usd=parse_cost(cost),
    )


def parse_token_count(value: JSONValue, where: str) -> int | None:
    """A token count; None when absent; raises `BadFile` when it cannot be one."""
    if value is None or value == "" or isinstance(value, bool | list | dict):
        return None
    try:
        count = int(value)
    except (ValueError, OverflowError) as error:
        raise BadFile(f"{text(value)[:40]!r} is not a token count", where) from error
    if not 0 <= count <= _MOST_TOKENS:
        raise BadFile(f"{count} is not a token count", where)
    return count


def parse_cost(value: JSONValue) -> Decimal | None:
    """A cost in US dollars; zero is what programs write that do not know the price, so it is unknown."""
    if value is None or isinstance(value, bool | list | dict):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return round(cost, 8) if cost.is_finite() and 0 < cost < 10**5 else None


def normalize_provider(given: JSONValue, model: str = "") -> str:
    """The provider's usual name, from what the recording says, else from the model's family."""
    said = text(given).strip().lower()
    if said:
        return _PROVIDERS.get(
            said, said.split(".")[0] if said.startswith(("openai.", "anthropic.", "google.")) else said
        )
    name = model.lower()
    return next((provider for prefix, provider in _MODEL_FAMILIES if name.startswith(prefix)), "")


def _answer_message(choice: JSONObject, value: JSONValue) -> JSONObject:
    said = first(choice, "message", "content", "text") if "role" not in choice and "parts" not in choice else choice
    if isinstance(said, dict | list) and (found := normalize_messages(said, "assistant")):
        return _one(found)
    if isinstance(value, list) and (found := normalize_messages(value, "assistant")):
        return _one(found)
    return {"role": "assistant", "content": said if isinstance(said, str) else as_text(value)}


def _one(found: list[JSONObject]) -> JSONObject:
    """The answer in a list of messages: the last that the assistant said."""
    return next((each for each in reversed(found) if each.get("role") == "assistant"), found[-1])


def _generation(body: JSONObject) -> JSONObject:
    """LangChain's answer: a list of lists of generations."""
    level: JSONValue = body.get("generations")
    while isinstance(level, list) and level:
        level = level[0]
    return obj(level)


def _joined(system: list[JSONObject]) -> list[JSONObject]:
    """System instructions given in blocks are one system message."""
    if len(system) < 2:
        return system
    return [{"role": "system", "content": "\n\n".join(as_text(each.get("content")) for each in system)}]


def _number(value: JSONValue) -> JSONValue:
    """Numbers that a client wrote as texts."""
    if not isinstance(value, str) or kind(parse_embedded(value)) != "a text":
        return parse_embedded(value)
    try:
        number = float(value)
    except ValueError:
        return value
    if math.isnan(number):
        return value
    return int(number) if number.is_integer() and "." not in value else number


def _infinite(value: JSONValue) -> bool:
    return value in {"inf", "Infinity"} if isinstance(value, str) else isinstance(value, float) and math.isinf(value)
