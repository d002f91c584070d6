"""Shell commands among the arguments of tool calls. Pure.

Coding agents name the command by different words, and a hook may name another tool than the model: Codex asks about
`Bash` where the model called `exec_command`.
"""

import shlex
from typing import Final

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONValue

_MEMBERS: Final = ("command", "cmd")
_SHELLS: Final = frozenset({"bash", "sh", "zsh"})
_OPTIONS: Final = frozenset({"-c", "-lc"})


def shell_command(arguments: JSONValue) -> str:
    """Return the command in the arguments of a call; empty if they have none.

    >>> shell_command({"cmd": "ls", "yield_time_ms": 1000})
    'ls'
    >>> shell_command({"command": ["bash", "-lc", "ls | wc"]})
    'ls | wc'
    """
    members = as_object(arguments)
    value = next((members[name] for name in _MEMBERS if name in members), None)
    if not isinstance(value, list):
        return value if isinstance(value, str) else ""
    words = [as_text(word) for word in value]
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in _OPTIONS:
        return words[2]
    return shlex.join(words)
