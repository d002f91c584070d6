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
# Values in containers that were converted before. Their conversion takes a tenth of a second.
_MOST_REPETITIONS: Final = 100_000
# Written so that the search skips to the next digit, in a third of the time of `\d{19}`.
_MANY_DIGITS: Final = re.compile(r"[0-9][0-9]{18}")


class Late:
    """A value that is computed on the background thread, such as the answer that a long stream forms."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute


def encode(value: Any) -> str:
    """Encode a value as one line of JSON; values without a JSON form become text."""
    try:
        return "".join(_encode(value, 0))
    except Exception:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
        return _FAST.encode(as_json_value(value))


def without_long_integers(line: str) -> str:
    """Convert integers beyond 64 bits in a line of JSON to text, because JSON readers may not accept them."""
    return _FAST.encode(as_json_value(json.loads(line))) if _MANY_DIGITS.search(line) else line


def as_text(value: Any) -> str:
    """Return text unchanged, None as empty text, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else _FAST.encode(as_json_value(value))


def as_json_value(value: Any) -> Any:
    """Convert `value` to JSON types.

    Keys that are not text, NaN and integers beyond 64 bits become text. Cycles and deep nesting are cut off, and so is
    what repeats the same objects again and again: a graph of a few objects can have more paths than memory has bytes.
    """
    return _Conversion().convert(value, 0, is_repeated=False)


class _Conversion:
    """The conversion of one value."""

    def __init__(self) -> None:
        self._path: set[int] = set()
        # By id, which belongs to the object only as long as it exists.
        self._objects: dict[int, Any] = {}
        self._repetitions = 0

    def convert(self, value: Any, depth: int, *, is_repeated: bool) -> Any:
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, int):
            return _as_number(value)
        if depth > _DEEPEST:
            return "[nested too deep]"
        if id(value) in self._path:
            return "[contains itself]"
        is_repeated = is_repeated or id(value) in self._objects
        self._repetitions += is_repeated
        if self._repetitions > _MOST_REPETITIONS:
            return "[repeated too often]"
        self._objects[id(value)] = value
        self._path.add(id(value))
        try:
            return self._convert_items(value, depth + 1, is_repeated)
        except Exception as error:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
            return _failure(error)
        finally:
            self._path.discard(id(value))

    def _convert_items(self, value: Any, depth: int, is_repeated: bool) -> Any:
        if isinstance(value, Mapping):
            self._repetitions += is_repeated * len(value)
            items = value.items()
            return {_as_key(key): self.convert(item, depth, is_repeated=is_repeated) for key, item in items}
        if isinstance(value, list | tuple | set | frozenset):
            self._repetitions += is_repeated * len(value)
            return [self.convert(item, depth, is_repeated=is_repeated) for item in value]
        return self.convert(unfold(value), depth, is_repeated=is_repeated)


def _as_number(value: int) -> int | str:
    if -(2**63) <= value < 2**64:
        return value
    try:
        return str(value)
    except ValueError:
        # Python writes no decimal number of more than 4,300 digits.
        return hex(value)


def _as_key(key: Any) -> str:
    try:
        return str(key)
    except Exception as error:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
        return _failure(error)


def _failure(error: Exception) -> str:
    return f"[could not be recorded: {type(error).__name__}]"


def unfold(value: Any) -> Any:
    """Return the fields of a Pydantic model or dataclass, an enum's value, an ISO time, or `repr`."""
    try:
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, Late):
            return value.compute()
        # Of the class: a mock has every attribute that it is asked for.
        if hasattr(value.__class__, "model_dump"):
            return value.model_dump(mode="json", exclude_none=True)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, set | frozenset):
            return list(value)
        return value.isoformat() if hasattr(value.__class__, "isoformat") else repr(value)[:_LONGEST_REPR]
    except RecursionError:
        # Of objects that contain themselves: with a text for each of the deepest ones, their encoding would go on.
        raise
    except Exception as error:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
        return _failure(error)


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
