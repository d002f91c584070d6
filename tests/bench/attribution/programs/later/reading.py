"""Reads single values from texts. A text without the value gives the default, so that every text can be answered."""

import re
from datetime import date


def find(pattern: str, text: str, default: str = "") -> str:
    """Return the first group of the first match."""
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else default


def number(pattern: str, text: str, default: int = 0) -> int:
    """Return the first group of the first match as a whole number. Thousands separators are ignored."""
    digits = re.sub(r"[^\d-]", "", find(pattern, text))
    return int(digits) if re.fullmatch(r"-?\d+", digits) else default


def decimal(pattern: str, text: str, default: float = 0.0) -> float:
    """Return the first group of the first match as a number with a decimal point."""
    digits = find(pattern, text).replace(",", "")
    return float(digits) if re.fullmatch(r"-?\d+(\.\d+)?", digits) else default


def day_of(text: str) -> date:
    """Return the date of `31/12/2026`."""
    day, month, year = (int(part) for part in text.split("/"))
    return date(year, month, day)
