"""REST API of share links for those who open them: every endpoint that accepts a token.

`GET /share/{token}` and its `/ticket` count a view. The ticket then reads the subject of the link and nothing else: an
id of any other object gets the error of a link that does not open.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from cockpit.sharing.contents import experiment_content, replay_content, run_content, tree_content
from cockpit.sharing.schemas import SharedDocument
from cockpit.sharing.subjects import covered_run
from cockpit.sharing.visits import TICKET, SharedView, check_ticket, open_link
from diffing.api import FORMAT_PARAMETER, format_name, report_response
from diffing.schemas.report import DiffReport
from replay.experiments.core.schemas import ExperimentView
from replay.fork_tree.core.schemas import RunTree
from replay.sessions.schemas import SessionView
from traces.core.vocabulary import ShareKind
from traces.errors import InvalidQuery
from traces.http.negotiation import AnyMediaType
from traces.http.paging import page_of
from traces.http.responses import PROBLEMS, query
from traces.http.search_words import words_of
from traces.models import Run, Step
from traces.runs import queries as runs
from traces.runs.steps.step_list import MAX_STEPS, step_list
from traces.runs.usage import usage
from traces.schemas import EdgeList, RunDetail, RunUsage, StepDetail, StepList
from traces.sharing import links
from traces.sharing.schemas import ShareTicket
from traces.transcripts import api as transcripts
from traces.transcripts.schemas import Transcript


class SharedSubjectView(SharedView):
    """What a share link opens, for programs."""

    content_negotiation_class = AnyMediaType

    @extend_schema(
        operation_id="share_retrieve",
        parameters=[FORMAT_PARAMETER],
        responses={
            (200, "application/json"): SharedDocument,
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "text/html"): OpenApiTypes.STR,
            **PROBLEMS,
        },
    )
    def get(self, request: Request, token: str) -> HttpResponse:
        """Count a view, and return the subject of a link; a report in any format."""
        form = format_name(request)
        link = open_link(request, token)
        if link.kind == ShareKind.DIFF:
            return report_response(link.subject, form)
        if form != "json":
            raise InvalidQuery(f"a {link.kind} is shared as json only; reports have other formats", where="/format")
        return Response(_DOCUMENTS[ShareKind(link.kind)](link.subject))


class ShareTicketView(SharedView):
    @extend_schema(operation_id="get_share_ticket", responses={200: ShareTicket, **PROBLEMS})
    def get(self, request: Request, token: str) -> Response:
        """Count a view, and return a ticket that reads the subject of the link in several requests."""
        link = open_link(request, token)
        valid_until = datetime.now(UTC) + links.TICKET_LIFETIME
        return Response(
            ShareTicket(
                kind=ShareKind(link.kind),
                subject=link.subject,
                ticket=links.issue_ticket(link),
                valid_until=min(valid_until, link.expires_at or valid_until),
                allows_comments=link.allows_comments,
            )
        )


class SharedReportView(SharedView):
    @extend_schema(operation_id="get_shared_diff", parameters=[TICKET], responses={200: DiffReport, **PROBLEMS})
    def get(self, request: Request, token: str, id: UUID) -> HttpResponse:
        """Return the report of a link."""
        return report_response(_check_subject(request, token, ShareKind.DIFF, id), "json")


class SharedReplayView(SharedView):
    @extend_schema(operation_id="get_shared_replay", parameters=[TICKET], responses={200: SessionView, **PROBLEMS})
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """Return the replay of a link."""
        return Response(replay_content(_check_subject(request, token, ShareKind.REPLAY, id)))


class SharedTreeView(SharedView):
    @extend_schema(operation_id="get_shared_tree", parameters=[TICKET], responses={200: RunTree, **PROBLEMS})
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """Return the tree of a link; `id`: its recorded run."""
        return Response(tree_content(_run(_check_subject(request, token, ShareKind.TREE, id))))


class SharedExperimentView(SharedView):
    @extend_schema(
        operation_id="get_shared_experiment", parameters=[TICKET], responses={200: ExperimentView, **PROBLEMS}
    )
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """Return the experiment of a link."""
        return Response(experiment_content(_check_subject(request, token, ShareKind.EXPERIMENT, id)))


class SharedRunView(SharedView):
    @extend_schema(operation_id="get_shared_run", parameters=[TICKET], responses={200: RunDetail, **PROBLEMS})
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """Return the run of a link, or what the replay of a link wrote."""
        return Response(run_content(_check_run(request, token, id)))


class SharedStepsView(SharedView):
    @extend_schema(
        operation_id="list_shared_steps",
        parameters=[
            TICKET,
            query("q", "Words; a step matches if all occur in it."),
            query("after", "Only steps after this sequence number."),
            query("limit", f"Steps per page; at most {MAX_STEPS}."),
        ],
        responses={200: StepList, **PROBLEMS},
    )
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """List the steps of the run, without payloads."""
        run = _check_run(request, token, id)
        after, limit = page_of(request.query_params, maximum=MAX_STEPS)
        words = words_of(request.query_params.get("q", ""))
        steps, rest = step_list(run, after=after, limit=limit, words=words)
        return Response({"steps": steps, "next": rest})


class SharedTranscriptView(SharedView):
    @extend_schema(
        operation_id="get_shared_transcript",
        parameters=[TICKET, *transcripts.PAGE],
        responses={200: Transcript, **PROBLEMS},
    )
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """List the turns of the run's steps, with the beginnings of their texts."""
        return transcripts.page_response(request, _check_run(request, token, id))


class SharedEdgesView(SharedView):
    @extend_schema(
        operation_id="list_shared_edges",
        parameters=[
            TICKET,
            query("after", "Only edges into steps after this sequence number."),
            query("limit", f"Consumer steps per page; at most {runs.MAX_EDGES_INTO}."),
        ],
        responses={200: EdgeList, **PROBLEMS},
    )
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """List the provenance edges of the run."""
        run = _check_run(request, token, id)
        after, limit = page_of(request.query_params, maximum=runs.MAX_EDGES_INTO)
        edges, rest = runs.edge_list(run.id, after=after, limit=limit)
        return Response({"edges": edges, "next": rest})


class SharedUsageView(SharedView):
    @extend_schema(operation_id="get_shared_usage", parameters=[TICKET], responses={200: RunUsage, **PROBLEMS})
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """Return the tokens and cost of the run."""
        return Response(usage(_check_run(request, token, id)))


class SharedStepView(SharedView):
    @extend_schema(operation_id="get_shared_step", parameters=[TICKET], responses={200: StepDetail, **PROBLEMS})
    def get(self, request: Request, token: str, id: UUID) -> Response:
        """Return a step of the run with its payloads and provenance."""
        link = check_ticket(request, token)
        step = Step.objects.select_related("run").filter(id=id, run=covered_run(link)).first()
        if step is None:
            raise links.closed()
        return Response(runs.step_detail(step))


_DOCUMENTS: Final[dict[ShareKind, Callable[[UUID], RunDetail | SessionView | RunTree | ExperimentView]]] = {
    ShareKind.RUN: lambda id: run_content(_run(id)),
    ShareKind.REPLAY: replay_content,
    ShareKind.TREE: lambda id: tree_content(_run(id)),
    ShareKind.EXPERIMENT: experiment_content,
}


def _run(id: UUID) -> Run:
    return Run.objects.select_related("verdict", "mark").get(id=id)


def _check_subject(request: Request, token: str, kind: ShareKind, id: UUID) -> UUID:
    link = check_ticket(request, token)
    if (link.kind, link.subject) != (kind, id):
        raise links.closed()
    return id


def _check_run(request: Request, token: str, id: UUID) -> Run:
    link = check_ticket(request, token)
    if covered_run(link) != id:
        raise links.closed()
    return _run(id)
