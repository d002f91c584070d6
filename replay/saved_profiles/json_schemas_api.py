"""REST view of the published JSON Schemas."""

from typing import Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.saved_profiles import json_schemas
from traces.errors import NotFound
from traces.http.responses import PROBLEMS

_NAME: Final = OpenApiParameter("name", str, OpenApiParameter.PATH, enum=json_schemas.NAMES)


class SchemaView(APIView):
    @extend_schema(
        operation_id="get_schema",
        parameters=[_NAME],
        responses={(200, "application/schema+json"): OpenApiTypes.OBJECT, **PROBLEMS},
    )
    def get(self, request: Request, name: str) -> Response:
        """Return the JSON Schema of override profiles, policies or diff reports."""
        if name not in json_schemas.NAMES:
            raise NotFound(f"there is no schema “{name}”: choose one of {', '.join(json_schemas.NAMES)}")
        return Response(json_schemas.document(name), content_type="application/schema+json")
