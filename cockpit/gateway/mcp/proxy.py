"""MCP over streamable HTTP: messages pass to the server and are recorded, or are answered from a recording.

The stream of what a server sends of its own accord passes while it is recorded: a server may ask its client in it. A
rerun does not offer it, which the protocol allows: what a server says during a call comes in the response to the call.
"""

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import uuid4

import orjson

from cockpit.gateway import upstreams
from cockpit.gateway.mcp import live, messages, servers, steps
from cockpit.gateway.mcp.conversations import ClientKey, Conversations, OpenRequest
from cockpit.gateway.mcp.dialogue import Dialogue, Questions
from cockpit.gateway.mcp.live import LiveCall, TransportFailure
from cockpit.gateway.mcp.shim import Shim, read_message, recorded_response, report_cancellation, request_to_make
from cockpit.gateway.mcp.waiting import CLIENT_SESSION, Ends, Response, Waits, wait_for_hangup, wait_for_operator
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.routes import McpRoute
from cockpit.gateway.transport.answer import Answer
from cockpit.gateway.transport.asgi import JSON, read_body, respond
from cockpit.gateway.transport.client import Client
from cockpit.gateway.transport.journal import Journal
from cockpit.http.gateway_sessions import Session
from cockpit.http.transfer.asgi import Message, Receive, Scope, Send
from forkpoint.mcp_shim import records
from replay.core.vocabulary import RerunDecision
from replay.reruns.schemas import ToolAnswer
from traces.core.json_access import as_integer, as_text
from traces.core.json_types import JSONObject

_ALLOW: Final = [(b"allow", b"POST, DELETE")]
_ERRORS: Final = 400
# From then on a request is shown while it lasts.
_LONG_CALL_S: Final = 1.0


class Proxy:
    """Serves the MCP addresses of the gateway's sessions."""

    def __init__(self, client: Client, journal: Journal) -> None:
        self._client = client
        self._journal = journal
        self._live_servers = live.Servers(client)
        self._conversations = Conversations()
        self._questions = Questions()
        self._waits = Waits()
        self._shim = Shim(journal)
        # Requests that are not recorded yet.
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._live_servers.stop()

    async def serve(self, scope: Scope, receive: Receive, send: Send, session: Session, route: McpRoute) -> None:
        """Answer one request for a server."""
        server = route.server
        key = _client_key(scope, session, server)
        if route.shim:
            await self._shim.serve(receive, send, session, route)
        elif scope["method"] == "DELETE" and session.is_rerun:
            await respond(send, 200, [], b"")
            await self._live_servers.close(key, scope["headers"])
        elif scope["method"] == "DELETE":
            await self._forward(scope, b"", send, server)
        elif scope["method"] == "GET" and not session.is_rerun:
            await self._pass_events(scope, receive, send, session, key)
        elif scope["method"] != "POST":
            await respond(send, 405, _ALLOW, b"")
        elif session.is_rerun:
            await self._serve_rerun(scope, read_message(await read_body(receive)), receive, send, session, key)
        else:
            await self._record(scope, await read_body(receive), send, session, key)

    async def _pass_events(self, scope: Scope, receive: Receive, send: Send, session: Session, key: ClientKey) -> None:
        """Pass on what a server sends of its own accord, until it or the client ends that."""
        stream = messages.MessageStream()

        async def pass_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._conversations.note_stream(key)
            for item in stream.add(message.get("body", b"")):
                if messages.is_response(item):
                    self._conversations.respond(key, item)
                elif not self._conversations.hear(key, item):
                    self._note_stray(session, key, item)
            await send(message)

        tasks = [
            asyncio.create_task(self._forward(scope, b"", pass_on, key[1], is_kept=False)),
            asyncio.create_task(wait_for_hangup(receive)),
        ]
        with self._conversations.listening(key):
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _record(self, scope: Scope, body: bytes, send: Send, session: Session, key: ClientKey) -> None:
        """Pass a message to the server and its answer on. What the SDK in the agent records is not recorded here."""
        message = read_message(body)
        if messages.is_response(message):
            if not self._conversations.note_answer(key, message):
                self._note_stray(session, key, message)
        elif (id := records.cancelled_id(message)) is not None:
            self._conversations.cancel(key, id)
        elif messages.begins_to_listen(message):
            self._conversations.expect_stream(key)
        elif messages.may_cause_questions(message):
            await self._conversations.wait_for_stream(key)
        try:
            await self._pass_message(scope, body, message, send, session, key)
        except Refusal as refusal:
            if not records.is_request(message):
                raise
            error = messages.refusal(message[messages.MESSAGE_ID], refusal.reason)
            await respond(send, 200, JSON, orjson.dumps(error))

    def _note_stray(self, session: Session, key: ClientKey, message: JSONObject) -> None:
        """Record a message whose call may be open in another process: the run's reader puts it there."""
        stray = steps.Stray(client=steps.client_digest(key), message=message, at=time.time())
        self._journal.add(lambda: stray.lines(session))

    async def _pass_message(
        self, scope: Scope, body: bytes, message: JSONObject, send: Send, session: Session, key: ClientKey
    ) -> None:
        has_sdk_mark = records.has_sdk_mark(message)
        if has_sdk_mark or not records.is_request(message):
            passed_body = orjson.dumps(records.without_sdk_mark(message)) if has_sdk_mark else body
            await self._forward(scope, passed_body, send, key[1])
            return
        await self._record_request(scope, self._conversations.begin(key, message), body, send, session, key)

    async def _record_request(
        self, scope: Scope, request: OpenRequest, body: bytes, send: Send, session: Session, key: ClientKey
    ) -> None:
        stream = messages.MessageStream()
        # The answer, and why it did not arrive or only in part.
        ending: asyncio.Future[tuple[Answer, str]] = asyncio.get_running_loop().create_future()

        async def pass_on(message: Message) -> None:
            for item in stream.add(message.get("body", b"")):
                if messages.is_response(item):
                    self._conversations.respond(key, item)
                else:
                    self._conversations.hear(key, item, request)
            await send(message)

        task = asyncio.create_task(self._end_request(request, ending, session, key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            ending.set_result(await self._forward(scope, body, pass_on, key[1]))
        except BaseException:
            ending.cancel()
            raise

    async def _end_request(
        self, request: OpenRequest, ending: asyncio.Future[tuple[Answer, str]], session: Session, key: ClientKey
    ) -> None:
        """Record a request when its response is there, which may come in another stream that the client reads.

        What lasts long is shown meanwhile, and remains where no response ever comes.
        """
        exchange = steps.Exchange(
            server=key[1], request=request.message, response=None, start=time.time(), end=0, messages=request.messages
        )
        exchange = replace(exchange, client=steps.client_digest(key))
        has_begun = False
        try:
            if not await self._conversations.wait_for_end(request, ending, patience_s=_LONG_CALL_S):
                has_begun = True
                self._journal.add(partial(exchange.first_line, session))
                await self._conversations.wait_for_end(request, ending)
            if _may_go_on(request, ending):
                await self._conversations.wait_for_response(key, request)
        finally:
            self._conversations.end(key, request)
            if not ending.cancelled():
                last_exchange = _final_exchange(exchange, request, ending)
                self._journal.add(partial(last_exchange.lines, session, has_begun=has_begun))

    async def _serve_rerun(
        self, scope: Scope, message: JSONObject, receive: Receive, send: Send, session: Session, key: ClientKey
    ) -> None:
        if not records.is_request(message):
            await self._take(message, scope, session, key)
            await respond(send, 202, [], b"")
            return
        response = Response(receive, send, message, reads_events=_reads_events(scope))
        if response.new_session:
            new_key = (*key[:2], response.new_session)
            await self._live_servers.note_handshake(new_key, messages.parameters_of(message))
        request_key = (*key, orjson.dumps(message[messages.MESSAGE_ID]))
        async with self._waits.watch(request_key, response) as ends:
            try:
                await response.finish(await self._play(scope, message, response, ends, session, key))
            except TransportFailure as failure:
                error = messages.refusal(message[messages.MESSAGE_ID], str(failure))
                await response.fail(failure.status, failure.body, error)
            except Refusal as refusal:
                await response.finish(messages.refusal(message[messages.MESSAGE_ID], refusal.reason))

    async def _take(self, message: JSONObject, scope: Scope, session: Session, key: ClientKey) -> None:
        """Take what a client says besides its requests."""
        if messages.is_response(message):
            await self._questions.take(session, message)
        elif (id := records.cancelled_id(message)) is not None:
            self._waits.cancel((*key, orjson.dumps(id)))
            await self._live_servers.tell(key, message, scope["headers"])

    async def _play(
        self, scope: Scope, request: JSONObject, response: Response, ends: Ends, session: Session, key: ClientKey
    ) -> JSONObject | None:
        """Return the response to a request: from the recording, or of the server where the call may run.

        None if the client wants no response any more. Raise `Refusal` or `TransportFailure`.
        """
        call_id, start = uuid4().hex, time.time()
        dialogue = Dialogue(session, call_id, response, ends, self._questions)
        if records.has_sdk_mark(request):
            call = LiveCall(request=records.without_sdk_mark(request), dialogue=dialogue)
            return await self._live_servers.ask(key, call, scope["headers"])
        decide = partial(steps.answer, session, key[1], request, call_id)

        async def ask(is_last: bool) -> ToolAnswer:
            return await asyncio.to_thread(decide, is_last=is_last)

        async def check(client_answers: list[JSONObject]) -> ToolAnswer:
            return await asyncio.to_thread(decide, client_answers=client_answers)

        answer: ToolAnswer | None = await ask(False)
        if answer is not None and answer.decision is RerunDecision.ASK:
            answer = await wait_for_operator(ends, ask, response)
        if answer is not None:
            answer = await dialogue.play(answer, check)
        if answer is None:
            return None
        if messages.is_cancellation(answer.error, answer.output):
            # It waits until the client cancels it again.
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            await report_cancellation(session, key[1], request, answer, call_id, start)
            return None
        known_response = await recorded_response(session, key[1], request, answer, call_id, start)
        if answer.failure:
            status, body = as_integer(answer.failure.get("status")) or 0, as_text(answer.failure.get("body"))
            raise TransportFailure(status, body.encode(), answer.error)
        if known_response is not None:
            return known_response
        call = LiveCall(request=request_to_make(request, answer), dialogue=dialogue)
        return await self._run(scope, request, call, call_id, session, key)

    async def _run(
        self, scope: Scope, request: JSONObject, call: LiveCall, call_id: str, session: Session, key: ClientKey
    ) -> JSONObject:
        """Let the server answer a call, and report both."""
        exchange = partial(
            steps.Exchange, server=key[1], request=request, start=time.time(), messages=call.messages, id=call_id
        )
        try:
            result = await self._live_servers.ask(key, call, scope["headers"])
        except TransportFailure as problem:
            failure = _failure(problem.status, problem.body)
            failed_exchange = exchange(response=None, end=time.time(), problem=str(problem), failure=failure)
            await asyncio.to_thread(steps.report, session, failed_exchange, steps.LIVE)
            raise
        await asyncio.to_thread(steps.report, session, exchange(response=result, end=time.time()), steps.LIVE)
        return result

    async def _forward(
        self, scope: Scope, body: bytes, send: Send, server: str, *, is_kept: bool = True
    ) -> tuple[Answer, str]:
        """Pass a request to the server; return the answer, and why it did not arrive or only in part."""
        url = servers.address(server)
        answer = Answer(send, time.time(), is_kept=is_kept)
        headers = upstreams.request_headers(scope["headers"], "")
        problem = await self._client.exchange(scope["method"], url, headers, body, answer)
        if problem:
            await answer.fail(Refusal(status=502, reason=f"the MCP server did not answer: {problem}"), "")
        return answer, problem


def _may_go_on(request: OpenRequest, ending: asyncio.Future[tuple[Answer, str]]) -> bool:
    """Return whether a response may come in another stream than that of the request, which has ended."""
    if not ending.done() or ending.cancelled():
        return False
    answer, _ = ending.result()
    request.response = request.response or live.find_response(answer, request.message)
    return request.response is None and answer.status < _ERRORS and live.can_be_resumed(answer)


def _final_exchange(
    exchange: steps.Exchange, request: OpenRequest, ending: asyncio.Future[tuple[Answer, str]]
) -> steps.Exchange:
    """Return a request with what came back. The stream in which it came may still be open."""
    problem, failure = "", JSONObject()
    if ending.done():
        answer, problem = ending.result()
        if answer.status >= _ERRORS:
            problem, failure = problem or f"HTTP {answer.status}", _failure(answer.status, answer.body)
    return replace(
        exchange,
        response=request.response,
        end=time.time(),
        problem="" if request.response else problem,
        open_questions=request.open_questions,
        failure=failure,
        is_cancelled=request.is_cancelled,
    )


def _failure(status: int, body: bytes) -> JSONObject:
    return {"status": status, "body": body.decode(errors="replace")}


def _reads_events(scope: Scope) -> bool:
    return any(name == b"accept" and b"text/event-stream" in value for name, value in scope["headers"])


def _client_key(scope: Scope, session: Session, server: str) -> ClientKey:
    """Return what tells a client from all others."""
    client = next((value for name, value in scope["headers"] if name == CLIENT_SESSION), b"")
    return session.run_id, server, client
