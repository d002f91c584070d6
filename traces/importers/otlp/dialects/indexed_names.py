"""Attributes with indexes in their names, such as `llm.tools.0.tool.name`, as lists and objects."""

from traces.core.json_types import JSONObject, JSONValue

_MOST_LEVELS = 30


def insert(tree: JSONObject, name: str, value: JSONValue) -> None:
    """Insert a value into nested objects, one level per segment of its name."""
    path = name.split(".", _MOST_LEVELS)
    for key in path[:-1]:
        child = tree.get(key)
        if not isinstance(child, dict):
            child = {} if child is None else {"": child}
            tree[key] = child
        tree = child
    tree[path[-1]] = value


def to_lists(value: JSONValue) -> JSONValue:
    """Convert nested objects whose keys are numbers to lists."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [to_lists(value[key]) for key in sorted(value, key=lambda key: (len(key), key))]
    return {key: to_lists(item) for key, item in value.items()}
