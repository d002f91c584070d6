"""`--freeze` in Node programs: a script that Node loads before the program."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_SCRIPT: Final = Path(__file__).parent / "path" / "freeze.cjs"


def node_preload(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that loads the script into every Node process, with the options that are there already."""
    # Node takes double quotes and backslashes as a shell does, and no single quotes.
    place = str(_SCRIPT).replace("\\", "\\\\").replace('"', '\\"')
    options = [environment.get("NODE_OPTIONS", ""), f'--require="{place}"']
    return {"NODE_OPTIONS": " ".join(item for item in options if item)}
