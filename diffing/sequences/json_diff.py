"""Typed differences of two JSON values, by JSON pointer."""

from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal, NamedTuple

import orjson

from diffing.sequences.anchors import differing_ranges
from traces.core.canonical import canonical_bytes, escape_pointer
from traces.core.json_types import JSONValue

# Differences listed for one pair of values.
LIMIT: Final = 200
# Longer lists are compared index by index.
_ALIGNED_ITEMS: Final = 2_000

# Lists under these keys are sets: sources, labels, stop sequences, and the names and values of JSON schemas.
_SETS: Final = frozenset({"citations", "tags", "stop", "stop_sequences", "required", "enum"})

Op = Literal["added", "removed", "changed"]


class Change(NamedTuple):
    """One difference. `path` points into the candidate for an added value, else into the base."""

    path: str
    op: Op
    base: JSONValue
    candidate: JSONValue


def value_changes(base: JSONValue, candidate: JSONValue, limit: int = LIMIT) -> list[Change]:
    """The differences from `base` to `candidate`, at most `limit`; 1 and 1.0 are equal, 1 and "1" are not."""
    return list(islice(_differences("", base, candidate), limit))


def differ(base: JSONValue, candidate: JSONValue) -> bool:
    """True if there is any difference."""
    return bool(value_changes(base, candidate, 1))


def have_same_items(base: JSONValue, candidate: JSONValue) -> bool:
    """True if two differing values differ only in the order of the items in their lists."""
    has_lists = isinstance(base, list | dict) and type(base) is type(candidate)
    return has_lists and canonical_bytes(_sorted_items(base)) == canonical_bytes(_sorted_items(candidate))


def _sorted_items(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {key: _sorted_items(item) for key, item in value.items()}
    return sorted(map(_sorted_items, value), key=canonical_bytes) if isinstance(value, list) else value


def parse_embedded_json(value: JSONValue) -> JSONValue:
    """Decode a text that contains a JSON object or list; tools often answer with encoded JSON."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            content: JSONValue = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        return content
    return value


def _differences(path: str, base: JSONValue, candidate: JSONValue) -> Iterator[Change]:
    if isinstance(base, dict) and isinstance(candidate, dict):
        yield from _object_differences(path, base, candidate)
    elif isinstance(base, list) and isinstance(candidate, list):
        is_set = path.rpartition("/")[2] in _SETS
        yield from (_set_differences if is_set else _list_differences)(path, base, candidate)
    elif not _same(base, candidate):
        yield Change(path, "changed", base, candidate)


def _object_differences(path: str, base: dict[str, JSONValue], candidate: dict[str, JSONValue]) -> Iterator[Change]:
    for key in sorted({*base, *candidate}):
        pointer = f"{path}/{escape_pointer(key)}"
        if key not in candidate:
            yield Change(pointer, "removed", base[key], None)
        elif key not in base:
            yield Change(pointer, "added", None, candidate[key])
        else:
            yield from _differences(pointer, base[key], candidate[key])


def _set_differences(path: str, base: list[JSONValue], candidate: list[JSONValue]) -> Iterator[Change]:
    """Items that only one side has, whatever their order and number."""
    left = {canonical_bytes(item): index for index, item in reversed(list(enumerate(base)))}
    right = {canonical_bytes(item): index for index, item in reversed(list(enumerate(candidate)))}
    for index in sorted(left[item] for item in left.keys() - right.keys()):
        yield Change(f"{path}/{index}", "removed", base[index], None)
    for index in sorted(right[item] for item in right.keys() - left.keys()):
        yield Change(f"{path}/{index}", "added", None, candidate[index])


def _list_differences(path: str, base: list[JSONValue], candidate: list[JSONValue]) -> Iterator[Change]:
    """Differences of two lists, paired by content first, so that one inserted item is one difference."""
    if len(base) == len(candidate) or max(len(base), len(candidate)) > _ALIGNED_ITEMS:
        yield from _stretch(path, base, candidate, 0, 0)
        return
    left, right = [canonical_bytes(item) for item in base], [canonical_bytes(item) for item in candidate]
    for mine, theirs in differing_ranges(left, right):
        stretch = base[mine.start : mine.stop], candidate[theirs.start : theirs.stop]
        yield from _stretch(path, *stretch, mine.start, theirs.start)


def _stretch(
    path: str, base: list[JSONValue], candidate: list[JSONValue], base_at: int, candidate_at: int
) -> Iterator[Change]:
    for index, (left, right) in enumerate(zip(base, candidate, strict=False)):
        yield from _differences(f"{path}/{base_at + index}", left, right)
    for index in range(len(candidate), len(base)):
        yield Change(f"{path}/{base_at + index}", "removed", base[index], None)
    for index in range(len(base), len(candidate)):
        yield Change(f"{path}/{candidate_at + index}", "added", None, candidate[index])


def _same(base: JSONValue, candidate: JSONValue) -> bool:
    if isinstance(base, bool) or isinstance(candidate, bool):
        return base is candidate
    if isinstance(base, int | float) and isinstance(candidate, int | float):
        return base == candidate
    return type(base) is type(candidate) and base == candidate
