"""REST API of share links for those who create them."""

from uuid import UUID

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cockpit.sharing.subjects import check_complete, find_subject
from traces.core.vocabulary import ShareKind
from traces.errors import InvalidQuery
from traces.http.bodies import parse_body
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of
from traces.runs.queries import as_uuid
from traces.sharing import links
from traces.sharing.links import Subject
from traces.sharing.schemas import ShareList, ShareRequest, ShareView, SubjectShareRequest

_KIND = OpenApiParameter("kind", str, enum=[kind.value for kind in ShareKind], required=True)
_SUBJECT = OpenApiParameter("subject", OpenApiTypes.UUID, required=True, description="Of a tree: any of its runs.")


class SharesView(APIView):
    """Links to any subject."""

    @extend_schema(
        operation_id="list_share_links", parameters=[_KIND, _SUBJECT], responses={200: ShareList, **PROBLEMS}
    )
    def get(self, request: Request) -> Response:
        """List the links to a subject, without their tokens."""
        return Response(links.list_links(_subject_of(request)))

    @extend_schema(
        operation_id="share", parameters=[KEY], request=SubjectShareRequest, responses={201: ShareView, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Create a link to a run, a tree, a replay, a report or an experiment. Its address is in this response only."""
        body = parse_body(SubjectShareRequest, request.data)
        return _create(request, find_subject(body.kind, body.subject), body)


class DiffSharesView(APIView):
    """Links to one report."""

    @extend_schema(operation_id="shares_list", responses={200: ShareList, **PROBLEMS})
    def get(self, request: Request, id: UUID) -> Response:
        """List the links to a report, without their tokens."""
        return Response(links.list_links(find_subject(ShareKind.DIFF, id)))

    @extend_schema(
        operation_id="shares_create", parameters=[KEY], request=ShareRequest, responses={201: ShareView, **PROBLEMS}
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Create a link to a report. Its address is in this response only."""
        return _create(request, find_subject(ShareKind.DIFF, id), parse_body(ShareRequest, request.data))


class ShareRevokeView(APIView):
    """One link."""

    @extend_schema(operation_id="shares_delete", responses={200: ShareView, **PROBLEMS})
    def delete(self, request: Request, id: UUID) -> Response:
        """Revoke a link."""
        return Response(links.link_view(links.revoke_link(id, by=caller_of(request)), None))


def _create(request: Request, subject: Subject, terms: ShareRequest) -> Response:
    check_complete(subject)
    link, token = links.create_link(subject, terms, creator=caller_of(request), key=key_of(request))
    path = f"/share/{token}"
    url = f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)
    return Response(links.link_view(link, url), 201)


def _subject_of(request: Request) -> Subject:
    kind, ref = (request.query_params.get(name, "") for name in ("kind", "subject"))
    if kind not in list(ShareKind):
        raise InvalidQuery(f"unknown kind “{kind}”; use one of {', '.join(ShareKind)}", where="/kind")
    if (id := as_uuid(ref)) is None:
        raise InvalidQuery(f"subject is “{ref}”: it must be an id", where="/subject")
    return find_subject(ShareKind(kind), id)
