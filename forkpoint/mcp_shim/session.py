"""The session in which the agent runs: its gateway decides about requests, and records them."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any, Final
from urllib.request import Request

from forkpoint.gateway_run import GATEWAY
from forkpoint.mcp_shim.messages import OpenRequest
from forkpoint.mcp_shim.records import Message
from forkpoint.transport.http import open_request

_UNAVAILABLE: Final = 6
_TIMEOUT_S: Final = 60.0
# How long a call waits for an operator, and how long for a session that is away meanwhile: as in `forkpoint.session`.
_OPERATOR_S: Final = 3600.0
_OUTAGE_S: Final = 120.0
_POLL_S: Final = 0.5
# A message may be nested as deeply as it can just be read, and not be written with more around it.
_FAILURES: Final = (OSError, HTTPException, ValueError, RecursionError)


class Session:
    """The session in which the agent runs."""

    def __init__(self, variables: Mapping[str, str], name: str) -> None:
        self._address = f"{variables[GATEWAY]}/mcp/{name}"
        self._is_rerun = bool(variables.get("FORKPOINT_RERUN"))

    def decide(self, request: Message, call: str, client_answers: Sequence[Message] = ()) -> Message:
        """Return the `response` to a request, the `request` for the server, or that an operator is asked (`asks`).

        The `request` is None where it is the given one.
        A recorded response `goes_on` after its `messages`: it comes with the last of the client's answers to them.
        """
        try:
            return self._ask(request, call, client_answers=client_answers)
        except _FAILURES as error:
            self._fail(error)
        return {"request": None}

    def await_operator(self, request: Message, call: str, goes_on: Callable[[], bool]) -> Message:
        """Ask again until an operator has answered, while `goes_on` says so; the session may be away for a moment."""
        end = time.monotonic() + _OPERATOR_S
        last_contact = time.monotonic()
        while True:
            is_last = not goes_on() or time.monotonic() > end
            try:
                decision = self._ask(request, call, is_last=is_last)
            except _FAILURES as error:
                if getattr(error, "code", 500) < 500 or time.monotonic() - last_contact > _OUTAGE_S:
                    self._fail(error)
                time.sleep(_POLL_S)
            else:
                last_contact = time.monotonic()
                if "asks" not in decision:
                    return decision

    def record(self, request: OpenRequest, response: Message, *, is_cancelled: bool = False) -> None:
        """Record how a request ended, once; not a call of which the SDK in the client takes care."""
        if request.call is None:
            return
        (message, call), request.call = request.call, None
        duration_ms = int((time.monotonic() - request.at) * 1000)
        report = {"request": message, "response": response, "call": call, "duration_ms": duration_ms}
        if is_cancelled:
            report["is_cancelled"] = True
        if request.messages:
            report["messages"] = request.messages
        try:
            self._post("/exchanges", report)
        except _FAILURES as error:
            self._fail(error)

    def _ask(
        self, request: Message, call: str, *, is_last: bool = False, client_answers: Sequence[Message] = ()
    ) -> Message:
        question = {"request": request, "call": call, "is_last": is_last, "client_answers": [*client_answers]}
        decision = self._post("/stdio", question)
        if decision is None:
            raise ValueError("the session gave no answer")
        return decision

    def _fail(self, error: Exception) -> None:
        """End a rerun, whose tools would really run. A recording goes on with a gap."""
        print(f"forkpoint: the session cannot be reached: {error}", file=sys.stderr, flush=True)
        if self._is_rerun:
            os._exit(_UNAVAILABLE)

    def _post(self, path: str, body: Any) -> Message | None:
        headers = {"Content-Type": "application/json"}
        # "replace", because half of a character, as in a text cut by UTF-16 units, has no UTF-8 encoding.
        data = json.dumps(body, ensure_ascii=False).encode(errors="replace")
        request = Request(self._address + path, data=data, headers=headers, method="POST")
        with open_request(request, timeout_s=_TIMEOUT_S) as response:
            content = response.read()
        return json.loads(content) if content else None
