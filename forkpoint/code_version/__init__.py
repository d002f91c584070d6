"""The version of an agent's code: digests of the modules, classes and functions that it consists of.

`logic` leaves out comments, layout, docstrings and texts of several words, which are prompts and messages as a rule. So
an edited prompt changes `source` alone, and another threshold changes both.
"""

import ast
import hashlib
import inspect
import logging
import textwrap
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Final

_log: Final = logging.getLogger("forkpoint")

CodePart = ModuleType | type | Callable[..., Any]


def code_version(parts: Iterable[CodePart]) -> dict[str, str]:
    """Return the digests of these parts, in their order; none if the source of one cannot be read, which is logged."""
    sources: list[str] = []
    for part in parts:
        try:
            sources.append(textwrap.dedent(inspect.getsource(part)))
            ast.parse(sources[-1])
        except (OSError, TypeError, SyntaxError) as error:
            name = getattr(part, "__qualname__", getattr(part, "__name__", repr(part)))
            _log.warning("The version of %s is not recorded: %s", name, error)
            return {}
    return {"logic": _digest(map(_logic, sources)), "source": _digest(sources)} if sources else {}


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
