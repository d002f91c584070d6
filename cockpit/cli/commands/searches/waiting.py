"""Notes about what a search of replays waits for."""

from typing import Any

from cockpit.cli import output


def note_wait(search: dict[str, Any], last_note: str) -> str:
    """Print which runner a proof, an experiment or a bisection waits for, if that is news; return it."""
    waits_for = str(search["waits_for"])
    if waits_for and waits_for != last_note:
        output.note(f"waiting: {waits_for}")
    return waits_for
