"""The gateway's side of `forkpoint mcp-shim`, which runs the server itself: its questions, and what it reports."""

import asyncio
import time

import orjson

from cockpit.gateway.mcp import messages, steps
from cockpit.gateway.mcp.messages import BadMessage
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.routes import McpRoute
from cockpit.gateway.sessions import Session
from cockpit.gateway.transport.asgi import JSON, Receive, Send, read_body, respond
from cockpit.gateway.transport.journal import Journal
from replay.core.vocabulary import RerunDecision
from traces.core.json_access import as_integer, as_object
from traces.core.json_types import JSONObject


class Shim:
    """Answers the shims of all sessions."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def serve(self, receive: Receive, send: Send, session: Session, route: McpRoute) -> None:
        """Answer a question with the response for the client, or with nothing where the server is to respond."""
        message = await read_message(receive)
        if route.shim == "exchanges":
            # Its time is that of its arrival.
            exchange = _exchange(route.server, message)
            if session.is_rerun:
                await asyncio.to_thread(steps.report, session, exchange, steps.LIVE)
            else:
                self._journal.add(lambda: exchange.lines(session))
        elif session.is_rerun and (response := await _response(session, route.server, message)) is not None:
            await send_message(send, response)
            return
        await respond(send, 204, [], b"")


async def recorded_message(session: Session, server: str, message: JSONObject) -> JSONObject | None:
    """Return the response of the recording to a request; None if the call may run. Raise `Refusal`."""
    start = time.time()
    answer = await asyncio.to_thread(steps.answer, session, server, message)
    if answer.decision is RerunDecision.REFUSAL:
        raise Refusal(status=400, reason=answer.reason)
    if answer.decision is RerunDecision.RUN:
        return None
    response = messages.recorded_response(message[messages.MESSAGE_ID], answer.output, answer.error)
    exchange = steps.Exchange(server=server, request=message, response=response, start=start, end=time.time())
    await asyncio.to_thread(steps.report, session, exchange, answer)
    return response


async def read_message(receive: Receive) -> JSONObject:
    """Return the message of a request; raise `Refusal`."""
    try:
        return messages.read_message(await read_body(receive))
    except BadMessage as problem:
        raise Refusal(status=400, reason=str(problem)) from problem


async def send_message(send: Send, message: JSONObject) -> None:
    await respond(send, 200, JSON, orjson.dumps(message))


async def _response(session: Session, server: str, message: JSONObject) -> JSONObject | None:
    try:
        return await recorded_message(session, server, message)
    except Refusal as refusal:
        return messages.refusal(message.get(messages.MESSAGE_ID), refusal.reason)


def _exchange(server: str, report: JSONObject) -> steps.Exchange:
    """Return what a shim reports. It measures time by a clock of its own."""
    now, duration_ms = time.time(), as_integer(report.get("duration_ms")) or 0
    return steps.Exchange(
        server=server,
        request=as_object(report.get("request")),
        response=as_object(report.get("response")) or None,
        start=now - duration_ms / 1000,
        end=now,
    )
