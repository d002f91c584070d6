"""The rerun that this process is a part of: it answers tools and searches, and is told what the agent does.

Whatever goes wrong here ends the process: an exception would reach the model as the tool's error, and the agent would
go on with it.
"""

import functools
import importlib
import itertools
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NoReturn
from urllib.parse import quote

from forkpoint.answers import Answer, Reply
from forkpoint.encoding import encode, is_data, without_long_integers
from forkpoint.forked_processes import end_first_process, watch_forks
from forkpoint.outputs.errors import loses_state
from forkpoint.outputs.restoring import restore

# Exit codes, as those of `forkpoint rerun`.
REFUSAL: Final = 5
UNAVAILABLE: Final = 6
_TIMEOUT_S: Final = 60.0
_NOTE_TIMEOUT_S: Final = 2.0
# How long an agent waits for an operator, and how long for a server that is away meanwhile.
_OPERATOR_S: Final = 3600.0
_OUTAGE_S: Final = 120.0
_POLL_S: Final = 0.5
_BUSY: Final = 503
# Some clients put more than an id into the id of a call.
_LONGEST_CALL_ID: Final = 1_000
_CALL_NUMBERS: Final = itertools.count()


class ReplaySession:
    """The session of a rerun, and the server that has it."""

    def __init__(self, id: str, url: str, token: str) -> None:
        # Without the number of the start, which only the address needs.
        self.id = id.partition(".")[0]
        self._address = f"{url.rstrip('/')}/api/v1/reruns/{quote(id, safe='')}"
        self._token = token
        self._declared_names: set[str] = set()

    @classmethod
    def from_environment(cls) -> "ReplaySession | None":
        """Return the session that `forkpoint rerun` names in its program's environment."""
        id = os.environ.get("FORKPOINT_RERUN")
        if not id:
            return None
        watch_forks(_end_with_fork)
        return cls(id, os.environ.get("FORKPOINT_URL") or "", os.environ.get("FORKPOINT_TOKEN") or "")

    def ask(
        self,
        type: str,
        name: str,
        arguments: Any,
        server: Mapping[str, str] | None = None,
        lane: str = "",
        call_id: str = "",
    ) -> Reply:
        """Return what becomes of a call: its outcome, or that it may be made. A refusal ends the process.

        `server` tells the MCP server of a tool from others. `lane` is the thread or task that makes the call, `call_id`
        what the model calls it.
        """
        id = _new_call_id()
        call = {"type": type, "name": name, "arguments": arguments, "server": server or {}}
        question = {**call, "call": id, "lane": lane, "call_id": call_id[:_LONGEST_CALL_ID], "ends_agent": True}
        try:
            reply = self._ask(question)
            if reply["decision"] == "ask":
                reply = self._await_operator(question)
            decision = reply["decision"]
        except Exception as error:  # noqa: BLE001 - without an answer nothing may go on
            end_process(f"rerun {self.id} gave no answer about {name}: {_reason(error)}", UNAVAILABLE)
        if decision == "run":
            # A process that dies in the call leaves a trace that it was made.
            importlib.import_module("forkpoint.transport.writer").flush_writers()
            return Reply(arguments=reply["arguments"], call=id)
        if decision == "refusal":
            self.refuse(reply["reason"])
        # The agent did not wait for the result.
        time.sleep(reply.get("delay_s", 0.0))
        output = restore(reply["output"], reply.get("output_form"))
        report_loss = functools.partial(self._report_stand_in, question)
        if not (output.is_faithful and is_data(arguments)) or loses_state(reply.get("output_form")):
            report_loss()
        answer = Answer(
            output.value,
            reply["error"],
            reply["is_text"],
            reply.get("messages") or (),
            reply.get("output_form"),
            functools.partial(self._check_client, question),
            report_loss,
        )
        return Reply(answer=answer, call=id)

    def refuse(self, reason: str) -> NoReturn:
        """End the process because of a call that may not be made."""
        importlib.import_module("forkpoint.transport.writer").finish_writers()
        end_process(f"rerun {self.id}: {reason}", REFUSAL)

    def _report_stand_in(self, question: dict[str, Any]) -> None:
        """Report that a call gets less than it returned when recorded, so that it is not labelled as exact."""
        try:
            self._ask({**question, "has_stand_in": True})
        except Exception as error:  # noqa: BLE001 - as for an answer
            name = question["name"]
            end_process(f"rerun {self.id} did not take a report about {name}: {_reason(error)}", UNAVAILABLE)

    def _check_client(self, question: dict[str, Any], client_answers: list[Any]) -> bool:
        """Return whether an MCP client responded to its server as it did when recorded; if not, the call may run.

        Otherwise the process ends.
        """
        try:
            reply = self._ask({**question, "client_answers": client_answers})
        except Exception as error:  # noqa: BLE001 - as for an answer
            end_process(f"rerun {self.id} gave no answer about {question['name']}: {_reason(error)}", UNAVAILABLE)
        if reply["decision"] == "refusal":
            self.refuse(reply["reason"])
        return bool(reply["decision"] != "run")

    def _ask(self, question: dict[str, Any]) -> Any:
        body = without_long_integers(encode(question)).encode("utf-8", "replace")
        return self._post("tools", body, "application/json")

    def _await_operator(self, question: dict[str, Any]) -> Any:
        """Ask again until an operator has answered. The server may be away for as long as a restart takes."""
        end = time.monotonic() + _OPERATOR_S
        last_contact = time.monotonic()
        while time.monotonic() < end:
            time.sleep(_POLL_S)
            try:
                reply = self._ask(question)
            except Exception as error:  # noqa: BLE001 - a server goes away in many ways
                if getattr(error, "code", 500) < 500 or time.monotonic() - last_contact > _OUTAGE_S:
                    raise
                continue
            last_contact = time.monotonic()
            if reply["decision"] != "ask":
                return reply
        return self._ask({**question, "is_last": True})

    def report(self, lines: list[str]) -> None:
        """Report events of the agent. Without them its run would not be what it did, so a failure ends the process."""
        try:
            self._post("events", ("\n".join(lines) + "\n").encode("utf-8", "replace"), "application/x-ndjson")
        except Exception as error:  # noqa: BLE001 - as above
            end_process(f"rerun {self.id} did not take a report of the agent: {_reason(error)}", UNAVAILABLE)

    def declare_tools(self, names: Iterable[str]) -> None:
        """Tell the server which tools ask before they run: an answer that calls another one does not reach the agent.

        Told before a model can call them, and each once. A failure ends the process, as above.
        """
        new_names = sorted({*names} - self._declared_names)
        # Without the gateway, nothing asks for these.
        if not new_names or not (gateway := os.environ.get("FORKPOINT_GATEWAY")):
            return
        self._declared_names.update(new_names)
        try:
            body = encode({"names": new_names}).encode("utf-8", "replace")
            self._send(f"{gateway}/sdk/tools", body, "application/json")
        except Exception as error:  # noqa: BLE001 - as above
            end_process(f"rerun {self.id} did not take the names of tools: {_reason(error)}", UNAVAILABLE)

    def note_host(self, host: str) -> None:
        """Tell the server which host the agent asked for. Nothing depends on it, so a failure changes nothing."""
        with suppress(Exception):
            self._post("hosts", encode({"host": host}).encode("utf-8", "replace"), "application/json", _NOTE_TIMEOUT_S)

    def _post(self, path: str, body: bytes, media_type: str, timeout_s: float = _TIMEOUT_S) -> Any:
        return self._send(f"{self._address}/{path}", body, media_type, timeout_s)

    def _send(self, address: str, body: bytes, media_type: str, timeout_s: float = _TIMEOUT_S) -> Any:
        # Loaded at the first question: urllib takes longer to import than a start may.
        http = importlib.import_module("forkpoint.transport.http")
        headers = {"Content-Type": media_type}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = http.Request(address, data=body, headers=headers, method="POST")
        end = time.monotonic() + timeout_s
        while True:
            try:
                with http.open_request(request, timeout_s=timeout_s) as response:
                    return json.loads(response.read())
            except Exception as error:
                # A server that is busy has done nothing, and asks for the request again.
                if getattr(error, "code", 0) != _BUSY or time.monotonic() > end:
                    raise
            time.sleep(_POLL_S)


def end_process(reason: str, code: int) -> NoReturn:
    """End the process at once, whatever catches exceptions around the call."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os.write(2, f"forkpoint: {reason}\n".encode("utf-8", "replace"))
    end_first_process(code)
    os._exit(code)


def _end_with_fork(code: int) -> NoReturn:
    importlib.import_module("forkpoint.transport.writer").finish_writers()
    end_process("the program ends with the process that it forked", code)


def _new_call_id() -> str:
    """Return an id that no other call of the rerun has, without drawing from the agent's random numbers."""
    return f"{os.getpid()}-{time.monotonic_ns()}-{next(_CALL_NUMBERS)}"


def _reason(error: Exception) -> str:
    """Return the detail of an error response, or the error."""
    with suppress(Exception):
        return str(json.loads(error.read())["detail"])  # type: ignore[attr-defined]  # only responses have a body
    return f"{type(error).__name__}: {error}"
