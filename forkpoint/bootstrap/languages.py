"""Whether a program runs in Python, which the SDK is loaded into, or in another language. Pure."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

# Programs that run no Python, and those that run packages of JavaScript.
_JAVASCRIPT: Final = frozenset({"bun", "bunx", "deno", "node", "nodejs", "npm", "npx", "pnpm", "tsx", "yarn"})
_NO_PYTHON: Final = _JAVASCRIPT | {"cargo", "claude", "codex", "dotnet", "elixir", "go", "java", "mix", "php", "ruby"}
_SUFFIXES: Final = frozenset({".cjs", ".exs", ".go", ".jar", ".js", ".mjs", ".mts", ".php", ".pl", ".rb", ".ts"})
# They run the rest of their words.
_WRAPPERS: Final = frozenset({"env", "nice", "nohup", "stdbuf", "time", "timeout"})
_SETTING: Final = re.compile(r"-|\w+=|[\d.]+[smhd]?$")


def is_other_language(words: Sequence[str]) -> bool:
    """Return whether a command surely runs no Python. What a shell or another tool runs is not known.

    >>> is_other_language(["env", "A=1", "node", "agent.mjs"]), is_other_language(["uv", "run", "agent.py"])
    (True, False)
    """
    rest = list(words)
    while rest and (PurePath(rest[0]).name in _WRAPPERS or (len(rest) < len(words) and _SETTING.match(rest[0]))):
        rest.pop(0)
    if not rest:
        return False
    program = PurePath(rest[0])
    return program.name in _NO_PYTHON or program.suffix in _SUFFIXES
