"""Differences of numbers as people write them."""


def signed(value: float | None, unit: str = "") -> str:
    """A difference with its sign; `unknown` for None."""
    if value is None:
        return "unknown"
    sign = "−" if value < 0 else "+" if value > 0 else ""
    amount = f"{abs(value):,.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{abs(value):,}"
    return f"{sign}{unit}{amount}"
