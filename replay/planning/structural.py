"""What no fork can do: change which steps there are, or their order. Pure."""

from typing import Final

from replay.core.errors import InvalidReplay
from traces.core.json_types import JSONValue

# Words with which a profile would ask for another structure than the source has.
_STRUCTURAL: Final = frozenset(
    {"delete", "remove", "drop", "skip", "move", "reorder", "insert_step", "insert_before", "insert_after", "steps"}
)


def refuse_structural(profile: JSONValue, where: str) -> None:
    """Raises `InvalidReplay` for the first entry of an override profile that asks for it; `where` is its place."""
    entries = profile.get("overrides") if isinstance(profile, dict) else None
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, dict) and (words := sorted(_STRUCTURAL & entry.keys())):
            detail = f"`{words[0]}` would change which steps there are, or their order: a fork cannot do that"
            raise InvalidReplay(detail, code="structural_change", where=f"{where}/overrides/{index}/{words[0]}")
