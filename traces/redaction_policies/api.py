"""REST endpoints of redaction policies."""

from typing import Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.http.bodies import InvalidBody, parse_body
from traces.http.responses import PROBLEMS, caller_of, query
from traces.models import RedactionPolicy
from traces.redaction import personal_data
from traces.redaction.policy import PersonalData, PolicyContent, combine
from traces.redaction.secret_rules import secret_rules
from traces.redaction_policies import reasons, services
from traces.redaction_policies.schemas import (
    RedactionKind,
    RedactionMark,
    RedactionPolicyHistory,
    RedactionPolicyList,
    RedactionPolicyRequest,
    RedactionPolicyView,
    RedactionTrialRequest,
    RedactionTrialView,
)

_APP: Final = query("app", "The app's name; empty: the policy of all apps.")


class RedactionPoliciesView(APIView):
    @extend_schema(operation_id="list_redaction_policies", responses={200: RedactionPolicyList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """Return the current policies of all apps, and what detectors find."""
        return Response(
            RedactionPolicyList(
                policies=[_view(row) for row in services.newest_versions()],
                personal_data=list(PersonalData),
                personal_data_available=personal_data.is_available(),
                secrets=[RedactionKind(kind=rule.kind, title=rule.title) for rule in secret_rules()],
            )
        )

    @extend_schema(
        operation_id="set_redaction_policy",
        request=RedactionPolicyRequest,
        responses={200: RedactionPolicyView, **PROBLEMS},
    )
    def put(self, request: Request) -> Response:
        """Store the next version of a policy. It applies to what arrives from now on."""
        body = parse_body(RedactionPolicyRequest, request.data)
        return Response(_view(services.set_policy(body.app, _content(body), by=caller_of(request))))


class RedactionHistoryView(APIView):
    @extend_schema(
        operation_id="list_redaction_policy_versions",
        parameters=[_APP],
        responses={200: RedactionPolicyHistory, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return every version of a policy: what it was, who stored it, and when."""
        rows = services.versions(request.query_params.get("app", services.ALL_APPS))
        return Response(RedactionPolicyHistory(versions=[_view(row) for row in rows]))


class RedactionTrialEndpoint(APIView):
    @extend_schema(
        operation_id="try_redaction_policy",
        request=RedactionTrialRequest,
        responses={200: RedactionTrialView, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Apply a draft to a sample. Nothing is stored."""
        return Response(_try(parse_body(RedactionTrialRequest, request.data)))


def _content(body: RedactionPolicyRequest) -> PolicyContent:
    if body.personal_data and not personal_data.is_available():
        raise InvalidBody(str(personal_data.LibraryMissing()), where="/personal_data")
    return PolicyContent(secrets=body.secrets, personal_data=body.personal_data, rules=body.rules)


def _try(body: RedactionTrialRequest) -> RedactionTrialView:
    draft = _content(body)
    general = [services.content_of(row) for row in services.newest_versions([services.ALL_APPS])] if body.app else []
    redactor = services.build(combine([*general, draft])).redactor()
    result = redactor.field(None if body.field == "metadata" else body.step_type, body.field, body.sample)
    titles = reasons.reasons(body.app, result) | {
        rule.name: rule.reason or f"The rule {rule.name} of this draft" for rule in draft.rules
    }
    marks = [RedactionMark(path=path, kind=kind, reason=titles[kind]) for path, kind in reasons.marks(result)]
    return RedactionTrialView(result=result, marks=marks, failure="; ".join(redactor.failures))


def _view(row: RedactionPolicy) -> RedactionPolicyView:
    content = services.content_of(row)
    return RedactionPolicyView(app=row.app, version=row.version, by=row.by, at=row.at, **dict(content))
