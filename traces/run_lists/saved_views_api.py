"""REST endpoints of the named views of the runs list."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import StringConstraints
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.core.schema import Schema
from traces.http.bodies import parse_body
from traces.http.responses import KEY, PROBLEMS, caller_of, is_admin, key_of
from traces.models import SavedView
from traces.run_lists import saved_views

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"^[^\x00-\x1f]+$")]
Query = Annotated[str, StringConstraints(max_length=4_000, pattern=r"^[^\x00-\x1f]*$")]


class RunView(Schema):
    """A named view: `query` is that of the list's address."""

    id: UUID
    name: str
    query: str
    owner: str
    created_at: datetime


class RunViewList(Schema):
    """The named views, by name."""

    views: list[RunView]


class NewRunView(Schema):
    """A view to store for everybody."""

    name: Name
    query: Query


class RunViewChange(Schema):
    """A change of a view; a missing field stays as it is."""

    name: Name | None = None
    query: Query | None = None


class SavedViewsView(APIView):
    @extend_schema(operation_id="list_run_views", responses={200: RunViewList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the named views of the runs list."""
        return Response(RunViewList(views=[_view(view) for view in SavedView.objects.order_by("name")]))

    @extend_schema(
        operation_id="create_run_view", parameters=[KEY], request=NewRunView, responses={201: RunView, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Store a view of the runs list under a name."""
        body = parse_body(NewRunView, request.data)
        view = saved_views.create(name=body.name, query=body.query, by=caller_of(request), key=key_of(request))
        return Response(_view(view), status=201)


class SavedViewDetailView(APIView):
    @extend_schema(operation_id="change_run_view", request=RunViewChange, responses={200: RunView, **PROBLEMS})
    def patch(self, request: Request, id: UUID) -> Response:
        """Rename a view, or store another query under its name."""
        body = parse_body(RunViewChange, request.data)
        by, may_change_all = caller_of(request), is_admin(request)
        return Response(_view(saved_views.change(id, name=body.name, query=body.query, by=by, is_admin=may_change_all)))

    @extend_schema(operation_id="delete_run_view", responses={204: None, **PROBLEMS})
    def delete(self, request: Request, id: UUID) -> Response:
        """Delete a view."""
        saved_views.delete(id, by=caller_of(request), is_admin=is_admin(request))
        return Response(status=204)


def _view(view: SavedView) -> RunView:
    return RunView(id=view.id, name=view.name, query=view.query, owner=view.owner, created_at=view.created_at)
