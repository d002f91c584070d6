"""REST views of replays."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.core.plan import Plan
from replay.runners import queries as runners
from replay.runners.schemas import OutputView
from replay.sessions import prepare, previews, queries, services
from replay.sessions.schemas import (
    AttemptList,
    MessageList,
    OperatorAnswer,
    ProviderList,
    ReplayBody,
    SessionList,
    SessionView,
)
from traces.http.bodies import parse_body
from traces.http.paging import LAST_ID, LAST_NO, Page, page_of, whole_number, yes_or_no
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of
from traces.runs.queries import find_run

_RUN = OpenApiParameter("run", OpenApiTypes.STR, description="Only sessions that fork this run.")
_AFTER = OpenApiParameter("after", OpenApiTypes.INT, description="Sequence number of the last message received.")
LIMIT = OpenApiParameter("limit", OpenApiTypes.INT, description="Page size; at most 200.")
PAGE = [
    OpenApiParameter("after", OpenApiTypes.INT, description="`next` of the previous page."),
    OpenApiParameter("limit", OpenApiTypes.INT, description="Page size; at most 1,000."),
]
_UNTOUCHED_PARAMETER = OpenApiParameter(
    "untouched",
    OpenApiTypes.BOOL,
    description="True: list steps that no change reaches, too. False: only count them.",
)
_MOST = 200
_MOST_OF_SESSION = 1000


class PreviewView(APIView):
    @extend_schema(
        operation_id="preview_replay",
        parameters=[_UNTOUCHED_PARAMETER],
        request=ReplayBody,
        responses={200: Plan, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Plan a replay: what it would do with every step, and its cost.

        Nothing runs; the plan lists refusals.
        """
        list_untouched = yes_or_no(request.query_params, "untouched", default=True)
        question = prepare.parse(request.data)
        plan = previews.answer(
            request,
            previews.FORKS,
            question=question,
            run=question.run,
            make=lambda: services.preview(question, list_untouched=list_untouched),
            weigh=lambda plan: len(plan.steps),
        )
        return Response(plan)


class SessionsView(APIView):
    @extend_schema(operation_id="list_replays", parameters=[_RUN, LIMIT], responses={200: SessionList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the newest sessions."""
        run_ref = request.query_params.get("run")
        source_run = find_run(run_ref).id if run_ref else None
        return Response(queries.newest_sessions(source_run=source_run, limit=limit_of(request)))

    @extend_schema(
        operation_id="launch_replay", parameters=[KEY], request=ReplayBody, responses={201: SessionView, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Start a replay."""
        session = services.launch(prepare.parse(request.data), key_of(request), by=caller_of(request))
        return Response(queries.session_view(session.id), 201)


class SessionDetailView(APIView):
    @extend_schema(operation_id="get_replay", responses={200: SessionView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Return the session's current state."""
        return Response(queries.view_of(queries.find_session(id)))


class AttemptsView(APIView):
    @extend_schema(operation_id="list_attempts", parameters=PAGE, responses={200: AttemptList, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """List all attempts at live calls of a session in order, with the errors of failed ones."""
        return Response(queries.attempts(queries.find_session(id).id, requested_page(request)))


class MessagesView(APIView):
    @extend_schema(operation_id="list_messages", parameters=[_AFTER], responses={200: MessageList, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """List messages since `after`: session changes, resolved steps, attempts and streamed text."""
        after = whole_number(request.query_params, "after", default=0, maximum=LAST_NO, minimum=0)
        messages = queries.messages_after(queries.find_session(id).id, after)
        return Response(MessageList(messages=messages, last=max([after, *(message.seq for message in messages)])))


class OutputsView(APIView):
    @extend_schema(operation_id="get_replay_output", responses={200: OutputView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Return what the agent of a session printed, and its exit code."""
        return Response(runners.output(queries.find_session(id)))


class CancelView(APIView):
    @extend_schema(operation_id="cancel_replay", request=None, responses={200: SessionView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Cancel the session before its next call."""
        return Response(queries.view_of(services.cancel(queries.find_session(id).id)))


class AnswerView(APIView):
    @extend_schema(operation_id="answer_replay", request=OperatorAnswer, responses={200: SessionView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Answer the question that a session is waiting for."""
        operator_answer = parse_body(OperatorAnswer, request.data)
        return Response(
            queries.view_of(services.answer(queries.find_session(id).id, operator_answer, by=caller_of(request)))
        )


class ProvidersView(APIView):
    @extend_schema(operation_id="list_providers", responses={200: ProviderList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the configured model providers, without their keys."""
        return Response(queries.configured_providers())


def requested_page(request: Request) -> Page:
    """Parse the page that the parameters of `PAGE` request."""
    return page_of(request.query_params, maximum=_MOST_OF_SESSION, last=LAST_ID)


def limit_of(request: Request) -> int:
    return whole_number(request.query_params, "limit", default=50, maximum=_MOST)
