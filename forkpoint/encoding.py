"""Convert an agent's values to JSON text. Never raises.

Values are encoded at once, because the agent may change them later. The agent waits for that, so its time is bounded:
what is too large is cut. A graph of a few objects can have more paths than memory has bytes, so sizes count every path.
"""

import dataclasses
import enum
import gc
import json
import marshal
import math
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

# Readers accept 100 levels, of which an event takes one.
_DEEPEST: Final = 98
_MOST_LEVELS: Final = 1000
_LONGEST_REPR: Final = 2000
# Characters of a value: up to two tenths of a second.
_LARGEST: Final = 16 * 1024 * 1024
# An item takes as long as this many characters: in the encoder, in Python code, and if it is an object.
_ITEM: Final = 32
_CONVERTED_ITEM: Final = 160
_OBJECT: Final = 800
_CONTAINERS: Final = (dict, list, tuple)
_TOO_LARGE: Final = "[too large]"
# What is never cut: the fields of an event, and values of theirs such as a status.
_MOST_FIELDS: Final = 100
_SHORT: Final = 200
# Written so that the search skips to the next digit, in a third of the time of `\d{19}`.
_MANY_DIGITS: Final = re.compile(r"[0-9][0-9]{18}")


class Late:
    """A value that is computed on the background thread, such as the answer that a long stream forms."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self.compute = compute


class TooLarge(Exception):
    """A value that takes too long to encode."""


class Budget(threading.local):
    """The characters that the value being encoded by a thread may still have."""

    def __init__(self) -> None:
        self.rest = 0

    def spend(self, value: Any) -> None:
        """Take the size of a value; raise `TooLarge`. What an object unfolds to is spent when it does."""
        rest, items = self.rest, [value]
        # Deeper values have no JSON: the encoder raises.
        for _ in range(_MOST_LEVELS):
            rest -= sum([len(item) for item in items if isinstance(item, str)])
            containers = [item for item in items if isinstance(item, _CONTAINERS)]
            rest -= _ITEM * sum(map(len, containers))
            if rest < 0:
                raise TooLarge
            if not (items := gc.get_referents(*containers)):
                break
        self.rest = rest


def encode(value: Any, *, largest: int = 0) -> str:
    """Encode a value as one line of JSON; values without a JSON form become text.

    Raise `TooLarge` if it is larger than `largest`; without that, what is too large is cut.
    """
    _budget.rest = largest or _LARGEST
    try:
        _budget.spend(value)
        return "".join(_encode(value, 0))
    except Exception as error:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
        if largest and isinstance(error, TooLarge):
            raise
        return _FAST.encode(as_json_value(value))


def freeze(value: Any) -> str | bytes:
    """Return the JSON of a value, or a copy of plain data that `thaw` encodes later: copying takes a tenth of the time.

    The copy of a set may have another order.
    """
    try:
        return marshal.dumps(value)
    except ValueError:
        return encode(value)


def thaw(value: str | bytes) -> str:
    """Return the JSON of a value that `freeze` returned."""
    return value if isinstance(value, str) else encode(marshal.loads(value))


def without_long_integers(line: str) -> str:
    """Convert integers beyond 64 bits in a line of JSON to text, because JSON readers may not accept them."""
    return _FAST.encode(_Conversion(math.inf).convert(json.loads(line), 0)) if _MANY_DIGITS.search(line) else line


def is_data(value: Any) -> bool:
    """Return whether the JSON of a value has all of it: objects without fields that are known become their `repr`."""
    try:
        return _is_data(value, 0)
    except Exception:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
        return False


def _is_data(value: Any, depth: int) -> bool:
    if value is None or isinstance(value, str | int | float | enum.Enum):
        return True
    if depth > _DEEPEST:
        return False
    if isinstance(value, Mapping):
        return all(_is_data(item, depth + 1) for item in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_data(item, depth + 1) for item in value)
    if isinstance(value, bytes | bytearray):
        return len(value) < _LONGEST_REPR // 4
    if hasattr(value.__class__, "model_dump") or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return _is_data(unfold(value), depth + 1)
    return hasattr(value.__class__, "isoformat")


def as_text(value: Any) -> str:
    """Return text unchanged, None as empty text, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else _FAST.encode(as_json_value(value))


def as_json_value(value: Any) -> Any:
    """Convert `value` to JSON types.

    Keys that are not text, NaN and integers beyond 64 bits become text. Cycles, deep nesting and what is too large are
    cut off.
    """
    return _Conversion().convert(value, 0)


class _Conversion:
    """The conversion of one value; `rest` is how many characters it may still have."""

    def __init__(self, rest: float = _LARGEST) -> None:
        self._path: set[int] = set()
        self._rest = rest

    def convert(self, value: Any, depth: int) -> Any:
        self._rest -= _CONVERTED_ITEM
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._cut(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, int):
            return _as_number(value)
        if depth > _DEEPEST:
            return "[nested too deep]"
        if id(value) in self._path:
            return "[contains itself]"
        self._path.add(id(value))
        try:
            return self._convert_items(value, depth + 1)
        except Exception as error:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
            return _failure(error)
        finally:
            self._path.discard(id(value))

    def _convert_items(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return dict(self._pairs(value, depth))
        if isinstance(value, list | tuple | set | frozenset):
            return [*self._items(value, depth)]
        self._rest -= _OBJECT
        return self.convert(unfold(value), depth)

    def _pairs(self, value: Mapping[Any, Any], depth: int) -> Iterator[tuple[str, Any]]:
        is_event = depth == 1 and len(value) <= _MOST_FIELDS
        for key, item in value.items():
            if self._rest < 0 and not is_event:
                yield _TOO_LARGE, f"{len(value)} items"
                return
            yield self._cut(_as_key(key)), self.convert(item, depth)

    def _items(self, value: Collection[Any], depth: int) -> Iterator[Any]:
        for item in value:
            if self._rest < 0:
                yield f"{_TOO_LARGE} {len(value)} items"
                return
            yield self.convert(item, depth)

    def _cut(self, text: str) -> str:
        rest = max(_SHORT, self._rest)
        self._rest -= len(text)
        return text if len(text) <= rest else f"{text[: int(rest)]}{_TOO_LARGE} {len(text)} characters"


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


def _unfold(value: Any) -> Any:
    """Return what the encoder writes for an object; raise `TooLarge`."""
    plain = unfold(value)
    _budget.rest -= _OBJECT
    _budget.spend(plain)
    return plain


_budget: Final = Budget()
_FAST: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=unfold)


def _make_encoder() -> Callable[[Any, int], Iterable[str]]:
    """Return an encoder to reuse: `JSONEncoder.encode` makes one for each call, which costs as much as a small payload.

    Python implementations without the C encoder have only the other way.
    """
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        options: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
        slow = json.JSONEncoder(default=_unfold, **options)
        return lambda value, _: slow.iterencode(value)
    quote: Any = json.encoder.encode_basestring
    encoder: Callable[[Any, int], Iterable[str]] = make(None, _unfold, quote, None, ":", ",", False, False, False)
    return encoder


_encode: Final = _make_encoder()
