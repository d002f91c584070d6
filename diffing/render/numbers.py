"""Differences of numbers as people write them."""


def lasting(milliseconds: float | None) -> str:
    """A difference of time in the unit that suits it."""
    if milliseconds is None:
        return signed(None)
    seconds = abs(milliseconds) >= 1000
    return f"{signed(round(milliseconds / 1000, 1) if seconds else round(milliseconds))} {'s' if seconds else 'ms'}"


def signed(value: float | None, unit: str = "") -> str:
    """A difference with its sign; `unknown` for None."""
    if value is None:
        return "unknown"
    sign = "−" if value < 0 else "+" if value > 0 else ""
    amount = f"{abs(value):,.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{abs(value):,}"
    return f"{sign}{unit}{amount}"
