"""The variables of the session in which a program runs, also where what started it passes few variables on."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_MOST_PARENTS: Final = 20


def find_variables(name: str) -> Mapping[str, str]:
    """Return the environment that has a variable: that of this process, else of the nearest parent; empty if none has.

    Clients of MCP start servers with a few variables of their own choice. Parents are known on Linux only.
    """
    if os.environ.get(name):
        return os.environ
    process = os.getppid()
    for _ in range(_MOST_PARENTS):
        variables = _variables(process)
        if variables.get(name):
            return variables
        process = _parent(process)
        if process <= 1:
            break
    return {}


def _variables(process: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{process}/environ").read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return {}
    pairs = (item.partition("=") for item in text.split("\0"))
    return {name: value for name, separator, value in pairs if separator}


def _parent(process: int) -> int:
    """Return the id of a process's parent; 0 if it has none that is known."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    # The name of the program before it is in parentheses, and may contain any character.
    return int(text.rpartition(")")[2].split()[1])
