"""Ask on this terminal about calls of a running agent."""

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

from forkpoint.bootstrap.gateway import Server
from forkpoint.confinement.terminal_text import harmless

# Standard input and output may be those of the agent.
_TERMINAL: Final = Path("/dev/tty")
_POLL_S: Final = 0.5
_LONGEST_ARGUMENTS: Final = 2_000


class TerminalOperator:
    """Asks while it is open."""

    def __init__(self, server: Server, rerun: str) -> None:
        self._server = server
        self._path = f"/reruns/{rerun}/questions"
        self._is_over = threading.Event()

    def __enter__(self) -> "TerminalOperator":
        # It may still wait for a line when the agent ends.
        threading.Thread(target=self._ask_all, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()

    def _ask_all(self) -> None:
        with _TERMINAL.open() as reader, _TERMINAL.open("w") as writer:
            while not self._is_over.wait(_POLL_S):
                # The server may be away for a while: the agent waits for it, too.
                with suppress(OSError, ValueError):
                    for question in self._server.send("GET", self._path)["questions"][:1]:
                        self._server.send("POST", self._path, ask(question, reader, writer))


def has_terminal() -> bool:
    """Return whether somebody can be asked."""
    try:
        with _TERMINAL.open():
            return True
    except OSError:
        return False


def ask(question: Any, reader: TextIO, writer: TextIO) -> dict[str, Any]:
    """Return the answer to a question. The end of the input refuses the call."""
    arguments = _shorten(json.dumps(question["arguments"], ensure_ascii=False, indent=2))
    choices = ("[r]un it, " if question["may_run"] else "") + "enter its [o]utput, or re[f]use? "
    writer.write(harmless(f"\nforkpoint: {question['text']}\n{arguments}\n"))
    answers = {"f": {"action": "fallback"}, "o": {"action": "answer"}}
    if question["may_run"]:
        answers["r"] = {"action": "run"}
    while True:
        choice = _read(reader, writer, f"forkpoint: {choices}", default="f").lower()
        if choice in answers:
            break
    answer: dict[str, Any] = {"sequence_no": question["sequence_no"], **answers[choice]}
    if choice == "o":
        answer["output"] = _parse(_read(reader, writer, "forkpoint: output, as JSON or text: "))
    return answer


def _shorten(text: str) -> str:
    """Return the beginning of long arguments, and how much is missing: an operator must know what was not shown."""
    more = len(text) - _LONGEST_ARGUMENTS
    if more <= 0:
        return text
    return f"{text[:_LONGEST_ARGUMENTS]}\n… and {more:,} more characters, which are not shown here"


def _read(reader: TextIO, writer: TextIO, prompt: str, *, default: str = "") -> str:
    writer.write(prompt)
    writer.flush()
    line = reader.readline()
    return line.strip() if line else default


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
