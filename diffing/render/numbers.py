"""Formats of numeric differences."""


def format_duration(milliseconds: float | None) -> str:
    """A difference of time in milliseconds or seconds, with its sign."""
    if milliseconds is None:
        return format_difference(None)
    seconds = abs(milliseconds) >= 1000
    amount = round(milliseconds / 1000, 1) if seconds else round(milliseconds)
    return f"{format_difference(amount)} {'s' if seconds else 'ms'}"


def format_difference(value: float | None, unit: str = "") -> str:
    """A difference with its sign; `unknown` for None."""
    if value is None:
        return "unknown"
    sign = "−" if value < 0 else "+" if value > 0 else ""
    amount = f"{abs(value):,.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{abs(value):,}"
    return f"{sign}{unit}{amount}"
