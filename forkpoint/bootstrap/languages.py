"""Whether a program runs in Python, which the SDK is loaded into, or in another language. Pure."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

# Programs that run no Python, and those that run packages of JavaScript.
_JAVASCRIPT: Final = frozenset({"bun", "bunx", "deno", "node", "nodejs", "npm", "npx", "pnpm", "tsx", "yarn"})
_NOT_NODE: Final = frozenset({"bun", "bunx", "deno"})
_NODE_SUFFIXES: Final = frozenset({".cjs", ".js", ".mjs", ".mts", ".ts"})
_NO_PYTHON: Final = _JAVASCRIPT | {"cargo", "claude", "codex", "dotnet", "elixir", "go", "java", "mix", "php", "ruby"}
_SUFFIXES: Final = frozenset({".cjs", ".exs", ".go", ".jar", ".js", ".mjs", ".mts", ".php", ".pl", ".rb", ".ts"})
_PYTHON: Final = re.compile(r"(python|pypy)[\d.]*(\.exe)?")
# They run the rest of their words.
_WRAPPERS: Final = frozenset({"env", "nice", "nohup", "stdbuf", "time", "timeout"})
_SETTING: Final = re.compile(r"-|\w+=|[\d.]+[smhd]?$")


def is_other_language(words: Sequence[str]) -> bool:
    """Return whether a command surely runs no Python. What a shell or another tool runs is not known.

    >>> is_other_language(["env", "A=1", "node", "agent.mjs"]), is_other_language(["uv", "run", "agent.py"])
    (True, False)
    """
    program = _program(words)
    return program.name in _NO_PYTHON or program.suffix in _SUFFIXES


def is_python(words: Sequence[str]) -> bool:
    """Return whether a command surely runs in Python.

    >>> is_python(["env", "A=1", "python3.11", "-m", "agent"]), is_python(["bash", "agent.sh"])
    (True, False)
    """
    program = _program(words)
    return bool(_PYTHON.fullmatch(program.name)) or program.suffix == ".py"


def is_node(words: Sequence[str]) -> bool:
    """Return whether a command surely runs in Node.

    >>> is_node(["npx", "tsx", "agent.ts"]), is_node(["deno", "run", "agent.ts"])
    (True, False)
    """
    program = _program(words)
    return program.name in _JAVASCRIPT - _NOT_NODE or program.suffix in _NODE_SUFFIXES


def _program(words: Sequence[str]) -> PurePath:
    """Return the program of a command, without those that only start it."""
    rest = list(words)
    while rest and (PurePath(rest[0]).name in _WRAPPERS or (len(rest) < len(words) and _SETTING.match(rest[0]))):
        rest.pop(0)
    return PurePath(rest[0] if rest else "")
