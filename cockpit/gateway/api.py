"""REST endpoints that open and end sessions of the gateway."""

import time
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cockpit.gateway import events, upstreams
from cockpit.gateway.routes import PREFIX, PROVIDERS
from cockpit.gateway.schemas import (
    GatewayRecording,
    GatewaySession,
    GatewaySessionEnd,
    GatewaySessionRequest,
    RerunEnd,
    RerunHost,
    RerunQuestions,
    RerunRequest,
    RerunResume,
    RerunSession,
)
from cockpit.http import gateway_sessions as sessions
from cockpit.http.gateway_sessions import Session
from replay.models import Rerun
from replay.questions import services as questions
from replay.reruns import queries, reports, services, starts
from replay.reruns.inputs import recorded_input
from replay.reruns.schemas import RerunView, ToolAnswer, ToolQuestion
from replay.reruns.tools import calls, operator
from replay.sessions import prepare
from replay.sessions.schemas import OperatorAnswer, ReplayRequest
from traces.collectors.back_pressure import slot
from traces.collectors.encoded_bodies import read_body
from traces.collectors.events import split
from traces.collectors.events_api import EVENTS_BODY, RawParser
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.errors import NotFound
from traces.http.bodies import parse_body
from traces.http.idempotency import make_once
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, path
from traces.recordings import arrivals
from traces.schemas import EventReceipt

# The fields of a rerun that no other replay has.
_OWN_FIELDS: Final = frozenset({"live", "compare", "pauses", "allow_tools", "ask_tools", "hook_tools", "budget"})


class GatewaySessionsView(APIView):
    @extend_schema(
        operation_id="open_gateway_session",
        parameters=[KEY],
        request=GatewaySessionRequest,
        responses={201: GatewaySession, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Open a session of the recording gateway: the model calls made through its address become one run."""
        program = parse_body(GatewaySessionRequest, request.data)
        facts: JSONObject = {"app_id": program.app, "name": program.name}
        if program.command:
            facts["metadata"] = {"command": [*program.command]}
        key = key_of(request)
        run_id, start = make_once("gateway session", key, facts, lambda: f"{uuid4()} {time.time()}").split()
        session = Session(run_id=run_id, start=float(start))
        # The same event again is stored once.
        _record(session, 0, "run_started", session.start, facts)
        text = sessions.sign(session)
        answer = GatewaySession(
            run=session.run_id,
            started_at=datetime.fromtimestamp(session.start, UTC),
            answered_at=datetime.now(UTC),
            session=text,
            path=PREFIX + text,
            keys=[provider for provider in PROVIDERS if upstreams.key_of(provider)],
            placeholder_key=upstreams.PLACEHOLDER_KEY,
        )
        return Response(answer, 201)


class GatewaySessionEndView(APIView):
    @extend_schema(
        operation_id="end_gateway_session",
        parameters=[path("session", "The session, as it was opened.")],
        request=GatewaySessionEnd,
        responses={200: GatewayRecording, **PROBLEMS},
    )
    def post(self, request: Request, session: str) -> Response:
        """Record the end of the program. The run is sealed soon after."""
        exit_code = parse_body(GatewaySessionEnd, request.data).exit_code
        try:
            run = sessions.read(session)
        except sessions.UnknownSession as error:
            raise NotFound("this session is unknown or has expired") from error
        facts: JSONObject = {"exit_code": exit_code}
        if exit_code:
            facts["error"] = f"the program ended with exit code {exit_code}"
        _record(run, events.LAST_NUMBER, "run_failed" if exit_code else "run_completed", time.time(), facts)
        return Response(GatewayRecording(has_calls=sessions.has_calls(run.run_id)))


class RerunsView(APIView):
    @extend_schema(
        operation_id="open_rerun", parameters=[KEY], request=RerunRequest, responses={201: RerunSession, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Open a session in which an agent runs again, with its model calls answered from the recording of a run."""
        body = parse_body(RerunRequest, request.data)
        limits: Any = {
            "tools_to_run": body.allow_tools,
            "tools_to_ask": body.ask_tools,
            "tools_with_hook": body.hook_tools,
            "budget": body.budget,
            "has_pauses": body.pauses,
            "caller": caller_of(request),
            "key": key_of(request),
            "body": request.data,
        }
        if fork := _fork_request(body, request.data):
            rerun = services.start_fork(fork, **limits)
        else:
            rerun = services.start(body.run, is_comparison=body.compare, **limits)
        return Response(rerun_session(rerun), 201)


class RerunResumeView(APIView):
    @extend_schema(operation_id="resume_rerun", request=RerunResume, responses={200: RerunSession, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Start the agent of a fork again, after it was killed or failed: it gets the answers that it got before."""
        body = parse_body(RerunResume, request.data)
        return Response(rerun_session(services.resume(queries.find(id), tools_to_run=body.allow_tools)))


class RerunDetailView(APIView):
    @extend_schema(operation_id="get_rerun", responses={200: RerunView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Which calls the agent made, and how they were answered."""
        return Response(queries.view(queries.find(id)))


class RerunToolsView(APIView):
    @extend_schema(operation_id="ask_rerun", request=ToolQuestion, responses={200: ToolAnswer, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Ask about a tool call or search before it is made: what it returned when recorded, or if it may run."""
        rerun, attempt = starts.find(id)
        return Response(calls.answer(rerun, parse_body(ToolQuestion, request.data), attempt=attempt))


class RerunQuestionsView(APIView):
    @extend_schema(operation_id="list_rerun_questions", responses={200: RerunQuestions, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """List the calls of the agent that wait for the operator."""
        return Response(RerunQuestions(questions=[*questions.open_questions(queries.find(id))]))

    @extend_schema(operation_id="answer_rerun", request=OperatorAnswer, responses={200: RerunQuestions, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Answer a question: with the call's outcome, `run` if the question allows it, or `fallback` to refuse."""
        rerun = queries.find(id)
        operator.answer(rerun, parse_body(OperatorAnswer, request.data), by=caller_of(request))
        return Response(RerunQuestions(questions=[*questions.open_questions(rerun)]))


class RerunEventsView(APIView):
    parser_classes = (RawParser,)

    @extend_schema(operation_id="report_rerun", request=EVENTS_BODY, responses={200: EventReceipt, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Report what the agent did besides its model calls: events of the rerun, one JSON object per line."""
        rerun, attempt = starts.find(id)
        body = read_body(request._request)
        with slot():
            return Response(reports.store(rerun.id, body, attempt=attempt))


class RerunHostsView(APIView):
    @extend_schema(operation_id="note_rerun_host", request=RerunHost, responses={200: RerunHost, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Note a host outside the gateway that the agent asked for."""
        host = parse_body(RerunHost, request.data)
        services.note_host(queries.find(id.partition(".")[0]), host.host)
        return Response(host)


class RerunEndView(APIView):
    @extend_schema(operation_id="end_rerun", request=RerunEnd, responses={200: RerunView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """End a rerun with the exit code of the agent."""
        body = parse_body(RerunEnd, request.data)
        return Response(queries.view(services.end(queries.find(id), body.exit_code, writes_run=body.write_run)))


def _fork_request(body: RerunRequest, document: JSONValue) -> ReplayRequest | None:
    """Return what a rerun changes; None if it only repeats its recording."""
    if body.overrides is None and body.fork_step is None and not body.live:
        return None
    fields = {
        name: value for name, value in as_object(document).items() if name not in _OWN_FIELDS and value is not None
    }
    return prepare.parse({**fields, "policy": {"allow": ["model"] if body.live else []}})


def rerun_session(rerun: Rerun) -> RerunSession:
    """Return what an agent needs to run in a rerun."""
    # From the beginning of a rerun on, so that its calls are in order also after a restart of the agent.
    start = rerun.created_at.timestamp()
    real_tools = services.real_tools(rerun)
    session = Session(
        run_id=str(rerun.id), start=start, is_rerun=True, has_pauses=rerun.has_pauses, attempt=rerun.attempt
    )
    return RerunSession(
        id=str(rerun.id),
        attempt=rerun.attempt,
        run=str(rerun.source_run_id),
        seed=rerun.source_run.external_id,
        started_at=rerun.source_run.started_at or rerun.source_run.created_at,
        opened_at=rerun.created_at if rerun.profile_id is not None else None,
        answered_at=datetime.now(UTC),
        input=recorded_input(rerun.source_run),
        path=PREFIX + sessions.sign(session),
        placeholder_key=upstreams.PLACEHOLDER_KEY,
        real_tools=real_tools,
        reviewed_tools=services.reviewed_tools(real_tools),
    )


def _record(session: Session, number: int, kind: str, at: float, facts: JSONObject) -> None:
    arrivals.accept(split(events.event_line(session.run_id, None, number, kind, at, facts)).segments)
