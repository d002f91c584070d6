"""Structural changes, which no fork can make: adding, removing or reordering steps. Pure."""

from typing import Final

from replay.core.errors import InvalidReplay
from traces.core.json_access import as_list, as_object, member
from traces.core.json_types import JSONValue

# Keys with which a profile would request another structure.
_STRUCTURAL: Final = frozenset(
    {"delete", "remove", "drop", "skip", "move", "reorder", "insert_step", "insert_before", "insert_after", "steps"}
)


def refuse_structural(profile: JSONValue, path: str) -> None:
    """Raise `InvalidReplay` for the first profile entry that requests one; `path` is the profile's JSON pointer."""
    for index, entry in enumerate(as_list(member(profile, "overrides"))):
        if words := sorted(_STRUCTURAL & as_object(entry).keys()):
            detail = f"`{words[0]}` would add, remove or reorder steps, which a fork cannot do"
            raise InvalidReplay(detail, code="structural_change", where=f"{path}/overrides/{index}/{words[0]}")
