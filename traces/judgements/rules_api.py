"""REST endpoints of the outcome rules of apps."""

from dataclasses import asdict
from typing import Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.errors import InvalidQuery
from traces.http.bodies import parse_body
from traces.http.responses import PROBLEMS, caller_of, path, query
from traces.ingest.judgement_rows import NAME_LENGTH
from traces.ingest.outcome_rules import DEFAULT_CRITERIA, DEFAULT_DECIDERS, DEFAULT_THRESHOLDS, Decider, Thresholds
from traces.judgements import queries, rule_changes
from traces.judgements.schemas import (
    DeciderView,
    JudgementNames,
    OutcomeRuleRequest,
    OutcomeRuleView,
    ThresholdView,
)
from traces.models import OutcomeRule

_APP: Final = path("app", "The app's name.")


class OutcomeRuleDetailView(APIView):
    @extend_schema(operation_id="get_outcome_rule", parameters=[_APP], responses={200: OutcomeRuleView, **PROBLEMS})
    def get(self, request: Request, app: str) -> Response:
        """Return what decides whether an app's runs pass."""
        return Response(_view(app, OutcomeRule.objects.filter(app=app).order_by("-id").first()))

    @extend_schema(
        operation_id="set_outcome_rule",
        parameters=[_APP],
        request=OutcomeRuleRequest,
        responses={200: OutcomeRuleView, **PROBLEMS},
    )
    def put(self, request: Request, app: str) -> Response:
        """Set what decides whether an app's runs pass, and update their outcomes; for many runs, in the background."""
        body = parse_body(OutcomeRuleRequest, request.data)
        if len(app) > NAME_LENGTH or "\x00" in app:
            raise InvalidQuery(f"an app's name has at most {NAME_LENGTH} characters, none of them NUL", where="/app")
        return Response(_view(app, rule_changes.set_rule(app, body.criteria, by=caller_of(request))))


class JudgementNamesView(APIView):
    @extend_schema(
        operation_id="list_judgement_names",
        parameters=[query("app", "Only the runs of this app.")],
        responses={200: JudgementNames, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return the names under which runs are judged, with their sources and the range of their scores."""
        return Response(JudgementNames(names=queries.judgement_names(request.query_params.get("app", ""))))


def _view(app: str, rule: OutcomeRule | None) -> OutcomeRuleView:
    criteria = DEFAULT_CRITERIA if rule is None else queries.criteria_in(rule)
    return OutcomeRuleView(
        app=app,
        thresholds=_thresholds(criteria.thresholds),
        tags={tag: "passed" if passes else "failed" for tag, passes in criteria.tags.items()},
        deciders=[_decider(decider) for decider in criteria.deciders],
        defaults=_thresholds(DEFAULT_THRESHOLDS),
        default_deciders=[_decider(decider) for decider in DEFAULT_DECIDERS],
        by=rule.by if rule else "",
        at=rule.at if rule else None,
        is_applied=rule is None or rule.applied_at is not None,
    )


def _thresholds(bounds: Thresholds) -> dict[str, ThresholdView]:
    return {name: ThresholdView(**asdict(threshold)) for name, threshold in bounds.items()}


def _decider(decider: Decider) -> DeciderView:
    return DeciderView(source=decider.source, name=decider.name)
