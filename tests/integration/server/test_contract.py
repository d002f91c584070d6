"""The interface against its own description: whatever is sent, answers are as published, and no error is ours."""

from typing import Any, Final

import hypothesis
import pytest
import schemathesis
from django.core.cache import cache
from hypothesis import HealthCheck, Phase
from schemathesis import checks
from schemathesis.core.result import Ok

from cockpit.wsgi import application
from diffing import services
from diffing.schemas.report import DiffOptions
from replay.execution import task_names
from tests.support.comparing import failing_refund, fixed_refund
from tests.support.queues import capture_tasks
from tests.support.stored_diffs import store_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
EXAMPLES: Final = 1  # of each: enough for what is declared; a longer look is `schemathesis run`
AS_TEXT: Final = "/api/v1/tools.yaml"  # described as the text that it is, and read as YAML by the checks
CHECKS: Final = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
IN_A_PROBLEM: Final = {"code", "detail", "where", "retryable", "request_id", "status"}


@pytest.fixture(autouse=True)
def _something_there(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(
        monkeypatch, task_names.EXECUTE, task_names.COMPARE, task_names.PROVE, task_names.SIGN_CALLS, task_names.TRY_OUT
    )
    base, candidate = store_run(failing_refund()), store_run(fixed_refund())
    services.diff(base_id=base.id, candidate_id=candidate.id, options=DiffOptions(similarity="lexical"))


def test_every_operation_answers_as_it_is_described() -> None:
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema", application, headers={"Accept": "application/json"})
    for found in schema.exclude(path=AS_TEXT).get_all_operations():
        assert isinstance(found, Ok), found
        _try(found.ok())


def _try(operation: Any) -> None:
    @hypothesis.given(operation.as_strategy())
    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def holds(case: Any) -> None:
        cache.clear()
        answer = case.call()
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            problem = answer.json()
            assert problem.keys() >= IN_A_PROBLEM, problem
            assert problem["status"] == answer.status_code

    holds()
