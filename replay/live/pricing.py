"""Token prices, from a maintained library that contains them offline."""

import re
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final

# Provider names in recordings that differ from the library's names.
_ALIASES: Final = {"azure.openai": "azure", "gemini": "google", "bedrock": "aws", "aws.bedrock": "aws", "xai": "x-ai"}
# Programs inside this process.
free_providers: Final[set[str]] = set()
_PREFIX: Final = re.compile(r"^(models|publishers/[\w-]+/models)/")


def price(
    provider: str, model: str, tokens_in: int | None, tokens_out: int | None, tokens_cached: int | None, at: datetime
) -> Decimal | None:
    """Price in US dollars at a date, with separate prices for cached input; None: unknown.

    `tokens_in` counts all input tokens, including cached ones. Free providers cost nothing.
    """
    if provider in free_providers:
        return Decimal(0)
    if not model or (tokens_in is None and tokens_out is None):
        return None
    cached = min(tokens_cached or 0, tokens_in or 0)
    name = _ALIASES.get(provider.lower(), provider.lower())
    # Prices do not change within an hour, so steps of one run share a cache entry.
    hour = at.replace(minute=0, second=0, microsecond=0)
    return _price(name, model, tokens_in or 0, tokens_out or 0, cached, hour)


@lru_cache(maxsize=4096)
def _price(provider: str, model: str, tokens_in: int, tokens_out: int, cached: int, at: datetime) -> Decimal | None:
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - 0.3 s, and most commands need no price

    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=cached)
    try:
        calculation = calc_price(
            usage, _PREFIX.sub("", model), provider_id=provider or None, genai_request_timestamp=at
        )
    except LookupError:
        return None
    return calculation.total_price
