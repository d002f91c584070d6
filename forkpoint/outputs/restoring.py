"""Restore an output from its JSON and its form."""

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from forkpoint.encoding import encode, without_long_integers
from forkpoint.outputs.data_classes import find_class, make_object
from forkpoint.outputs.stand_ins import stand_in
from forkpoint.outputs.texts import READERS_BY_NAME

_KEYS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_COLLECTIONS: Final[dict[str, Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class Unrestorable(Exception):
    """A value that its JSON and its form do not suffice for."""


@dataclass(frozen=True)
class Output:
    """An output; `is_faithful`: the program can tell it from the recorded one by nothing."""

    value: Any
    is_faithful: bool = True


def restore(plain: Any, form: Any) -> Output:
    """Return an output as it was, or the nearest to it that this process can make. Never raises."""
    restorer = _Restorer()
    try:
        return Output(restorer.value(plain, form), restorer.is_faithful)
    except Exception:  # noqa: BLE001 - a recording may contain anything
        return Output(plain, is_faithful=False)


def restore_strictly(plain: Any, form: Any) -> Any:
    """Return an output as it was; raise if this process cannot make it."""
    restorer = _Restorer()
    value = restorer.value(plain, form)
    if not restorer.is_faithful:
        raise Unrestorable
    return value


class _Restorer:
    def __init__(self) -> None:
        self.is_faithful = True

    def value(self, plain: Any, form: Any) -> Any:
        if form is None:
            return plain
        kind = form["type"]
        if kind in {"float", "int"}:
            return {"float": float, "int": int}[kind](form.get("text", plain))
        if kind in READERS_BY_NAME:
            return READERS_BY_NAME[kind](plain)
        if kind in _COLLECTIONS:
            return self._collection(kind, plain, form)
        try:
            return self._composite(kind, plain, form)
        except Exception:  # noqa: BLE001 - what a class raises that is another one by now
            return self._opaque(plain, form)

    def _composite(self, kind: str, plain: Any, form: Any) -> Any:
        match kind:
            case "dict":
                return self._dict(plain, form)
            case "ordered_dict":
                return OrderedDict(self._dict(plain, form))
            case "plain":
                return plain
            case "error":
                # What the call returned before, such as the items of a generator.
                return self.value(plain, form.get("output"))
            case "content":
                # A document that was a text.
                return plain["content"]
            case "mcp_result":
                content = {"result": plain} if form["content"] == "result" else json.loads(plain)
                return {"content": [{"type": "text", "text": plain}], "structuredContent": content}
            case "enum":
                return self._member(plain, form)
            case "named_tuple":
                return self._named_tuple(plain, form)
            case "object":
                return self._object(plain, form)
        raise Unrestorable(kind)

    def _opaque(self, plain: Any, form: Any) -> Any:
        self.is_faithful = False
        plain = self.value(plain, form.get("base"))
        return stand_in(plain, form.get("str", ""), form.get("repr", "") or form.get("str", ""))

    def _dict(self, plain: Any, form: Any) -> dict[Any, Any]:
        names = form.get("keys") or [*plain]
        items = form.get("items", {})
        result = {}
        for key in names:
            name = key if isinstance(key, str) else key["name"]
            result[self._key(key)] = self.value(plain[name], items.get(name))
        if len(result) != len(plain):
            raise Unrestorable
        return result

    def _key(self, key: Any) -> Any:
        if isinstance(key, str):
            return key
        name, kind = key["name"], key["type"]
        return _KEYS[name] if kind == "constant" else self.value(name, {"type": kind})

    def _collection(self, kind: str, plain: Any, form: Any) -> Any:
        result = _COLLECTIONS[kind](self._items(plain, form))
        # The order of a set is that in which this process would print it.
        if "repr" in form and repr(result) != form["repr"]:
            self.is_faithful = False
        return result

    def _items(self, plain: Any, form: Any) -> list[Any]:
        if "each" in form:
            return [self.value(item, form["each"]) for item in plain]
        forms = form.get("items") or [None] * len(plain)
        return [self.value(item, item_form) for item, item_form in zip(plain, forms, strict=True)]

    def _member(self, plain: Any, form: Any) -> Any:
        """Restore a member of an enum. It may have another value by now."""
        member = find_class(form["class"], "enum")[form["name"]]
        if json.loads(without_long_integers(encode(member))) != plain:
            self.is_faithful = False
        return member

    def _named_tuple(self, plain: Any, form: Any) -> Any:
        kind = find_class(form["class"], "named_tuple")
        items = self._items(plain, form)
        if len(items) != len(kind._fields):
            raise Unrestorable
        return tuple.__new__(kind, items)

    def _object(self, plain: Any, form: Any) -> Any:
        """Restore a dataclass or a model."""
        forms = zip(form["names"], form["fields"], strict=True)
        fields = {name: self.value(plain.get(name), item_form) for name, item_form in forms}
        return make_object(find_class(form["class"], "dataclass", "model"), fields, form.get("set", []))
