"""Model calls of every client in one normal form: request, answer, usage, parameters, provider."""

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

import msgspec

from traces.core.json_access import as_list, as_object, as_text, first_member, is_number
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import normalize_messages, parse_message_json, result_text
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import kind, parse_embedded

# The attribute of a tool's step: the model's provider ran the tool, such as a web search.
PROVIDER_RAN: Final = "provider_ran"
_MOST_TOKENS: Final = 2**31 - 1
# Fields of a request body that are not sampling parameters. All others are.
_NOT_PARAMETERS: Final = frozenset(
    {
        "model",
        "messages",
        "input",
        "contents",
        "prompt",
        "system",
        "instructions",
        "system_instruction",
        "systemInstruction",
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
# Fields of a request body that a model step's input has no place for, and of a response. They become attributes.
REQUEST_ATTRIBUTES: Final = frozenset(
    {"stream", "stream_options", "metadata", "user", "store", "include", "conversation", "background", "truncation"}
    | {"previous_response_id", "service_tier", "safety_identifier", "prompt_cache_key", "betas", "container"}
    | {"safetySettings", "cachedContent", "labels", "http_options", "keep_alive"}
)
# Names of content that the provider stores, and that the request therefore does not have.
STORED_CONTENT: Final = frozenset({"previous_response_id", "conversation", "cachedContent", "container", "thread"})
# Of the attributes, those on which the answer depends. They are parameters of the input, too.
ANSWER_SETTINGS: Final = STORED_CONTENT | {"truncation", "safetySettings"}
RESPONSE_ATTRIBUTES: Final = (
    "id",
    "responseId",
    "response_id",
    "service_tier",
    "system_fingerprint",
    "modelVersion",
    "model_version",
    "automatic_function_calling_history",
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
_FINISH_REASONS: Final = {
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "tool-calls": "tool_calls",
    "ToolCalls": "tool_calls",
    "Stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "STOP": "stop",
    "MAX_TOKENS": "length",
    # Vertex AI's client for Python writes numbers.
    "1": "stop",
    "2": "length",
}
# For any provider.
_AGENT_KIT: Final = "gcp.vertex.agent"
_PROVIDERS: Final = {
    "az.ai.openai": "azure",
    "azure.ai.openai": "azure",
    "azure_openai": "azure",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "google_genai": "google",
    "googleai": "google",
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

_INPUT_COUNTS: Final = (
    "prompt_tokens",
    "input_tokens",
    "promptTokens",
    "inputTokens",
    "input",
    "promptTokenCount",
    "prompt_token_count",
    # Semantic Kernel for .NET
    "InputTokenCount",
)
_OUTPUT_COUNTS: Final = (
    *("completion_tokens", "output_tokens", "completionTokens", "outputTokens", "output"),
    *("candidatesTokenCount", "candidates_token_count", "OutputTokenCount"),
)
_CACHED_COUNTS: Final = (
    "cached_tokens",
    "cached_prompt_tokens",
    "cached_input_tokens",
    "cachedInputTokens",
    *("cachedContentTokenCount", "cached_content_token_count", "CachedInputTokenCount"),
)
# Of Bedrock's Converse, which counts them beside the input, as Anthropic does.
_CACHE_NAMES: Final = {
    "cacheReadInputTokens": "cache_read_input_tokens",
    **dict.fromkeys(("cacheWriteInputTokens", "cacheCreationInputTokens"), "cache_creation_input_tokens"),
}
# Its API states the unit among them.
_LANGFUSE_COUNTS: Final = ("input", "output", "total")
# Programs use few clients.
_MOST_USAGES: Final = 200
# Counts and costs that a step has columns for, and sums of them, under any client's names.
_COLUMN_COUNTS: Final = frozenset(
    {*_INPUT_COUNTS, *_OUTPUT_COUNTS, *_CACHED_COUNTS, "cache_read", "cache_read_input_tokens", "input_cached_tokens"}
    | {"total_tokens", "totalTokens", "total", "totalTokenCount", "total_token_count", "TotalTokenCount"}
    | {"total_cost", "totalCost", "estimated_cost_usd", "cost"}
)


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and cost of one call. `tokens_in` includes cached tokens. None means not recorded."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: Decimal | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer as a step's output, with the model and usage of its envelope."""

    output: JSONObject | None
    model: str = ""
    usage: Usage = msgspec.field(default_factory=Usage)


def normalize_request(body: JSONObject) -> JSONObject:
    """Convert a request body to a model step's input: messages, tools, parameters, response format."""
    messages = normalize_messages(first_member(body, "messages", "input", "contents", "prompt"))
    tools = normalize_tools(first_member(body, "tools", "functions") or [])
    return request_input(body, messages, tools)


def request_input(body: JSONObject, messages: list[JSONObject], tools: list[JSONValue]) -> JSONObject:
    """Build a model step's input from the normalized messages and tools of a request and its other fields."""
    parameters = normalize_parameters({key: value for key, value in body.items() if key not in _NOT_PARAMETERS})
    return model_input([*system_messages(body), *messages], tools, parameters, body.get("response_format"))


def system_messages(body: JSONObject) -> list[JSONObject]:
    """Return the instructions that a request states beside its messages, as one message."""
    names = ("system", "instructions", "system_instruction", "systemInstruction")
    instructions = normalize_messages(first_member(body, *names), "system")
    return _join_instructions([{**message, "role": "system"} for message in instructions])


def model_input(
    messages: Sequence[JSONObject], tools: list[JSONValue], parameters: JSONObject, response_format: JSONValue = None
) -> JSONObject:
    """Build a model step's input without empty fields. The messages are not copied, so that equal ones stay shared."""
    optional: JSONObject = {"tools": tools, "parameters": parameters, "response_format": response_format}
    return {"messages": [*messages], **{key: value for key, value in optional.items() if value}}


def normalize_parameters(parameters: JSONObject) -> JSONObject:
    """Give sampling parameters their common names, parse numbers, and drop empty values and infinite limits."""
    values = {_PARAMETER_NAMES.get(key, key): parse_number(value) for key, value in parameters.items()}
    return {key: value for key, value in values.items() if value not in (None, "") and not is_infinite(value)}


def normalize_answer(value: JSONValue, reason: str = "") -> Answer:
    """Convert an answer in any shape: a response envelope, messages, a message, a text, or an object."""
    value = parse_message_json(value)
    if value is None or value == "" or value == [] or value == {}:
        return Answer(output=None)
    body = as_object(value)
    choice = as_object(next(iter(as_list(first_member(body, "choices", "candidates"))), None)) or _first_generation(
        body
    )
    message = _answer_message(choice or body, value)
    # LangChain's generations contain what they are about in an object of their own.
    facts = as_object(choice.get("generation_info")) or choice or body
    names = ("finish_reason", "finishReason", "stop_reason")
    reason = reason or as_text(first_member(facts, *names) or as_object(facts.get("message")).get("stop_reason"))
    usage = as_object(first_member(body, "usage", "usage_metadata", "usageMetadata"))
    output: JSONObject = {"message": message, **({"finish_reason": normalize_finish_reason(reason)} if reason else {})}
    return Answer(output=output, model=as_text(body.get("model")), usage=normalize_usage(usage, "/usage"))


def normalize_finish_reason(reason: str) -> str:
    """Translate a finish reason to OpenAI's equivalent, where one exists."""
    return _FINISH_REASONS.get(reason, reason)


def usage_details(usage: JSONObject) -> JSONObject:
    """Return the token counts that a step has no columns for, such as those of reasoning, as its attribute `usage`."""
    return {"usage": usage} if has_other_counts(usage) else {}


def has_other_counts(usage: JSONObject) -> bool:
    """Return whether usage states counts for which a step has no columns."""
    # As in most cases.
    if usage.keys() <= _COLUMN_COUNTS and dict not in map(type, usage.values()):
        return False
    return any(
        has_other_counts(value) if isinstance(value, dict) else name not in _COLUMN_COUNTS and is_number(value)
        for name, value in usage.items()
    )


def normalize_usage(usage: JSONObject, location: str) -> Usage:
    """Read token counts under any client's field names."""
    if not usage:
        return Usage()
    if not _CACHE_NAMES.keys().isdisjoint(usage):
        usage = {_CACHE_NAMES.get(name, name): count for name, count in usage.items()}
    if (names := _plain_counts(tuple(usage))) is not None:
        tokens_in, tokens_out, tokens_cached = [parse_token_count(usage.get(name), location) for name in names]
        return Usage(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached)
    details = as_object(first_member(usage, "prompt_tokens_details", "input_tokens_details", "input_token_details"))
    input_count, output_count = first_member(usage, *_INPUT_COUNTS), first_member(usage, *_OUTPUT_COUNTS)
    cached_count = first_member(details, "cached_tokens", "cache_read")
    if cached_count is None:
        cached_count = first_member(usage, *_CACHED_COUNTS, "cache_read_input_tokens")
    tokens_in, tokens_cached = parse_token_count(input_count, location), parse_token_count(cached_count, location)
    tokens_out = parse_token_count(output_count, location)
    has_cache = "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage
    if has_cache and "prompt_tokens" not in usage:
        # Anthropic's `input_tokens` excludes cache reads and writes; the `prompt_tokens` of LiteLLM include them.
        tokens_cached = parse_token_count(usage.get("cache_read_input_tokens"), location)
        cache_writes = parse_token_count(usage.get("cache_creation_input_tokens"), location)
        # So does the `input` that it sends to Langfuse, as the total shows.
        if parse_token_count(usage.get("total"), location) != (tokens_in or 0) + (tokens_out or 0):
            tokens_in = (tokens_in or 0) + (tokens_cached or 0) + (cache_writes or 0)
    if thoughts := first_member(usage, "thoughtsTokenCount", "thoughts_token_count"):
        # Gemini counts what the model thought beside its answer.
        tokens_out = (tokens_out or 0) + (parse_token_count(thoughts, location) or 0)
    if "input_cached_tokens" in usage or "output_reasoning_tokens" in usage:
        tokens_in, tokens_out, tokens_cached = _langfuse_counts(usage, location)
    cost = first_member(usage, "total_cost", "totalCost", "estimated_cost_usd", "cost")
    return Usage(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached, cost_usd=parse_cost(cost))


@lru_cache(_MOST_USAGES)
def _plain_counts(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the members of a usage for its counts in, out and cached, empty for none.

    None if it has other members, or several that may be one of them.
    """
    roles = [[name for name in names if name in group] for group in (_INPUT_COUNTS, _OUTPUT_COUNTS, _CACHED_COUNTS)]
    known_count = sum(map(len, roles)) + names.count("total_tokens")
    is_plain = known_count == len(names) and all(len(role) <= 1 for role in roles)
    return tuple(role[0] if role else "" for role in roles) if is_plain else None


def _langfuse_counts(usage: JSONObject, location: str) -> tuple[int | None, int | None, int | None]:
    """Return the tokens in, out and cached of Langfuse's details.

    Langfuse counts cached and reasoning tokens beside `input` and `output`, unless the total shows that these include
    them.
    """
    counts = {
        name: parse_token_count(value, location) for name, value in usage.items() if name.startswith(_LANGFUSE_COUNTS)
    }
    tokens_in, tokens_out = counts.get("input"), counts.get("output")
    cache_reads = counts.get("input_cached_tokens", counts.get("input_cache_read"))
    if counts.get("total") != (tokens_in or 0) + (tokens_out or 0):
        tokens_in = sum(count for name, count in counts.items() if count and name.startswith("input"))
        tokens_out = sum(count for name, count in counts.items() if count and name.startswith("output"))
    return tokens_in, tokens_out, cache_reads


def parse_token_count(value: JSONValue, location: str) -> int | None:
    """Return a token count, or None when absent. Raises `BadFile` for an invalid count."""
    if type(value) is int and 0 <= value <= _MOST_TOKENS:
        return value
    if value is None or value == "" or isinstance(value, bool | list | dict):
        return None
    try:
        count = int(value)
    except (ValueError, OverflowError) as error:
        raise BadFile(f"“{as_text(value)[:40]}” is not a token count", location) from error
    if not 0 <= count <= _MOST_TOKENS:
        raise BadFile(f"{count} is not a token count", location)
    return count


def parse_cost(value: JSONValue) -> Decimal | None:
    """Return a cost in US dollars, or None. Zero means unknown: programs write it if they have no price."""
    if value is None or isinstance(value, bool | list | dict):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    return round(cost, 8) if cost.is_finite() and 0 < cost < 10**5 else None


def normalize_provider(name: JSONValue, model: str = "") -> str:
    """Return the provider's usual name, from the recorded name, else from the model's family."""
    recorded_name = as_text(name).strip().lower()
    if recorded_name in _PROVIDERS:
        return _PROVIDERS[recorded_name]
    if recorded_name.startswith(("openai.", "anthropic.", "google.")):
        return recorded_name.split(".")[0]
    if recorded_name and recorded_name != _AGENT_KIT:
        return recorded_name
    model_name = model.lower()
    return next((provider for prefix, provider in _MODEL_FAMILIES if model_name.startswith(prefix)), "")


def _answer_message(choice: JSONObject, value: JSONValue) -> JSONObject:
    is_message = not choice.keys().isdisjoint({"role", "parts", "tool_calls"}) and "message" not in choice
    answer = choice if is_message else first_member(choice, "message", "messages", "content", "text")
    if isinstance(answer, dict | list) and (messages := normalize_messages(answer, "assistant")):
        return _last_assistant_message(messages)
    if isinstance(value, list) and (messages := normalize_messages(value, "assistant")):
        return _last_assistant_message(messages)
    return {"role": "assistant", "content": answer if isinstance(answer, str) else result_text(value)}


def _last_assistant_message(messages: list[JSONObject]) -> JSONObject:
    """Return the last message of the assistant, else the last message, which some programs write as one of the user."""
    message = next((item for item in reversed(messages) if item.get("role") == "assistant"), messages[-1])
    return {**message, "role": "assistant"} if message.get("role") == "user" else message


def _first_generation(body: JSONObject) -> JSONObject:
    """Return the first generation of a LangChain answer, which is a list of lists of generations."""
    level: JSONValue = body.get("generations")
    while isinstance(level, list) and level:
        level = level[0]
    return as_object(level)


def _join_instructions(system: list[JSONObject]) -> list[JSONObject]:
    """Join several system messages into one."""
    if len(system) < 2:
        return system
    return [{"role": "system", "content": "\n\n".join(result_text(message.get("content")) for message in system)}]


def parse_number(value: JSONValue) -> JSONValue:
    """Parse a number that a client wrote as text; return other values unchanged."""
    if not isinstance(value, str) or kind(parse_embedded(value)) != "a string":
        return parse_embedded(value)
    try:
        number = float(value)
    except ValueError:
        return value
    if math.isnan(number):
        return value
    return int(number) if number.is_integer() and "." not in value else number


def is_infinite(value: JSONValue) -> bool:
    """Return whether a limit is none."""
    return value in {"inf", "Infinity"} if isinstance(value, str) else isinstance(value, float) and math.isinf(value)
