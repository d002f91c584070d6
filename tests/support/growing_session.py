"""A session file of a coding agent in three states: shorter, grown, and with another result."""

from pathlib import Path
from typing import NamedTuple

from tests.support import importing_fixtures as fixtures

# The lines up to the tool's result, without the answer to it.
_SHORT_LINES = 7


class SessionStates(NamedTuple):
    """Files with the same session id: `grown` continues `short`, `conflicting` contradicts both."""

    short: Path
    grown: Path
    conflicting: Path


def write_states(folder: Path) -> SessionStates:
    text = (fixtures.FOLDER / "codex.jsonl").read_text("utf-8")
    states = SessionStates(*(folder / f"{name}.jsonl" for name in SessionStates._fields))
    states.short.write_text("".join(text.splitlines(keepends=True)[:_SHORT_LINES]), "utf-8")
    states.grown.write_text(text, "utf-8")
    states.conflicting.write_text(text.replace("3 copies", "no copies").replace("Yes, three", "No"), "utf-8")
    return states
