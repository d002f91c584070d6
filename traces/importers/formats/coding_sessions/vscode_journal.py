"""Journals of VS Code: the first line has a value, and each further line changes a part of it."""

from collections.abc import Iterable
from typing import Final

from traces.core.json_access import as_list, as_object, has_object, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Record

_START: Final = 0
_SET: Final = 1
_PUSH: Final = 2
_DELETE: Final = 3


def is_start(value: JSONValue) -> bool:
    """Return whether `value` is the first line of a journal about an object."""
    return as_object(value).get("kind") == _START and has_object(value, "v")


def replay(records: Iterable[Record], problems: list[BadFile]) -> JSONObject:
    """Return the value after all changes; a change of an element that is missing becomes a problem."""
    root: dict[str, JSONValue] = {}
    for record in records:
        line = as_object(record.value)
        if is_start(line):
            root = {"v": line["v"]}
        elif not _change(root, line) and any(map(is_integer, as_list(line.get("k")))):
            problems.append(BadFile("this line changes something that no earlier line has", record.location))
    return as_object(root.get("v"))


def _change(root: dict[str, JSONValue], line: JSONObject) -> bool:
    """Apply a change; return whether its place exists."""
    path: list[JSONValue] = ["v", *as_list(line.get("k"))]
    holder: JSONValue = root
    for key in path[:-1]:
        holder = _member(holder, key)
    last, kind, value = path[-1], line.get("kind"), line.get("v")
    if kind == _PUSH:
        return _push(holder, last, as_list(value), line.get("i"))
    if isinstance(holder, dict) and isinstance(last, str) and kind in (_SET, _DELETE):
        if kind == _SET:
            holder[last] = value
        else:
            holder.pop(last, None)
        return True
    if isinstance(holder, list) and is_integer(last) and kind == _SET and 0 <= last <= len(holder):
        holder[last : last + 1] = [value]
        return True
    return False


def _member(holder: JSONValue, key: JSONValue) -> JSONValue:
    if isinstance(holder, dict) and isinstance(key, str):
        return holder.get(key)
    return holder[key] if isinstance(holder, list) and is_integer(key) and 0 <= key < len(holder) else None


def _push(holder: JSONValue, key: JSONValue, items: list[JSONValue], start: JSONValue) -> bool:
    """Append to a list, after cutting it off at `start`."""
    target = _member(holder, key)
    if target is None and isinstance(holder, dict) and isinstance(key, str):
        target = holder[key] = []
    if not isinstance(target, list):
        return False
    if is_integer(start) and start >= 0:
        del target[start:]
    target += items
    return True
