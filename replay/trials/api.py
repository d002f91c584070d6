"""REST interface of retrievers and of trial calls of retrievers and tools."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.trials import queries, services
from replay.trials.schemas import RetrieverList, RetrieverTrialRequest, ToolTrialRequest, TrialList, TrialView
from traces.http.bodies import parse_body
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, query

_KIND = query("kind", "Only those of tools (`tool`) or of retrievers (`retrieval`).")
_NAME = query("name", "Only those of this tool or retriever.")


class RetrieversView(APIView):
    @extend_schema(operation_id="list_retrievers", responses={200: RetrieverList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The configured retrievers, in the order in which they are matched with a step."""
        return Response(queries.retrievers())


class ToolTrialsView(APIView):
    @extend_schema(
        operation_id="try_tool", parameters=[KEY], request=ToolTrialRequest, responses={202: TrialView, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Run a tool once, outside of any replay. One without a review as safe needs confirmation."""
        trial_request = parse_body(ToolTrialRequest, request.data)
        trial = services.try_tool(trial_request, caller=caller_of(request), key=key_of(request))
        return Response(queries.view(trial), 202)


class RetrieverTrialsView(APIView):
    @extend_schema(
        operation_id="try_retriever",
        parameters=[KEY],
        request=RetrieverTrialRequest,
        responses={202: TrialView, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Search once, outside of any replay."""
        trial_request = parse_body(RetrieverTrialRequest, request.data)
        trial = services.try_retriever(trial_request, caller=caller_of(request), key=key_of(request))
        return Response(queries.view(trial), 202)


class TrialsView(APIView):
    @extend_schema(operation_id="list_trials", parameters=[_KIND, _NAME], responses={200: TrialList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The newest trials."""
        params = request.query_params
        return Response(queries.newest(kind=params.get("kind", ""), name=params.get("name", "")))


class TrialDetailView(APIView):
    @extend_schema(operation_id="get_trial", responses={200: TrialView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """The current state of a trial."""
        return Response(queries.view(queries.find(id)))
