"""Calls of MCP servers as steps: events of a recording, and answers of a rerun."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

import orjson

from cockpit.gateway import events
from cockpit.gateway.mcp import messages
from cockpit.gateway.mcp.conversations import ClientKey
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.database import connection
from cockpit.http.gateway_sessions import Session
from forkpoint.mcp_shim import records
from forkpoint.vocabulary import (
    INTERCEPTION_MARK,
    MCP_CLIENT,
    MCP_FAILURE,
    MCP_MESSAGES,
    MCP_QUESTIONS,
    MCP_SERVER,
    MCP_STRAY,
    RERUN_CALL,
)
from replay.core.vocabulary import RerunDecision
from replay.models import Rerun
from replay.reruns import reports, services
from replay.reruns.schemas import ToolAnswer, ToolQuestion
from replay.reruns.tools import calls, client_answers, mcp_sessions
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.errors import ProblemError

# The run's reader takes these steps for reports of the calls that it also finds in the conversation.
_ACTOR: Final = "mcp"
# What a server answers itself.
LIVE: Final = ToolAnswer(decision=RerunDecision.RUN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A request to a server and its response, if one came; `problem` says why none did.

    `is_cancelled`: the client wanted no response any more. `messages` are what the server said meanwhile, `failure` is
    how its transport refused the request. `client` and `open_questions`, the places of messages by their ids, serve to
    find what passed through another process.
    """

    server: str
    request: JSONObject
    response: JSONObject | None
    start: float
    end: float
    problem: str = ""
    is_cancelled: bool = False
    messages: Sequence[JSONObject] = ()
    open_questions: JSONObject = field(default_factory=dict)
    client: str = ""
    failure: JSONObject = field(default_factory=dict)
    id: str = field(default_factory=lambda: uuid4().hex)

    def first_line(self, session: Session) -> bytes:
        """Return the event of a request whose response may take long."""
        number = events.number_at(session.start, self.start)
        return _event_line(session, self.id, "tool_called", (number, self.start, self._beginning(session)))

    def lines(self, session: Session, *, has_begun: bool = False) -> bytes:
        """Return the events of the step that this is; if it `has_begun`, only the last one, with all that was said."""
        beginning = self._beginning(session)
        result: JSONObject = {
            "tool_name": beginning["tool_name"],
            "latency_ms": int((self.end - self.start) * 1000),
            **messages.result_fields(self.response, self.problem, is_cancelled=self.is_cancelled),
        }
        if not has_begun:
            return _event_lines(session, self.id, (self.start, beginning), (self.end, result))
        number = events.number_at(session.start, self.end)
        result["attributes"] = beginning["attributes"]
        return _event_line(session, self.id, "tool_result", (number, self.end, result))

    def _beginning(self, session: Session) -> JSONObject:
        call = messages.call_of(self.server, self.request)
        attributes: JSONObject = {MCP_SERVER: self.server, **({RERUN_CALL: self.id} if session.is_rerun else {})}
        if self.messages:
            attributes[MCP_MESSAGES] = [*self.messages]
        if self.failure:
            attributes[MCP_FAILURE] = self.failure
        if self.client:
            attributes |= {MCP_CLIENT: self.client, MCP_QUESTIONS: self.open_questions}
        return {"tool_name": call.name, "args": call.arguments, "attributes": attributes, INTERCEPTION_MARK: True}


@dataclass(frozen=True, kw_only=True, slots=True)
class Stray:
    """What a server said, or its client responded, in a process in which the call that it is about is not open."""

    client: str
    message: JSONObject
    at: float

    def lines(self, session: Session) -> bytes:
        """Return the events of the step that it is until the run is read; none for what is not recorded."""
        item = records.to_record(self.message)
        if item is None and not messages.is_response(self.message):
            return b""
        # Progress names its call by a token that only that call's process knows.
        if item is not None and item["method"] == records.PROGRESS:
            return b""
        id = self.message.get(messages.MESSAGE_ID)
        attributes: JSONObject = {MCP_CLIENT: self.client, MCP_QUESTIONS: {} if id is None else {_id_text(id): 0}}
        content = records.response_content(self.message) if item is None else item
        beginning: JSONObject = {"tool_name": MCP_STRAY, "args": content, "attributes": attributes}
        return _event_lines(session, uuid4().hex, (self.at, beginning), (self.at, {"status": "success"}))


def client_digest(key: ClientKey) -> str:
    """Return what names a client in a recording: its session may be a secret of its server."""
    return digest([key[0], key[1], key[2].decode("latin-1")])


def _id_text(id: JSONValue) -> str:
    return orjson.dumps(id).decode()


def _event_lines(
    session: Session, id: str, beginning: tuple[float, JSONObject], end: tuple[float, JSONObject]
) -> bytes:
    first_number = events.number_at(session.start, beginning[0])
    # Both may be in the same microsecond.
    last_number = max(first_number + 1, events.number_at(session.start, end[0]))
    parts = (("tool_called", (first_number, *beginning)), ("tool_result", (last_number, *end)))
    return b"".join(_event_line(session, id, type, fact) for type, fact in parts)


def _event_line(session: Session, id: str, type: str, event: tuple[int, float, JSONObject]) -> bytes:
    """Return an event: its number, its time, and its payload."""
    number, at, payload = event
    return events.event_line(session.run_id, id, number, type, at, payload, actor=_ACTOR)


def answer(
    session: Session,
    server: str,
    message: JSONObject,
    call_id: str,
    *,
    is_last: bool = False,
    client_answers: Sequence[JSONObject] = (),
) -> ToolAnswer:
    """Decide about a request of a rerun; raise `Refusal` if the rerun cannot answer.

    `call_id` is that of the step which it becomes. A request that waits for the operator is asked about again, for the
    last time with `is_last`, and one that is answered with all `client_answers` so far.
    """
    call = messages.call_of(server, message)
    question = ToolQuestion(
        type=StepType.TOOL,
        name=call.name,
        arguments=call.arguments,
        server={MCP_SERVER: server},
        call=call_id,
        is_last=is_last,
        client_answers=[*client_answers],
    )
    with _refusals(session), connection():
        rerun = Rerun.objects.select_related("source_run").get(id=UUID(session.run_id))
        decide = calls.answer_read if call.is_read else calls.answer
        return decide(rerun, question, attempt=session.attempt)


def store_client_answer(session: Session, call_id: str, number: str, content: JSONObject) -> None:
    """Store a client's response for the process in which its call is open."""
    with connection():
        client_answers.store(UUID(session.run_id), call_id, number, content)


def take_client_answer(session: Session, call_id: str, number: str) -> JSONObject | None:
    """Return a client's response that reached another process; None if none did."""
    with connection():
        return client_answers.take(UUID(session.run_id), call_id, number)


def note_handshake(client: mcp_sessions.Client, parameters: JSONObject) -> None:
    """Store what a client says of itself."""
    with connection():
        mcp_sessions.note_handshake(client, parameters)


def find_server_session(client: mcp_sessions.Client) -> tuple[str, JSONObject]:
    """Return the session with a server that a client has through any process, and what the client said of itself."""
    with connection():
        row = mcp_sessions.find(client)
        return ("", {}) if row is None else (row.session, row.parameters)


def keep_server_session(client: mcp_sessions.Client, session: str) -> str:
    """Store a session with a server; return the one that counts."""
    with connection():
        return mcp_sessions.keep(client, session)


def forget_server_session(client: mcp_sessions.Client, session: str) -> None:
    """Note that a session with a server is over."""
    with connection():
        mcp_sessions.forget(client, session)


def ended_reruns(ids: Collection[str]) -> set[str]:
    """Return which of these reruns have ended."""
    with connection():
        reruns = Rerun.objects.filter(id__in=[UUID(id) for id in ids], ended_at__isnull=False)
        return {str(id) for id in reruns.values_list("id", flat=True)}


def report(session: Session, exchange: Exchange, answer: ToolAnswer) -> None:
    """Note a request of a rerun that got its response, from the recording or from the server; raise `Refusal`.

    The calls of the tools that a server lists come here, too.
    """
    with _refusals(session), connection():
        if names := messages.listed_tools(exchange.request, exchange.response):
            services.note_tools(UUID(session.run_id), names, attempt=session.attempt)
        reports.store(
            UUID(session.run_id),
            exchange.lines(session),
            step_key=exchange.id,
            no=answer.step,
            decision=answer.decision,
            attempt=session.attempt,
        )


@contextmanager
def _refusals(session: Session) -> Iterator[None]:
    """Raise `Refusal` where the rerun takes no request of this agent."""
    try:
        yield
    except ProblemError as problem:
        raise Refusal(status=400, reason=f"rerun {session.run_id}: {problem.detail}") from problem
