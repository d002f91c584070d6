"""The REST interface of replays."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.core.plan import Plan
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
from traces.http.bodies import parsed
from traces.http.paging import LAST_ID, LAST_NO, Page, page_of, whole_number, yes_or_no
from traces.http.responses import KEY, PROBLEMS, key_of
from traces.runs.queries import find_run

_RUN = OpenApiParameter("run", OpenApiTypes.STR, description="Only sessions that fork this run.")
_AFTER = OpenApiParameter("after", OpenApiTypes.INT, description="The number of the last message that is known.")
LIMIT = OpenApiParameter("limit", OpenApiTypes.INT, description="How many; at most 200.")
PAGE = [
    OpenApiParameter("after", OpenApiTypes.INT, description="`next` of the page before."),
    OpenApiParameter("limit", OpenApiTypes.INT, description="How many; at most 1,000."),
]
_UNTOUCHED = OpenApiParameter(
    "untouched",
    OpenApiTypes.BOOL,
    description="Whether steps that stay as they are recorded are listed as well (true), or only counted (false).",
)
_MOST = 200
_MOST_OF_SESSION = 1000


class PreviewView(APIView):
    @extend_schema(
        operation_id="preview_replay", parameters=[_UNTOUCHED], request=ReplayBody, responses={200: Plan, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """What a replay would do with every step, and what it would cost. Nothing runs; refusals are in the plan."""
        untouched = yes_or_no(request.query_params, "untouched", default=True)
        question = prepare.parse(request.data)
        plan = previews.answer(
            request,
            previews.FORKS,
            question=question,
            run=question.run,
            make=lambda: services.preview(question, untouched=untouched),
            weigh=lambda plan: len(plan.steps),
        )
        return Response(plan)


class SessionsView(APIView):
    @extend_schema(operation_id="list_replays", parameters=[_RUN, LIMIT], responses={200: SessionList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The newest sessions."""
        given = request.query_params.get("run")
        source_run = find_run(given).id if given else None
        return Response(queries.newest_sessions(source_run=source_run, limit=limit_of(request)))

    @extend_schema(
        operation_id="launch_replay", parameters=[KEY], request=ReplayBody, responses={201: SessionView, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Start a replay."""
        session = services.launch(prepare.parse(request.data), key_of(request))
        return Response(queries.session_view(session.id), 201)


class SessionDetailView(APIView):
    @extend_schema(operation_id="get_replay", responses={200: SessionView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """How a session is now."""
        return Response(queries.view_of(queries.find_session(id)))


class AttemptsView(APIView):
    @extend_schema(operation_id="list_attempts", parameters=PAGE, responses={200: AttemptList, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Every attempt of every live call of a session, failed ones with their errors, in order."""
        return Response(queries.attempts(queries.find_session(id).id, requested_page(request)))


class MessagesView(APIView):
    @extend_schema(operation_id="list_messages", parameters=[_AFTER], responses={200: MessageList, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """What a session told since: changes, resolved steps, attempts, and the text of live answers as it came."""
        after = whole_number(request.query_params, "after", default=0, most=LAST_NO, least=0)
        found = queries.messages_after(queries.find_session(id).id, after)
        return Response(MessageList(messages=found, last=max([after, *(message.seq for message in found)])))


class CancelView(APIView):
    @extend_schema(operation_id="cancel_replay", request=None, responses={200: SessionView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Stop before the next call."""
        return Response(queries.view_of(services.cancel(queries.find_session(id).id)))


class AnswerView(APIView):
    @extend_schema(operation_id="answer_replay", request=OperatorAnswer, responses={200: SessionView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Answer the question that a session waits with."""
        given = parsed(OperatorAnswer, request.data)
        return Response(queries.view_of(services.answer(queries.find_session(id).id, given)))


class ProvidersView(APIView):
    @extend_schema(operation_id="list_providers", responses={200: ProviderList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The configured model providers, without their keys."""
        return Response(queries.configured_providers())


def requested_page(request: Request) -> Page:
    """The page of what a session left behind that `PAGE` asks for."""
    return page_of(request.query_params, most=_MOST_OF_SESSION, last=LAST_ID)


def limit_of(request: Request) -> int:
    return whole_number(request.query_params, "limit", default=50, most=_MOST)
