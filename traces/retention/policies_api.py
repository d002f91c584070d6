"""REST endpoints of retention: policies, the purge, and marks of runs."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.http.bodies import parse_body
from traces.http.responses import PROBLEMS, caller_of, path, query, require_admin
from traces.models import RetentionPolicy, Run
from traces.retention import marks, policies, purge
from traces.retention.policies import PolicyTerms
from traces.retention.purge import PlannedRun
from traces.retention.schemas import (
    CitationView,
    MarkRequest,
    MarkView,
    PlannedRunView,
    PurgePlanRequest,
    PurgePlanView,
    PurgeResult,
    RetentionEffect,
    RetentionPolicyList,
    RetentionPolicyView,
    RetentionTerms,
)
from traces.runs.queries import find_run

_RUN: Final = path("id", "The run's id, a unique prefix of it, its external id, or `last`.")


class RetentionPoliciesView(APIView):
    @extend_schema(operation_id="list_retention_policies", responses={200: RetentionPolicyList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the policies in force."""
        rows = RetentionPolicy.objects.order_by("app", "tag")
        return Response(
            RetentionPolicyList(
                policies=[_policy_view(row) for row in rows],
                purged_at=purge.newest_purge(),
                grace_s=settings.DELETION_GRACE_S,
            )
        )

    @extend_schema(
        operation_id="set_retention_policy",
        request=RetentionTerms,
        responses={200: RetentionPolicyView, **PROBLEMS},
    )
    def put(self, request: Request) -> Response:
        """Set the policy of an app and a tag."""
        terms = _terms(parse_body(RetentionTerms, request.data))
        return Response(_policy_view(policies.set_policy(terms, by=caller_of(request))))

    @extend_schema(
        operation_id="remove_retention_policy",
        parameters=[query("app", "Empty: all apps."), query("tag", "Empty: all runs.")],
        responses={204: None, **PROBLEMS},
    )
    def delete(self, request: Request) -> Response:
        """Remove the policy of an app and a tag."""
        app, tag = (request.query_params.get(name, "") for name in ("app", "tag"))
        policies.remove_policy(app, tag, by=caller_of(request))
        return Response(status=204)


class PurgePlanEndpoint(APIView):
    @extend_schema(operation_id="plan_purge", request=PurgePlanRequest, responses={200: PurgePlanView, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Return what a purge would delete, and what keeps other runs. Nothing is deleted."""
        body = parse_body(PurgePlanRequest, request.data)
        all_terms = policies.stored_terms() if body.policies is None else [_terms(item) for item in body.policies]
        plan = purge.plan(all_terms)
        effects = [
            RetentionEffect(
                app=effect.terms.app,
                tag=effect.terms.tag,
                days=effect.terms.days,
                runs=effect.runs,
                pinned_runs=effect.pinned_runs,
                held_runs=effect.held_runs,
                cited_runs=effect.cited_runs,
            )
            for effect in plan.effects
        ]
        names = _names([*plan.deletable_runs, *plan.protected_runs])
        return Response(
            PurgePlanView(
                runs=plan.runs,
                size=plan.size,
                effects=effects,
                deletable_runs=[_planned_run_view(item, names) for item in plan.deletable_runs],
                protected_runs=[_planned_run_view(item, names) for item in plan.protected_runs],
            )
        )


class PurgeEndpoint(APIView):
    @extend_schema(operation_id="purge", request=None, responses={200: PurgeResult, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Apply the policies now, and remove everything that is due."""
        report = purge.purge(by=caller_of(request))
        sweep_report = report.sweep_report
        return Response(PurgeResult(runs=report.runs, artifacts=sweep_report.artifacts, size=sweep_report.size))


class MarkEndpoint(APIView):
    @extend_schema(
        operation_id="mark_run", parameters=[_RUN], request=MarkRequest, responses={200: MarkView, **PROBLEMS}
    )
    def put(self, request: Request, id: str) -> Response:
        """Pin a run, or put it under legal hold."""
        body = parse_body(MarkRequest, request.data)
        if body.is_held is not None:
            require_admin(request)
        row = marks.mark(find_run(id).id, is_pinned=body.is_pinned, is_held=body.is_held, by=caller_of(request))
        return Response(MarkView(is_pinned=row.is_pinned, is_held=row.is_held))


def _terms(body: RetentionTerms) -> PolicyTerms:
    return PolicyTerms(
        app=body.app, tag=body.tag, days=body.days, keep_pinned=body.keep_pinned, legal_hold=body.legal_hold
    )


def _names(items: Sequence[PlannedRun]) -> dict[UUID, str]:
    return dict(Run.objects.filter(id__in=[item.run.run_id for item in items]).values_list("id", "name"))


def _planned_run_view(item: PlannedRun, names: Mapping[UUID, str]) -> PlannedRunView:
    run = item.run
    return PlannedRunView.model_construct(
        id=run.run_id,
        name=names.get(run.run_id, ""),
        app=run.app,
        created_at=run.created_at,
        policy_app=run.terms.app,
        policy_tag=run.terms.tag,
        days=run.terms.days or 0,
        protection=item.protection,
        citations=[CitationView(kind=citation.kind, id=citation.id, name=citation.name) for citation in item.citations],
    )


def _policy_view(row: RetentionPolicy) -> RetentionPolicyView:
    return RetentionPolicyView(
        app=row.app,
        tag=row.tag,
        days=row.days,
        keep_pinned=row.keep_pinned,
        legal_hold=row.legal_hold,
        by=row.by,
        at=row.at,
    )
