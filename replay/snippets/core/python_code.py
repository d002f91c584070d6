"""JSON values and tool calls as Python code. Pure."""

import builtins
import json
from keyword import iskeyword
from typing import Final
from unicodedata import normalize

from traces.core.json_types import JSONValue

_BUILTINS: Final = frozenset(dir(builtins))
_INDENT: Final = "    "
_LINE: Final = 100  # characters


def string_literal(text: str) -> str:
    """Return a string literal. JSON escapes a subset of what Python does."""
    return json.dumps(text, ensure_ascii=False)


def literal(value: JSONValue, indent: str = "") -> str:
    """Return a literal with one entry per line.

    Example: `{"a": [1]}` becomes `{`, `    "a": [`, `        1,`, `    ],`, `}`.
    """
    inner = indent + _INDENT
    if isinstance(value, dict) and value:
        entries = [f"{string_literal(name)}: {literal(item, inner)}" for name, item in value.items()]
        return _lines("{", entries, "}", indent)
    if isinstance(value, list) and value:
        return _lines("[", [literal(item, inner) for item in value], "]", indent)
    return string_literal(value) if isinstance(value, str) else repr(value)


def tool_call(name: str, arguments: JSONValue) -> str:
    """Return the call of a tool as that of a function, or of an entry of `tools` if the name cannot be a function's.

    Nor may it be that of Python's own functions: `eval` would run what a model wrote.
    """
    is_function = _is_name(name) and normalize("NFKC", name) not in _BUILTINS
    function = name if is_function else f"tools[{string_literal(name)}]"
    if arguments is None or arguments == {}:
        return f"{function}()\n"
    if not isinstance(arguments, dict):
        return f"{function}({literal(arguments)})\n"
    if not all(map(_is_name, arguments)):
        return f"{function}(**{literal(arguments)})\n"
    line = f"{function}({', '.join(f'{key}={literal(value)}' for key, value in arguments.items())})"
    if len(line) <= _LINE and "\n" not in line:
        return f"{line}\n"
    return _lines(f"{function}(", [f"{key}={literal(value, _INDENT)}" for key, value in arguments.items()], ")\n", "")


def _lines(start: str, entries: list[str], end: str, indent: str) -> str:
    body = "".join(f"{indent}{_INDENT}{entry},\n" for entry in entries)
    return f"{start}\n{body}{indent}{end}"


def _is_name(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)
