"""Convert an agent's values to JSON text. Never raises.

Values are encoded at once, because the agent may change them later.
"""

import dataclasses
import enum
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

# Readers accept 100 levels, of which an event takes one.
_DEEPEST: Final = 98
_LONGEST_REPR: Final = 2000
_MANY_DIGITS: Final = re.compile(r"\d{19}")


class Late:
    """A value that is computed on the background thread, such as the answer that a long stream forms."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute


def encode(value: Any) -> str:
    """Encode a value as one line of JSON; values without a JSON form become text."""
    try:
        return "".join(_encode(value, 0))
    except (TypeError, ValueError, RecursionError):
        return _FAST.encode(as_json_value(value))


def without_long_integers(line: str) -> str:
    """Convert integers beyond 64 bits in a line of JSON to text, because JSON readers may not accept them."""
    return _FAST.encode(as_json_value(json.loads(line))) if _MANY_DIGITS.search(line) else line


def as_text(value: Any) -> str:
    """Return text unchanged, None as empty text, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else _FAST.encode(as_json_value(value))


def as_json_value(value: Any, depth: int = 0) -> Any:
    """Convert `value` to JSON types.

    Keys that are not text, NaN and integers beyond 64 bits become text. Cycles and deep nesting are cut off.
    """
    if depth > _DEEPEST:
        return "[nested too deep]"
    if isinstance(value, Mapping):
        return {str(key): as_json_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json_value(item, depth + 1) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) <= value < 2**64 else str(value)
    if value is None or isinstance(value, str | bool):
        return value
    return as_json_value(unfold(value), depth + 1)


def unfold(value: Any) -> Any:
    """Return the fields of a Pydantic model or dataclass, an enum's value, an ISO time, or `repr`."""
    try:
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, Late):
            return value.compute()
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


_FAST: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=unfold)


def _make_encoder() -> Callable[[Any, int], Iterable[str]]:
    """Return an encoder to reuse: `JSONEncoder.encode` makes one for each call, which costs as much as a small payload.

    Python implementations without the C encoder have only the other way.
    """
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _: _FAST.iterencode(value)
    quote: Any = json.encoder.encode_basestring
    encoder: Callable[[Any, int], Iterable[str]] = make(None, unfold, quote, None, ":", ",", False, False, False)
    return encoder


_encode: Final = _make_encoder()
