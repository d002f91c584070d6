"""Follow a session by polling its messages, which a browser receives over the socket."""

import sys
import time
from collections.abc import Callable
from typing import Any, Final

from cockpit.cli import output
from cockpit.cli.client import Api
from forkpoint.confinement.terminal_text import harmless
from replay.core.vocabulary import ACTIVE_STATUSES

_POLL_S: Final = 0.1

# Arguments: the step number and the next piece of its text.
OnText = Callable[[int, str], None]


def follow(api: Api, session: dict[str, Any], on_text: OnText) -> dict[str, Any]:
    """Return the session once it ends or waits. Passes every piece of text to `on_text` once, in order."""
    after, running = 0, True
    while running:
        running = session["status"] in ACTIVE_STATUSES
        page = api.get(f"/replays/{session['id']}/messages", after=str(after))
        for message in page["messages"]:
            if message["type"] == "text":
                on_text(message["sequence_no"], message["text"])
        # Messages written just before the end are still read.
        running = running or page["last"] > after
        after = page["last"]
        if running:
            time.sleep(_POLL_S)
            session = api.get(f"/replays/{session['id']}")
    return session


class Printer:
    """Prints text as it arrives, with a heading line per step."""

    def __init__(self, stream: Any = None) -> None:
        self._stream = stream or sys.stdout
        self._step: int | None = None

    def __call__(self, step: int, text: str) -> None:
        if step != self._step:
            self.close()
            output.note(f"step {step}")
            self._step = step
        self._stream.write(harmless(text))
        self._stream.flush()

    def close(self) -> None:
        """End the current line."""
        if self._step is not None:
            self._stream.write("\n")
            self._stream.flush()
