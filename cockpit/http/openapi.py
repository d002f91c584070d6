"""OpenAPI schema of the REST API and of the socket's messages, so that the frontend's types have one source."""

from functools import cache
from typing import Annotated, Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from pydantic import Field, RootModel
from rest_framework.request import Request

from cockpit.http.schemas import DiffTouched
from replay.bisection.core.schemas import BisectionChanged
from replay.execution.messages import AttemptMessage, OutputMessage, StepsMessage, TextMessage
from replay.experiments.core.schemas import ExperimentChanged, ExperimentRowChanged
from replay.sessions.schemas import RunsMessage, SessionStateMessage

# Rules of the published override schema that client types cannot express.
_RULES = ("anyOf", "if", "then")


class LiveMessage(
    RootModel[
        Annotated[
            SessionStateMessage
            | StepsMessage
            | TextMessage
            | AttemptMessage
            | OutputMessage
            | RunsMessage
            | DiffTouched
            | ExperimentChanged
            | ExperimentRowChanged
            | BisectionChanged,
            Field(discriminator="type"),
        ]
    ]
):
    """Any message of `/ws/live`."""


def add_live_messages(result: dict[str, Any], **context: Any) -> dict[str, Any]:
    """Add the socket's messages (postprocessing hook of drf-spectacular)."""
    schema = LiveMessage.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    components = result["components"].setdefault("schemas", {})
    for name, part in schema.pop("$defs").items():
        components.setdefault(name, part)
    components["LiveMessage"] = schema
    for rule in _RULES:
        components["Match"].pop(rule, None)
    result["components"]["schemas"] = dict(sorted(components.items()))
    return result


class SchemaView(SpectacularAPIView):
    """Public OpenAPI description. It takes seconds to build, so it is cached."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        media_type = request.accepted_renderer.media_type
        return HttpResponse(_render(media_type), content_type=media_type)


@cache
def _render(media_type: str) -> str | bytes:
    form = next(renderer for renderer in SchemaView.renderer_classes if renderer.media_type == media_type)
    # drf-spectacular's generator is untyped.
    generator: Any = SchemaGenerator
    return form().render(generator().get_schema(public=True), renderer_context={})


schema = SchemaView.as_view()
# Its template has no answer to other methods.
docs = SpectacularSwaggerSplitView.as_view(http_method_names=["get", "head"])
