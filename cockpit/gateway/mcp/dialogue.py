"""What a server says to the agent of a rerun while a call is open: recorded, or of a server that the call has reached.

The agent responds to a request of the server by a request of its own, which may reach another process of this server.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from cockpit.gateway.mcp import messages, steps
from cockpit.gateway.mcp.waiting import Ends, Response
from cockpit.http.gateway_sessions import Session
from forkpoint.mcp_shim import records
from replay.core.vocabulary import RerunDecision
from replay.reruns.schemas import ToolAnswer
from traces.core.json_access import as_text
from traces.core.json_types import JSONObject

_POLL_S: Final = 0.5
_PREFIX: Final = "forkpoint"
_ANSWERS: Final = frozenset({RerunDecision.EXACT, RerunDecision.CACHED})
# JSON-RPC's code for methods that do not exist.
_NO_METHOD: Final = -32601
# Compares what the client has responded so far, and decides about the call again.
Check = Callable[[list[JSONObject]], Awaitable[ToolAnswer]]


class Questions:
    """Requests of servers to which no client has responded yet."""

    def __init__(self) -> None:
        self._responses: dict[str, asyncio.Future[JSONObject]] = {}

    @contextmanager
    def waiting(self, id: str) -> Iterator[asyncio.Future[JSONObject]]:
        self._responses[id] = asyncio.get_running_loop().create_future()
        try:
            yield self._responses[id]
        finally:
            del self._responses[id]

    async def take(self, session: Session, message: JSONObject) -> None:
        """Give the response of a client to whatever waits for it."""
        id, content = as_text(message.get(messages.MESSAGE_ID)), records.response_content(message)
        future = self._responses.get(id)
        if future is None:
            await asyncio.to_thread(steps.store_client_answer, session, *_split(id), content)
        elif not future.done():
            future.set_result(content)


class Dialogue:
    """One open call, and its client."""

    def __init__(self, session: Session, call_id: str, response: Response, ends: Ends, questions: Questions) -> None:
        self.response = response
        self._session = session
        self._call_id = call_id
        self._ends = ends
        self._questions = questions
        self._count = 0

    async def ask(self, item: JSONObject) -> JSONObject | None:
        """Return how the client responds to a request of its server; None if it is gone."""
        if not self.response.reads_events:
            return {"error": {"code": _NO_METHOD, "message": "this client reads no events"}}
        self._count += 1
        id = f"{_PREFIX}-{self._call_id}-{self._count}"
        with self._questions.waiting(id) as future:
            await self.response.pass_on(messages.question(id, item))
            while True:
                done, _ = await asyncio.wait(
                    [future, *self._ends], timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED
                )
                if future in done:
                    return future.result()
                if done:
                    return None
                if (
                    content := await asyncio.to_thread(steps.take_client_answer, self._session, *_split(id))
                ) is not None:
                    return content

    async def play(self, answer: ToolAnswer, check: Check) -> ToolAnswer | None:
        """Say what the server said when the call was recorded. Return the answer, or another one; None as above.

        If the client responds otherwise than it did then, the recorded outcome is not that of this call.
        """
        client_answers: list[JSONObject] = []
        # Those of a later verdict are the same.
        for item in answer.messages:
            if not records.is_question(item):
                await self.response.notify(item)
                continue
            if (client_answer := await self.ask(item)) is None:
                return None
            client_answers.append(client_answer)
            verdict = await check(client_answers)
            if verdict.decision not in _ANSWERS:
                return verdict
            answer = verdict
        return answer


def _split(id: str) -> tuple[str, str]:
    """Return the call of a question, and its number."""
    call, _, number = id.removeprefix(f"{_PREFIX}-").rpartition("-")
    return call, number
