"""The API against its own schema: any request gets a response as published, and never a server error."""

from typing import Any, Final

import hypothesis
import pytest
import schemathesis
from django.core.cache import cache
from django.test import Client
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
from traces.http.idempotency import HEADER

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
# One example per operation covers what the schema declares. Run `schemathesis run` for more.
EXAMPLES: Final = 1
# Described as text, but the checks parse it as YAML.
TEXT_PATH: Final = "/api/v1/tools.yaml"
CHECKS: Final = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
schemathesis.serializer.alias("application/x-ndjson", "text/plain")
PROBLEM_FIELDS: Final = {"code", "detail", "where", "retryable", "request_id", "status"}


@pytest.fixture(autouse=True)
def _stored_data(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(
        monkeypatch, task_names.EXECUTE, task_names.COMPARE, task_names.PROVE, task_names.SIGN_CALLS, task_names.TRY_OUT
    )
    base, candidate = store_run(failing_refund()), store_run(fixed_refund())
    services.diff(base_id=base.id, candidate_id=candidate.id, options=DiffOptions(similarity="lexical"))


def test_every_operation_matches_its_schema() -> None:
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema", application, headers={"Accept": "application/json"})
    for result in schema.exclude(path=TEXT_PATH).get_all_operations():
        assert isinstance(result, Ok), result
        _check(result.ok())


def test_every_post_that_creates_takes_an_idempotency_key() -> None:
    paths = Client().get("/api/v1/schema", headers={"Accept": "application/json"}).json()["paths"]
    posts = {path: methods["post"] for path, methods in paths.items() if "post" in methods}
    creating_posts = {path: post for path, post in posts.items() if "201" in post["responses"]}
    assert len(creating_posts) > 15
    names = {path: {item["name"] for item in post.get("parameters", [])} for path, post in creating_posts.items()}
    assert [path for path in names if HEADER not in names[path]] == []


def _check(operation: Any) -> None:
    @hypothesis.given(operation.as_strategy())
    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check_contract(case: Any) -> None:
        cache.clear()
        # Without compression, which the client of WSGI applications offers and does not decode.
        answer = case.call(headers={"Accept-Encoding": "identity"})
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            problem = answer.json()
            assert problem.keys() >= PROBLEM_FIELDS, problem
            assert problem["status"] == answer.status_code

    check_contract()
