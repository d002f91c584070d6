"""Following a session by its messages: what the socket tells a browser, asked for a few times a second."""

import sys
import time
from collections.abc import Callable
from typing import Any, Final

from cockpit.cli import output
from cockpit.cli.client import Api
from cockpit.cli.terminal_safety import harmless
from replay.core.vocabulary import ACTIVE_STATUSES

_POLL_S: Final = 0.1

OnText = Callable[[int, str], None]  # the number of the step, and the next piece of its text


def follow(api: Api, session: dict[str, Any], on_text: OnText) -> dict[str, Any]:
    """The session when it has ended or waits; every piece of text is given on once, in order."""
    after, running = 0, True
    while running:
        running = session["status"] in ACTIVE_STATUSES
        page = api.get(f"/replays/{session['id']}/messages", after=str(after))
        for message in page["messages"]:
            if message["type"] == "text":
                on_text(message["sequence_no"], message["text"])
        running = running or page["last"] > after  # what was said before the end is still read
        after = page["last"]
        if running:
            time.sleep(_POLL_S)
            session = api.get(f"/replays/{session['id']}")
    return session


class Printer:
    """Prints text as it comes, each step under a line of its own."""

    def __init__(self, to: Any = None) -> None:
        self._to = to or sys.stdout
        self._step: int | None = None

    def __call__(self, step: int, text: str) -> None:
        if step != self._step:
            self._line()
            output.note(f"step {step}")
            self._step = step
        self._to.write(harmless(text))
        self._to.flush()

    def _line(self) -> None:
        if self._step is not None:
            self._to.write("\n")
            self._to.flush()

    close = _line
