"""Token prices."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from replay.live import providers
from replay.live.pricing import price
from replay.live.providers import Provider

AT = datetime(2025, 6, 1, tzinfo=UTC)


def test_cached_input_has_its_own_price() -> None:
    whole = price("openai", "gpt-4o", 1_000_000, 0, 0, AT)
    cached = price("openai", "gpt-4o", 1_000_000, 0, 1_000_000, AT)
    output = price("openai", "gpt-4o", 0, 1_000_000, 0, AT)
    assert (whole, cached, output) == (Decimal("2.5"), Decimal("1.25"), Decimal("10"))


def test_price_depends_on_date() -> None:
    before, after = datetime(2025, 6, 1, tzinfo=UTC), datetime(2025, 7, 1, tzinfo=UTC)
    assert price("openai", "o3", 1_000_000, 0, 0, before) == Decimal("10")
    assert price("openai", "o3", 1_000_000, 0, 0, after) == Decimal("2")


def test_program_inside_this_process_is_free() -> None:
    program = Provider(name="local", protocol="openai", base_url="http://127.0.0.1:1/v1", local=True)
    providers.register(program)
    try:
        assert price("local", "desk-small-1", 1_000, 10, None, AT) == 0
    finally:
        providers.unregister("local")
    assert price("local", "desk-small-1", 1_000, 10, None, AT) is None


@pytest.mark.parametrize(
    ("provider", "model"),
    [("local", "desk-small-1"), ("openai", "no-such-model"), ("nobody", "gpt-4o"), ("openai", "")],
)
def test_unknown_models_have_no_price(provider: str, model: str) -> None:
    assert price(provider, model, 1000, 1000, 0, AT) is None


def test_missing_counts_are_not_free() -> None:
    assert price("openai", "gpt-4o", None, None, None, AT) is None


def test_recorded_spellings_are_priced() -> None:
    assert price("google", "models/gemini-2.0-flash-lite", 1000, 100, 0, AT) is not None
    assert price("", "gpt-4o", 1000, 100, 0, AT) == price("openai", "gpt-4o", 1000, 100, 0, AT)


def test_excess_cached_tokens_count_as_all() -> None:
    assert price("openai", "gpt-4o", 1_000_000, 0, 2_000_000, AT) == Decimal("1.25")
