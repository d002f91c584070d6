"""The version of an agent's code: digests of the modules, classes and functions that it consists of.

`logic` leaves out comments, layout, docstrings and texts of several words, which are prompts and messages as a rule. So
an edited prompt changes `source` alone, and another threshold changes both.
"""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

CodePart = ModuleType | type | Callable[..., Any]


def code_version(parts: Iterable[CodePart]) -> dict[str, str]:
    """Return the digests of these parts, in their order. Raises `ValueError` for one without a source file."""
    sources = [_source(part) for part in parts]
    return {"logic": _digest(_logic(source) for source in sources), "source": _digest(sources)}


def _source(part: CodePart) -> str:
    try:
        return textwrap.dedent(inspect.getsource(part))
    except (OSError, TypeError) as error:
        name = getattr(part, "__qualname__", getattr(part, "__name__", repr(part)))
        raise ValueError(f"the version of {name} cannot be recorded: {error}") from error


def _logic(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 1:
            node.value = ""
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_text(statement)]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a text alone, such as a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
