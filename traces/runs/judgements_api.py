"""REST endpoints of judgements."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.core.json_types import JSONValue
from traces.core.vocabulary import JudgementKind, JudgementSource, Outcome
from traces.errors import InvalidQuery
from traces.http.bodies import parse_body
from traces.http.idempotency import make_once
from traces.http.paging import whole_number, yes_or_no
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, path, query
from traces.ingest.judgement_rows import JudgementRow
from traces.judgements import services
from traces.judgements.schemas import JudgementList, JudgementRequest, JudgementView
from traces.models import Judgement, Run
from traces.redaction_policies import services as policies
from traces.runs.queries import as_uuid, by_id, find_run, find_step

_RUN: Final = path("id", "The run's id, a unique prefix of it, its external id, or `last`.")
_MAX_LIMIT: Final = 1_000
_FILTERS: Final = [
    _RUN,
    query("withdrawn", "`true`: include withdrawn judgements."),
    query("after", "`next` of the previous page."),
    query("limit", f"Judgements per page; at most {_MAX_LIMIT}."),
]


class JudgementsView(APIView):
    @extend_schema(operation_id="list_judgements", parameters=_FILTERS, responses={200: JudgementList, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Return the outcome of a run, its judgements and those of its steps."""
        return Response(_listing(find_run(id), request.query_params, caller_of(request)))

    @extend_schema(
        operation_id="judge_run",
        parameters=[_RUN, KEY],
        request=JudgementRequest,
        responses={201: JudgementView, **PROBLEMS},
    )
    def post(self, request: Request, id: str) -> Response:
        """Judge a run or one of its steps. Replaces the caller's previous judgement with that name, except notes."""
        body, run, caller = parse_body(JudgementRequest, request.data), find_run(id), caller_of(request)
        row = JudgementRow(
            name=body.name,
            kind=JudgementKind(body.kind),
            source=JudgementSource.PERSON,
            step_no=None if body.step is None else find_step(run, body.step).sequence_no,
            value=body.value,
            text=policies.redaction_of(run.app).redactor().text(body.text),
            by=caller,
            at=datetime.now(UTC),
        )
        question: JSONValue = [str(run.id), body.model_dump(mode="json")]
        judgement_id = make_once("judgement", key_of(request), question, lambda: str(services.judge(run, row).pk))
        return Response(_view(Judgement.objects.get(id=judgement_id), caller), 201)


class JudgementDetailView(APIView):
    @extend_schema(
        operation_id="withdraw_judgement",
        parameters=[_RUN, path("judgement", "The judgement's id.")],
        responses={204: None, **PROBLEMS},
    )
    def delete(self, request: Request, id: str, judgement: str) -> Response:
        """Withdraw one's own judgement."""
        rows = Judgement.objects.filter(run=find_run(id), withdrawn_at__isnull=True)
        services.withdraw(by_id(rows, judgement, "judgement"), by=caller_of(request))
        return Response(status=204)


def _listing(run: Run, params: Mapping[str, str], caller: str) -> JudgementList:
    limit = whole_number(params, "limit", default=_MAX_LIMIT, maximum=_MAX_LIMIT)
    rows = Judgement.objects.filter(_after(params.get("after", "")), run=run).order_by("id")
    if not yes_or_no(params, "withdrawn", default=False):
        rows = rows.filter(withdrawn_at__isnull=True)
    page = list(rows[: limit + 1])
    verdict = run.verdict
    return JudgementList(
        outcome=Outcome(verdict.outcome),
        outcome_basis=JudgementSource(verdict.basis) if verdict.basis else None,
        outcome_reason=verdict.reason,
        judgements=[_view(row, caller) for row in page[:limit]],
        next=page[limit - 1].id if len(page) > limit else None,
    )


def _after(text: str) -> Q:
    if not text:
        return Q()
    key: UUID | None = as_uuid(text)
    if key is None:
        raise InvalidQuery(f"after is “{text}”: it must be `next` of the previous page", where="/after")
    return Q(id__gt=key)


def _view(row: Judgement, caller: str) -> JudgementView:
    return JudgementView(
        id=row.id,
        step=row.step_no,
        name=row.name,
        kind=JudgementKind(row.kind),
        value=row.value,
        text=row.text,
        source=JudgementSource(row.source),
        by=row.by,
        at=row.at or row.created_at,
        detail=row.detail or {},
        mine=row.source == JudgementSource.PERSON and row.by == caller,
        withdrawn_at=row.withdrawn_at,
    )
