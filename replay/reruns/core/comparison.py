"""Comparison of a recorded request with one of the running agent, up to volatile values. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

import orjson

from replay.reruns.core.renaming import Trial
from replay.reruns.core.volatile_values.volatile_tokens import are_times, tokens
from traces.core.canonical import escape_pointer
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue

# Marks for the provider's cache: they move from message to message and do not change the answer.
_CACHE_MARKS: Final = frozenset({"cache_control"})
# A value that is missing on one side.
ABSENT: Final = "(absent)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The first place at which two requests differ, as a JSON pointer, with both values there."""

    path: str
    old: JSONValue
    new: JSONValue


def first_difference(old: JSONValue, new: JSONValue, trial: Trial, path: str = "") -> Difference | None:
    """Return the first difference that no volatile value explains; the trial collects those."""
    if isinstance(old, dict) and isinstance(new, dict):
        return _objects(old, new, trial, path)
    if isinstance(old, list) and isinstance(new, list):
        return _lists(old, new, trial, path)
    if isinstance(old, str) and isinstance(new, str):
        return _texts(old, new, trial, path)
    is_same = old == new and isinstance(old, bool) == isinstance(new, bool)
    if are_times(path.rpartition("/")[2], old, new):
        is_same = trial.accept("time", str(old), str(new))
    return None if is_same else Difference(path=path, old=old, new=new)


def _objects(old: JSONObject, new: JSONObject, trial: Trial, path: str) -> Difference | None:
    for name in dict.fromkeys([*old, *new]):
        place = f"{path}/{escape_pointer(name)}"
        if name in _CACHE_MARKS and all(_is_mark(side[name]) for side in (old, new) if name in side):
            continue
        if name not in old or name not in new:
            return Difference(path=place, old=old.get(name, ABSENT), new=new.get(name, ABSENT))
        if difference := first_difference(old[name], new[name], trial, place):
            return difference
    return None


def _is_mark(value: JSONValue) -> bool:
    """Return whether a value is a mark for a cache, and no argument of that name, such as a header's value."""
    return isinstance(value, dict) and "type" in value


def _lists(old: Sequence[JSONValue], new: Sequence[JSONValue], trial: Trial, path: str) -> Difference | None:
    rest = [*new]
    for index, before in enumerate(old):
        place = f"{path}/{index}"
        if index >= len(rest):
            return Difference(path=place, old=before, new=ABSENT)
        if _result_id(before) and not (index and _result_id(old[index - 1])):
            # By now the calls were compared, so the names of their ids are known.
            _sort_results(old[index:], rest, index, trial)
        if difference := first_difference(before, rest[index], trial, place):
            return difference
    return Difference(path=f"{path}/{len(old)}", old=ABSENT, new=rest[len(old)]) if len(rest) > len(old) else None


def _texts(old: str, new: str, trial: Trial, path: str) -> Difference | None:
    if old == new:
        return None
    documents = _documents(old, new)
    if documents is not None:
        return first_difference(*documents, trial, path)
    before, after = [*tokens(old)], [*tokens(new)]
    is_same = len(before) == len(after) and all(
        left.kind == right.kind and (trial.accept(left.kind, left.text, right.text) if left.kind else left == right)
        for left, right in zip(before, after, strict=True)
    )
    return None if is_same else Difference(path=path, old=old, new=new)


def _documents(old: str, new: str) -> tuple[JSONValue, JSONValue] | None:
    """Return the JSON inside of two texts; None if one contains none."""
    if old[:1] not in {"{", "["} or new[:1] not in {"{", "["}:
        return None
    try:
        return orjson.loads(old), orjson.loads(new)
    except orjson.JSONDecodeError:
        return None


def _sort_results(old: Sequence[JSONValue], new: list[JSONValue], start: int, trial: Trial) -> None:
    """Give the tool results of one turn their recorded order: they are a set, by the ids of their calls."""
    names = [trial.name(_result_id(message)) for message in takewhile(_result_id, old)]
    by_id = {_result_id(message): message for message in takewhile(_result_id, new[start:])}
    if sorted(names) == sorted(by_id):
        new[start : start + len(names)] = [by_id[name] for name in names]


def _result_id(message: JSONValue) -> str:
    fields = as_object(message)
    return as_text(fields.get("tool_call_id")) if fields.get("role") == "tool" else ""
