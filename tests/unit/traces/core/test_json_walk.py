from traces.core.json_types import JSONValue
from traces.core.json_walk import children, entries, first_item, map_strings, scalars

VALUE: JSONValue = {"b": [1, {"a/c": "x"}], "a": None, "c": {}}


def test_entries_are_named() -> None:
    assert dict(entries({"a": 1})) == {"a": 1}
    assert list(entries(["x", "y"])) == [("0", "x"), ("1", "y")]
    assert not list(entries("text"))


def test_children_of_a_scalar_are_none() -> None:
    assert list(children({"a": 1})) == list(children([1])) == [1]
    assert not list(children("text"))


def test_scalars_have_pointers_in_canonical_order() -> None:
    assert list(scalars(VALUE)) == [("/a", None), ("/b/0", 1), ("/b/1/a~1c", "x")]
    assert list(scalars("alone")) == [("", "alone")]


def test_first_item_is_the_innermost() -> None:
    assert first_item([[{"a": 1}], 2]) == {"a": 1}
    assert first_item([[]]) is None
    assert first_item("text") == "text"


def test_mapped_strings_keep_everything_else() -> None:
    assert map_strings(VALUE, str.upper) == {"b": [1, {"a/c": "X"}], "a": None, "c": {}}
    assert map_strings("one", lambda text: [text]) == ["one"]
