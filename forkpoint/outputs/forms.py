"""Forms of outputs: what their recorded JSON loses.

JSON in canonical form has no order of keys, and no difference between 1.0 and 1, a tuple and a list, an object and its
fields. A form names these, without repeating the values:

    (1.0, {"b": 1, "a": 2})  is recorded as  [1, {"a": 2, "b": 1}]  and the form
    {"type": "tuple", "items": [{"type": "float"}, {"type": "dict", "keys": ["b", "a"]}]}
"""

import json
import math
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

from forkpoint.encoding import encode, without_long_integers
from forkpoint.outputs.data_classes import category, class_name, fields_of, require_only_items
from forkpoint.outputs.restoring import restore_strictly
from forkpoint.outputs.texts import READERS

# Characters of an object's text; the model does not get longer ones in one piece either.
_LONGEST_TEXT: Final = 200_000
# Characters of an output: the agent waits for its form, which takes several times as long as its JSON.
_LARGEST: Final = 8 * 1024 * 1024
_EXACT_INTEGERS: Final = 2**53
_COLLECTIONS: Final[dict[type, str]] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_DICTS: Final[dict[type, str]] = {dict: "dict", OrderedDict: "ordered_dict"}
# Their own part is restored in any case: rows of databases are tuples, and a trial of each would take long.
_CONTAINERS: Final = frozenset({dict, OrderedDict, tuple})
_LOSSLESS: Final = frozenset({str, bool, type(None)})

Form = dict[str, Any]


def form_of(output: Any) -> Form | None:
    """Return the form of an output; None if its JSON loses nothing of it. Never raises."""
    if type(output) in _LOSSLESS and not (type(output) is str and not output.isascii()):
        return None
    try:
        # Raises if there is half of a pair of surrogates, as in names of files in another encoding.
        if type(output) is str:
            output.encode()
            return None
        line = without_long_integers(encode(output, largest=_LARGEST))
        line.encode()
        return _describe(output, json.loads(line))
    except Exception:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
        return {"type": "opaque"}


def form_of_documents(output: Any) -> Form | None:
    """Return the form of a search's output, whose texts are recorded as documents with this content."""
    if type(output) is not list:
        return None if output is None else {"type": "opaque"}
    forms = [{"type": "content"} if isinstance(item, str) else form_of(item) for item in output]
    return _with_items({"type": "list"}, forms)


def _describe(value: Any, plain: Any) -> Form | None:
    """Return the form of a value, whose JSON is `plain`."""
    kind = type(value)
    if kind in _LOSSLESS:
        return None
    if kind is float:
        return _float_form(value)
    if kind is int:
        return None if type(plain) is int else {"type": "int"}
    if kind is list:
        return _with_items({"type": "list"}, _item_forms(value, plain))
    try:
        form = _dict_form(value, plain) if kind in _DICTS else _object_form(value, plain)
        is_restorable = kind in _CONTAINERS or _is_same(restore_strictly(plain, form), value)
    except Exception:  # noqa: BLE001 - the code of a class runs here, and may raise anything
        is_restorable = False
    return form if is_restorable else _opaque_form(value, plain)


def _float_form(value: float) -> Form | None:
    if math.isfinite(value) and not value.is_integer():
        return None
    if not abs(value) < _EXACT_INTEGERS or (value == 0 and math.copysign(1, value) < 0):
        return {"type": "float", "text": str(value)}
    return {"type": "float"}


def _dict_form(value: dict[Any, Any], plain: dict[str, Any]) -> Form | None:
    names = [*plain]
    # Two keys may have the same text, which raises.
    forms = zip(names, _item_forms(value.values(), plain.values()), strict=True)
    items = {name: form for name, form in forms if form is not None}
    form: Form = {"type": _DICTS[type(value)]}
    keys = [*value]
    if {*map(type, keys)} - {str}:
        keys = [_key(key, name) for key, name in zip(keys, names, strict=True)]
    if keys != sorted(names) or not "".join(names).isascii():
        form["keys"] = keys
    if items:
        form["items"] = items
    return form if len(form) > 1 or type(value) is not dict else None


def _key(key: Any, name: str) -> Any:
    """Return a key that is text, or how it is made of its text."""
    if type(key) is str:
        return key
    kind = "constant" if key is None or type(key) is bool else type(key).__name__
    if kind not in {"constant", "int", "float"} and type(key) not in READERS:
        raise ValueError("a key that its text does not give")
    return {"type": kind, "name": name}


def _item_forms(values: Any, plain: Iterable[Any]) -> list[Form | None]:
    # Most are text, for which a call would cost most of the time.
    return [
        None if type(item) in _LOSSLESS else _describe(item, item_plain)
        for item, item_plain in zip(values, plain, strict=True)
    ]


def _with_items(form: Form, items: list[Form | None]) -> Form | None:
    """Return a collection's form with those of its items; None if no list of values without one needs it."""
    if not any(item is not None for item in items):
        return None if form == {"type": "list"} else form
    if all(item == items[0] for item in items):
        return {**form, "each": items[0]}
    return {**form, "items": items}


def _object_form(value: Any, plain: Any) -> Form | None:
    kind = type(value)
    if kind in READERS:
        return {"type": kind.__name__}
    if kind in _COLLECTIONS:
        order = {} if kind is tuple else {"repr": repr(value)}
        return _with_items({"type": _COLLECTIONS[kind], **order}, _item_forms(value, plain))
    match category(kind):
        case "enum":
            return {"type": "enum", "class": class_name(kind), "name": value.name}
        case "named_tuple":
            require_only_items(value)
            return _with_items({"type": "named_tuple", "class": class_name(kind)}, _item_forms(value, plain))
        case "model" | "dataclass":
            fields = fields_of(value)
            forms = [_describe(item, plain.get(name)) for name, item in fields.items()]
            names_set = {"set": sorted(value.__pydantic_fields_set__)} if category(kind) == "model" else {}
            return {"type": "object", "class": class_name(kind), "names": [*fields], "fields": forms, **names_set}
    raise ValueError("more than data")


def _is_same(copy: Any, value: Any) -> bool:
    has_same_texts = repr(copy) == repr(value) and str(copy) == str(value)
    return type(copy) is type(value) and has_same_texts and bool(copy == value)


def _opaque_form(value: Any, plain: Any) -> Form:
    """Return the form of an object that is known by its text only, and as the collection or number that it is, too."""
    form: Form = {"type": "opaque"}
    base = next((base for base in (dict, list, float) if isinstance(value, base) and type(value) is not base), None)
    if base is not None and (base_form := _describe(base(value), plain)) is not None:
        form["base"] = base_form
    literal = repr(value)
    # Of a class without a text of its own, the same one: it may be costly, such as the query of a database.
    has_own_text = any("__str__" in vars(base) for base in type(value).__mro__ if base is not object)
    text = str(value) if has_own_text else literal
    if max(len(text), len(literal)) > _LONGEST_TEXT:
        return form
    return {**form, "str": text, **({} if literal == text else {"repr": literal})}
