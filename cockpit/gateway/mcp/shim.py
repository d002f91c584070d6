"""The gateway's side of `forkpoint mcp-shim`, which runs the server itself: its questions, and what it reports."""

import asyncio
import time
from functools import partial

import orjson

from cockpit.gateway.mcp import messages, steps
from cockpit.gateway.mcp.messages import BadMessage
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.routes import McpRoute
from cockpit.gateway.transport.asgi import JSON, read_body, respond
from cockpit.gateway.transport.journal import Journal
from cockpit.http.gateway_sessions import Session
from cockpit.http.transfer.asgi import Receive, Send
from forkpoint.mcp_shim import records
from replay.core.vocabulary import RerunDecision
from replay.reruns.schemas import ToolAnswer
from traces.core.json_access import as_integer, as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue


class Shim:
    """Answers the shims of all sessions."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def serve(self, receive: Receive, send: Send, session: Session, route: McpRoute) -> None:
        """Answer a question about a request, or take the report of one."""
        body = read_message(await read_body(receive))
        if route.shim == "stdio":
            await respond(send, 200, JSON, orjson.dumps(await _decide(session, route.server, body)))
            return
        # Its time is that of its arrival.
        exchange = _exchange(route.server, body)
        if session.is_rerun:
            await asyncio.to_thread(steps.report, session, exchange, steps.LIVE)
        else:
            self._journal.add(lambda: exchange.lines(session))
        await respond(send, 204, [], b"")


async def _decide(session: Session, server: str, question: JSONObject) -> JSONObject:
    """Return the `response` to a request, the `request` that the server is to answer, or that the operator is asked.

    A request that `is_cancelled` gets no response: its client cancelled it when it was recorded.

    None as that request stands for the client's own, which the shim has to the byte.
    Before a response come its `messages`. If the client has to answer some of them, the shim comes back with its answer
    after each, and gets the response with the last one.
    """
    request = as_object(question.get("request"))
    if not session.is_rerun:
        return {"request": None}
    call_id, start, is_last = as_text(question.get("call")), time.time(), question.get("is_last") is True
    client_answers = as_objects(question.get("client_answers"))
    decide = partial(steps.answer, session, server, request, call_id)
    try:
        answer = await asyncio.to_thread(decide, is_last=is_last, client_answers=client_answers)
        if answer.decision is RerunDecision.ASK:
            return {"asks": True}
        items = [] if client_answers else _messages_for_client(request, answer)
        if len(client_answers) < sum(records.is_question(item) for item in answer.messages):
            return {"messages": items, "goes_on": True}
        if messages.is_cancellation(answer.error, answer.output):
            await report_cancellation(session, server, request, answer, call_id, start)
            return {"messages": items, "is_cancelled": True, "goes_on": True}
        response = await recorded_response(session, server, request, answer, call_id, start)
    except Refusal as refusal:
        return {"response": messages.refusal(request.get(messages.MESSAGE_ID), refusal.reason)}
    if response is None:
        return {"request": None if answer.arguments is None else request_to_make(request, answer)}
    return {"messages": items, "response": response, "goes_on": True}


def _messages_for_client(request: JSONObject, answer: ToolAnswer) -> list[JSONValue]:
    """Return what the server said, as the client of a request gets it: questions are to get an id."""
    items = [item if records.is_question(item) else messages.notification(request, item) for item in answer.messages]
    return [item for item in items if item is not None]


def request_to_make(request: JSONObject, answer: ToolAnswer) -> JSONObject:
    """Return a request as it goes to the server: an override may set its arguments."""
    return request if answer.arguments is None else messages.with_arguments(request, answer.arguments)


async def recorded_response(
    session: Session, server: str, request: JSONObject, answer: ToolAnswer, call_id: str, start: float
) -> JSONObject | None:
    """Return the response that an answer is; None if the call may run. Raise `Refusal`."""
    if answer.decision is RerunDecision.REFUSAL:
        raise Refusal(status=400, reason=answer.reason)
    if answer.decision is RerunDecision.RUN:
        return None
    response = messages.recorded_response(
        request[messages.MESSAGE_ID], answer.output, answer.error, is_tool_call=messages.calls_tool(request)
    )
    exchange = steps.Exchange(
        server=server, request=request, response=response, start=start, end=time.time(), id=call_id
    )
    await asyncio.to_thread(steps.report, session, exchange, answer)
    return response


async def report_cancellation(
    session: Session, server: str, request: JSONObject, answer: ToolAnswer, call_id: str, start: float
) -> None:
    """Report a request that its client cancelled again, as it did when it was recorded."""
    exchange = steps.Exchange(
        server=server, request=request, response=None, start=start, end=time.time(), id=call_id, is_cancelled=True
    )
    await asyncio.to_thread(steps.report, session, exchange, answer)


def read_message(body: bytes) -> JSONObject:
    """Return the message in the body of a request; raise `Refusal`."""
    try:
        return messages.read_message(body)
    except BadMessage as problem:
        raise Refusal(status=400, reason=str(problem)) from problem


def _exchange(server: str, report: JSONObject) -> steps.Exchange:
    """Return what a shim reports. It measures time by a clock of its own."""
    now, duration_ms = time.time(), as_integer(report.get("duration_ms")) or 0
    return steps.Exchange(
        server=server,
        request=as_object(report.get("request")),
        response=as_object(report.get("response")) or None,
        is_cancelled=report.get("is_cancelled") is True,
        start=now - duration_ms / 1000,
        end=now,
        messages=as_objects(report.get("messages")),
        id=as_text(report.get("call")),
    )
