"""REST views of the tool review."""

from collections.abc import Mapping
from typing import IO, Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.live import tools
from replay.tool_review import queries, services
from replay.tool_review.schemas import ToolChoices, ToolList
from traces.http.bodies import parse_body
from traces.http.negotiation import AnyMediaType
from traces.http.responses import PROBLEMS

_YAML = "application/yaml"


class ToolsView(APIView):
    @extend_schema(operation_id="list_tools", responses={200: ToolList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List every tool that a run called or offered or that is configured, unreviewed tools first."""
        return Response(queries.listing(tools.executors()))

    @extend_schema(operation_id="decide_tools", request=ToolChoices, responses={200: ToolList, **PROBLEMS})
    def put(self, request: Request) -> Response:
        """Decide whether tools are safe to run in replays. Other tools keep their decision."""
        choices = parse_body(ToolChoices, request.data)
        decisions = {choice.name: choice.safe for choice in choices.decisions}
        if choices.as_suggested:
            services.accept_suggestions(decisions, tools.executors(), author=_caller(request))
        else:
            services.decide(decisions, author=_caller(request))
        return Response(queries.listing(tools.executors()))


class _Text(BaseParser):
    """Parses a body as raw text, whatever its content type."""

    media_type = "*/*"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return stream.read()


class ToolFileView(APIView):
    parser_classes = [_Text]
    content_negotiation_class = AnyMediaType

    @extend_schema(operation_id="export_tools", responses={(200, _YAML): str, **PROBLEMS})
    def get(self, request: Request) -> HttpResponse:
        """Export the decisions as a `side_effects.yaml`; `done` is true if every tool was reviewed."""
        response = HttpResponse(services.export_file(tools.executors()), content_type=f"{_YAML}; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="side_effects.yaml"'
        return response

    @extend_schema(operation_id="import_tools", request={_YAML: str}, responses={200: ToolList, **PROBLEMS})
    def put(self, request: Request) -> Response:
        """Import the decisions of a `side_effects.yaml`. With `done: false` no tool becomes safe."""
        text: Any = request.data or b""  # without a body the framework supplies an empty form
        services.import_file(text, author=_caller(request))
        return Response(queries.listing(tools.executors()))


def _caller(request: Request) -> str:
    """Return the name of the caller that access control determined."""
    # Set by the access control.
    name: str = request._request.caller_name  # type: ignore[attr-defined]
    return name
