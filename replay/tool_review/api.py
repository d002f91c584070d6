"""The REST interface of the tool review."""

from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.live import tools
from replay.tool_review import queries, services
from replay.tool_review.schemas import ToolChoices, ToolList
from traces.http.bodies import parse_body
from traces.http.responses import PROBLEMS

_YAML = "application/yaml"


class ToolsView(APIView):
    @extend_schema(operation_id="list_tools", responses={200: ToolList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """Every tool seen in a run or configured, those that nobody reviewed first."""
        return Response(queries.listing(tools.executors()))

    @extend_schema(operation_id="decide_tools", request=ToolChoices, responses={200: ToolList, **PROBLEMS})
    def put(self, request: Request) -> Response:
        """Decide whether tools are safe to run in replays. Tools that are not named keep their decision."""
        given = parse_body(ToolChoices, request.data)
        services.decide({choice.name: choice.safe for choice in given.decisions}, by=_caller(request))
        return Response(queries.listing(tools.executors()))


class _Text(BaseParser):
    """A body that is read as it is, whatever it calls itself."""

    media_type = "*/*"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return stream.read()


class _Any(DefaultContentNegotiation):
    """The file is made by the view; answers that the framework renders are JSON, whatever was asked for."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class ToolFileView(APIView):
    parser_classes = [_Text]
    content_negotiation_class = _Any

    @extend_schema(operation_id="export_tools", responses={(200, _YAML): str, **PROBLEMS})
    def get(self, request: Request) -> HttpResponse:
        """The decisions as a `side_effects.yaml`; `done` is true when every tool was reviewed."""
        response = HttpResponse(services.export_file(tools.executors()), content_type=f"{_YAML}; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="side_effects.yaml"'
        return response

    @extend_schema(operation_id="import_tools", request={_YAML: str}, responses={200: ToolList, **PROBLEMS})
    def put(self, request: Request) -> Response:
        """Take over the decisions of a `side_effects.yaml`. With `done: false` nothing becomes safe."""
        text: Any = request.data or b""  # without a body the framework makes up an empty form
        services.import_file(text, by=_caller(request))
        return Response(queries.listing(tools.executors()))


def _caller(request: Request) -> str:
    """Who asks, as the access control found out."""
    name: str = request._request.caller_name  # type: ignore[attr-defined]  # set by the access control
    return name
