"""Endpoints for administrators: configuration and API tokens."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cockpit.http import tokens
from cockpit.http.config_report import effective
from cockpit.http.schemas import Configuration, TokenList, TokenRequest, TokenView
from traces.errors import NotFound
from traces.http.bodies import parse_body
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of


class SettingsView(APIView):
    @extend_schema(operation_id="settings", responses={200: Configuration, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """Return the configuration in effect, without secrets."""
        return Response(effective())


class TokensView(APIView):
    """API tokens."""

    @extend_schema(operation_id="list_tokens", responses={200: TokenList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List all valid tokens, without their secrets."""
        return Response(tokens.in_force())

    @extend_schema(
        operation_id="create_token", parameters=[KEY], request=TokenRequest, responses={201: TokenView, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Create a token. Only this response contains its secret."""
        return Response(
            tokens.issue(parse_body(TokenRequest, request.data), key_of(request), by=caller_of(request)), 201
        )


class TokenRevokeView(APIView):
    @extend_schema(operation_id="revoke_token", responses={204: None, **PROBLEMS})
    def delete(self, request: Request, id: UUID) -> Response:
        """Revoke a token."""
        if not tokens.revoke(id, by=caller_of(request)):
            raise NotFound("This token does not exist or was already revoked.")
        return Response(status=204)
