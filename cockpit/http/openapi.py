"""The socket's messages, in the same OpenAPI file as the REST interface: the browser's types come from one place."""

from functools import cache
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

from cockpit.http.schemas import LiveMessage

# What the published schema of override profiles says about a match beyond its fields: clients' types cannot say it.
_RULES = ("anyOf", "if", "then")


def add_live_messages(result: dict[str, Any], **context: Any) -> dict[str, Any]:
    """A postprocessing hook of drf-spectacular."""
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
    """The description of the interface, which anybody may read: it takes seconds to make, and is made once."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        media_type = request.accepted_renderer.media_type
        return HttpResponse(_written(media_type), content_type=media_type)


@cache
def _written(media_type: str) -> str | bytes:
    form = next(each for each in SchemaView.renderer_classes if each.media_type == media_type)
    generator: Any = SchemaGenerator  # untyped
    return form().render(generator().get_schema(public=True), renderer_context={})
