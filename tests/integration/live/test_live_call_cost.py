"""What a live call costs besides the call itself."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from replay.execution import runner, task_names
from replay.live import providers
from replay.overrides.policy import Policy
from replay.overrides.profile import Match, ModelOverride, Override, OverrideProfile
from replay.sessions import services
from replay.sessions.schemas import ReplayRequest
from tests.bench.recordings import questions
from tests.support.queues import capture_tasks
from tests.support.servers.provider_server import openai_text, provider_server
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
# Statements that read and write rows, for one live call; the intent, the outcome and the step are three transactions.
MOST_STATEMENTS = 12


@pytest.fixture(autouse=True)
def _server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    with provider_server(openai_text("Your order ", "is late.")) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield
        providers.close()


def statements_of(calls: int) -> int:
    """Number of statements for a replay of this many questions, all asked live."""
    run = record(questions(calls, f"questions-{calls}")).run_id
    override = Override(match=Match(type="model"), model=ModelOverride(provider="desk", model="m"))
    profile, policy = OverrideProfile(overrides=[override]), Policy(order="reexecute")
    session = services.launch(ReplayRequest(run=str(run), overrides=profile, policy=policy))
    with CaptureQueriesContext(connection) as queries:
        runner.execute(session.id)
    session.refresh_from_db()
    assert session.live_calls == calls
    kinds = ("SELECT", "INSERT", "UPDATE", "DELETE", "COPY")
    return sum(query["sql"].lstrip().startswith(kinds) for query in queries.captured_queries)


def test_live_call_takes_few_statements() -> None:
    assert (statements_of(12) - statements_of(2)) / 10 <= MOST_STATEMENTS
