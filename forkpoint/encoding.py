"""An agent's values as JSON text, taken at once because the agent goes on changing them; never raises."""

import dataclasses
import enum
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

_DEEPEST: Final = 100
_LONGEST_REPR: Final = 2000
_MANY_DIGITS: Final = re.compile(r"\d{19}")


def encode(event: dict[str, Any]) -> str:
    """One line of JSON. What JSON cannot say is said as text."""
    try:
        line = _FAST.encode(event)
    except (TypeError, ValueError, RecursionError):
        return _FAST.encode(plain(event))
    # A number of so many digits may be beyond what readers of JSON take for an integer.
    return _FAST.encode(plain(event)) if _MANY_DIGITS.search(line) else line


def as_text(value: Any) -> str:
    """A text as it is, nothing as an empty one, anything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else _FAST.encode(plain(value))


def plain(value: Any, depth: int = 0) -> Any:
    """`value` made of JSON's types only: odd keys as text, cycles and depths cut off, NaN as text."""
    if depth > _DEEPEST:
        return "[nested too deep]"
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) <= value < 2**64 else str(value)
    if value is None or isinstance(value, str | bool):
        return value
    return plain(unfolded(value), depth + 1)


def unfolded(value: Any) -> Any:
    """An object's fields, or its text: models of pydantic, dataclasses, enumerations, times, anything."""
    try:
        if isinstance(value, enum.Enum):
            return value.value
        if dump := getattr(value, "model_dump", None):
            return dump(mode="json", exclude_none=True)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, set | frozenset):
            return list(value)
        return value.isoformat() if hasattr(value, "isoformat") else repr(value)[:_LONGEST_REPR]
    except Exception as error:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
        return f"[could not be recorded: {type(error).__name__}]"


_FAST: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=unfolded)
