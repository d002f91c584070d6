"""Tokens and cost of a model call in span attributes."""

from typing import Final

from msgspec import structs

from traces.core.json_access import as_object, first_member
from traces.core.json_types import JSONObject
from traces.importers.common.model_calls import Usage, has_other_counts, normalize_usage, parse_cost, parse_token_count
from traces.importers.otlp.dialects.attributes import Attributes

_DETAILS: Final = "langfuse.observation.usage_details"
_INPUT: Final = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    # Embeddings
    "ai.usage.tokens",
    "llm.usage.prompt_tokens",
    # Early versions of Semantic Kernel
    "gen_ai.response.prompt_tokens",
)
_OUTPUT: Final = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "llm.usage.completion_tokens",
    "gen_ai.response.completion_tokens",
)
_CACHED: Final = (
    "gen_ai.usage.cache_read.input_tokens",
    "ai.usage.cachedInputTokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.token_count.prompt_details.cache_read",
)
_CACHE_WRITES: Final = (
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "llm.token_count.prompt_details.cache_write",
)
_COST: Final = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")


def extract_usage(attributes: Attributes, answer: Usage, location: str) -> Usage:
    """Return the usage in the attributes; counts that they lack are those of the answer."""
    details = as_object(attributes.look_json(_DETAILS))
    if not has_other_counts(details):
        attributes.take(_DETAILS)
    details = details or {
        "input_tokens": attributes.take(*_INPUT),
        "output_tokens": attributes.take(*_OUTPUT),
        "cached_tokens": attributes.take(*_CACHED),
    }
    writes = parse_token_count(attributes.look(*_CACHE_WRITES), location)
    usage = _with_cache(normalize_usage(details, location), writes)
    cost = first_member(as_object(attributes.take_json("langfuse.observation.cost_details")), "total")
    cost_usd = parse_cost(cost if cost is not None else attributes.take(*_COST))
    return Usage(
        tokens_in=answer.tokens_in if usage.tokens_in is None else usage.tokens_in,
        tokens_out=answer.tokens_out if usage.tokens_out is None else usage.tokens_out,
        tokens_cached=answer.tokens_cached if usage.tokens_cached is None else usage.tokens_cached,
        cost_usd=answer.cost_usd if cost_usd is None else cost_usd,
    )


def recorded_usage(values: JSONObject, location: str) -> Usage | None:
    """Return the usage that unused attributes of a span state; None without any."""
    counts: JSONObject = {
        "input_tokens": first_member(values, *_INPUT),
        "output_tokens": first_member(values, *_OUTPUT),
        "cached_tokens": first_member(values, *_CACHED),
    }
    writes = parse_token_count(first_member(values, *_CACHE_WRITES), location)
    usage, cost_usd = _with_cache(normalize_usage(counts, location), writes), parse_cost(first_member(values, *_COST))
    if usage.tokens_in is None and usage.tokens_out is None and cost_usd is None:
        return None
    return structs.replace(usage, cost_usd=cost_usd)


def _with_cache(usage: Usage, writes: int | None) -> Usage:
    """Return a usage whose input includes the cache: a client of Anthropic's counts that parts exceed excludes it."""
    cache_count = (usage.tokens_cached or 0) + (writes or 0)
    if usage.tokens_in is None or cache_count <= usage.tokens_in:
        return usage
    return structs.replace(usage, tokens_in=usage.tokens_in + cache_count)
