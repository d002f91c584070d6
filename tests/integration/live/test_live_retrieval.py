"""Live retrieval in replays, and the use of its documents."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from pytest_django import Settings

from replay.core.errors import ReplayRefusal
from replay.core.plan import Plan
from replay.execution import leases, runner, task_names
from replay.live import retrieval
from replay.models import Attempt, ReplaySession
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from tests.support.queues import capture_tasks
from tests.support.servers import retrieval_stores as stores
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server
from tests.unit.replay.inputs.test_documents import library
from traces.models import Run, Step
from traces.runs.services import record
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
QUERY = {"match": {"step": 1}, "retrieval": {"query": "gift cards"}}
LIVE: Any = {"allow": ["retrieval"], "retries": {"max": 2, "initial_s": 0.01}}
# An endpoint that does not answer: longer than every wait of a test.
HANG_S = 600.0
NOWHERE = {"url": "http://127.0.0.1:9/"}
NEW = [{"id": "n", "content": "Gift cards expire after three years.", "score": 0.7}]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def endpoint(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(lambda exchange: exchange.status(200, {"documents": NEW})) as running:
        settings.RETRIEVERS = {"policies": {"http": {"url": f"{running.base_url}/search"}}}
        yield running


def body(*entries: dict[str, Any], **policy: Any) -> Any:
    run = Run.objects.get(id=record(library()).run_id)
    overrides = {"overrides": list(entries)}
    request: Any = {"run": str(run.id), "overrides": overrides, "policy": {**LIVE, **policy}}
    return prepare.parse(request)


def launch(*entries: dict[str, Any], **policy: Any) -> Any:
    return services.launch(body(*(entries or (QUERY,)), **policy)).id


def replay(*entries: dict[str, Any], **policy: Any) -> SessionView:
    session = launch(*entries, **policy)
    runner.execute(session)
    return queries.session_view(session)


def plan(*entries: dict[str, Any], **policy: Any) -> Plan:
    return services.preview(body(*entries, **policy))


def step(view: SessionView, number: int = 1) -> Step:
    assert view.run is not None
    return Step.objects.get(run_id=view.run, sequence_no=number)


def documents(retrieval_step: Step) -> Any:
    output: Any = artifacts.payload(retrieval_step.output_ref)
    return output["documents"]


def attempts() -> list[tuple[str, str, str, str]]:
    rows = Attempt.objects.order_by("attempt").values_list("kind", "provider", "status", "error_code")
    return list(rows)


def test_searched_documents_reach_the_prompt(endpoint: ProviderServer) -> None:
    view = replay()
    retrieval_step = step(view)
    assert (retrieval_step.label, retrieval_step.reason, retrieval_step.status) == ("simulated", "live_retrieval", "ok")
    assert (retrieval_step.document_count, retrieval_step.detail["retriever"]) == (1, "policies")
    assert documents(retrieval_step) == NEW
    assert "three years" in str(artifacts.payload(step(view, 2).output_ref))
    exchange = endpoint.requests[0]
    assert exchange.body == {"query": "gift cards", "top_k": 3}
    assert exchange.headers["forkpoint-replay"] == str(view.id)
    assert (attempts(), view.live_calls, view.cost_usd) == ([("retrieval", "policies", "succeeded", "")], 1, 0)


def test_recorded_documents_are_reused_by_default(endpoint: ProviderServer) -> None:
    assert replay({"match": {"step": 3}, "output": "yes"}).counts.exact == 2
    assert endpoint.requests == []
    assert step(replay({"match": {"step": 3}, "output": "yes"}, order="reexecute")).reason == "live_retrieval"
    assert endpoint.requests[0].body == {"query": "refund", "top_k": 3}


def test_override_documents_prevent_a_search(endpoint: ProviderServer) -> None:
    override_documents = [{"id": "z", "content": "Given by hand."}]
    entry = {"match": {"step": 1}, "retrieval": {"documents": override_documents, "query": "other"}}
    retrieval_step = step(replay(entry, order="reexecute"))
    assert (retrieval_step.reason, documents(retrieval_step)) == ("simulation_operator_override", override_documents)
    assert endpoint.requests == []


def test_repeated_query_uses_the_cache(endpoint: ProviderServer) -> None:
    replay()
    endpoint.respond = lambda exchange: exchange.status(500)
    assert step(replay()).reason == "cache_hit_signature_match"


def test_changed_settings_repeat_the_search(endpoint: ProviderServer) -> None:
    replay({"match": {"type": "retrieval"}, "retrieval": {"top_k": 9, "filters": {"lang": "en"}}})
    assert endpoint.requests[0].body == {"query": "refund", "top_k": 9, "filters": {"lang": "en"}}


def test_fewer_documents_need_no_search(endpoint: ProviderServer) -> None:
    assert len(documents(step(replay({"match": {"step": 1}, "retrieval": {"top_k": 2}})))) == 2
    assert documents(step(replay({"match": {"step": 1}, "retrieval": {"top_k": 0}}))) == []
    assert endpoint.requests == []


def test_search_for_zero_documents_makes_no_call(endpoint: ProviderServer) -> None:
    retrieval_step = step(replay({"match": {"step": 1}, "retrieval": {"top_k": 0, "query": "other"}}))
    assert (retrieval_step.reason, documents(retrieval_step), endpoint.requests) == ("live_retrieval", [], [])


def test_plan_names_retriever_without_searching(endpoint: ProviderServer) -> None:
    preview = plan(QUERY)
    first = preview.steps[0]
    assert (first.action, first.label, first.reason) == ("live", "simulated", "live_retrieval")
    assert (first.note, first.cost_usd, preview.live_calls) == ("Calls retriever policies", 0.0, 1)
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("retrievers", "says"),
    [
        ({}, "no retriever is configured"),
        ({"other": {"http": NOWHERE}}, "none of the configured retrievers (other) serves “policies”"),
        (
            {"other": {"http": NOWHERE, "serves": ["pol*"], "stores": ["chroma"]}},
            "(other) serves “policies”, whose recording names no store",
        ),
    ],
)
def test_search_without_retriever_is_refused(settings: Settings, retrievers: Any, says: str) -> None:
    settings.RETRIEVERS = retrievers
    refusal = plan(QUERY).refusals[0]
    assert (refusal.code, refusal.where, refusal.step) == ("policy_conflict", "/overrides/overrides/0/retrieval", 1)
    assert says in refusal.detail
    assert plan(QUERY, allow=["model"]).refusals == []  # a placeholder, as the policy says


def test_unknown_embedding_profile_is_refused(settings: Settings) -> None:
    settings.PROVIDERS = {"vectors": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    entry = {"chroma": {"url": "http://127.0.0.1:9", "collection": "c"}, "serves": ["p*"]}
    settings.RETRIEVERS = {"kb": {**entry, "embeddings": {"small": {"provider": "vectors", "model": "s"}}}}
    override = {"match": {"step": 1}, "retrieval": {"embedding_profile": "large"}}
    assert "no embedding profile “large”: it has small" in plan(override).refusals[0].detail
    override["retrieval"] = {"embedding_profile": "small"}
    assert plan(override).refusals == []


def test_recorded_store_selects_the_retriever(endpoint: ProviderServer, settings: Settings) -> None:
    settings.RETRIEVERS = {
        "elsewhere": {"http": {"url": "http://127.0.0.1:9/"}, "stores": ["qdrant"]},
        "here": {"http": {"url": f"{endpoint.base_url}/search"}, "stores": ["chroma*"]},
    }
    run = library()
    attributes: Any = {"attributes": {"db.system.name": "ChromaDB"}}
    run.steps[0].attributes.update(attributes)
    source_run = Run.objects.get(id=record(run).run_id)
    request: Any = {"run": str(source_run.id), "overrides": {"overrides": [QUERY]}, "policy": LIVE}
    assert services.preview(prepare.parse(request)).steps[0].note == "Calls retriever here"


def test_only_retryable_searches_are_repeated(
    endpoint: ProviderServer,
) -> None:
    answers = iter([503, 429])

    def respond(exchange: Exchange) -> None:
        if status := next(answers, None):
            exchange.status(status, retry_after="0")
        else:
            exchange.status(200, {"documents": NEW})

    endpoint.respond = respond
    assert (step(replay()).retries, len(endpoint.requests)) == (2, 3)
    endpoint.respond = lambda exchange: exchange.status(400, {"error": "no such field"})
    view = replay({"match": {"step": 1}, "retrieval": {"query": "another"}})
    assert (view.status, view.error_code) == ("failed_execution", "bad_request")
    assert "no such field" in view.error


def test_crash_repeats_only_open_searches(endpoint: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    session = launch()
    really = retrieval.run

    def dies(*arguments: Any) -> retrieval.SearchResult:
        really(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(retrieval, "run", dies)
    with pytest.raises(KeyboardInterrupt):
        runner.execute(session)
    monkeypatch.setattr(retrieval, "run", really)
    claim = leases.Claim(session_id=session, owner=ReplaySession.objects.get(id=session).owner)
    leases.release(claim)
    runner.execute(session)
    view = queries.session_view(session)
    assert (step(view).reason, len(endpoint.requests)) == ("live_retrieval", 2)
    assert [row[2:] for row in attempts()] == [("failed", "interrupted"), ("succeeded", "")]


def test_search_ends_on_timeout_and_cancel(endpoint: ProviderServer, settings: Settings) -> None:
    settings.RETRIEVERS["policies"]["timeout_s"] = 0.3
    let_go = threading.Event()
    endpoint.respond = lambda exchange: _hang(let_go)
    assert replay(retries={"max": 0}).error_code == "timeout"
    settings.RETRIEVERS["policies"]["timeout_s"] = HANG_S
    session = launch({"match": {"step": 1}, "retrieval": {"query": "another"}})

    def cancels(exchange: Exchange) -> None:
        services.cancel(session)
        connection.close()  # that of the endpoint's thread
        _hang(let_go)

    endpoint.respond = cancels
    runner.execute(session)  # it does not wait for the answer, which never comes
    assert queries.session_view(session).status == "cancelled"
    let_go.set()


def _hang(let_go: threading.Event) -> None:
    let_go.wait(HANG_S)


def test_budget_applies_to_searches(endpoint: ProviderServer) -> None:
    with pytest.raises(ReplayRefusal, match="the budget allows no live calls"):
        replay(budget={"max_live_calls": 0})
    assert replay(budget={"max_live_calls": 1}).live_calls == 1
    assert len(endpoint.requests) == 1


def test_query_embedding_cost_is_counted(settings: Settings) -> None:
    with stores.embeddings_endpoint() as vectors:
        settings.PROVIDERS = {"openai": {"protocol": "openai", "base_url": f"{vectors.base_url}/v1"}}
        embedding = {"provider": "openai", "model": "text-embedding-3-small"}
        settings.RETRIEVERS = {"policies": {**stores.chroma(), "embeddings": {"small": embedding}}}
        assert plan(QUERY).cost_usd == pytest.approx(3 * 0.02e-6)
        view = replay()
    retrieval_step = step(view)
    assert (retrieval_step.tokens_in, retrieval_step.detail["embedding"], retrieval_step.detail["retriever"]) == (
        4,
        "small",
        "policies",
    )
    assert view.cost_usd == pytest.approx(4 * 0.02e-6)
    assert documents(retrieval_step)[0]["id"] == "c"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "give exactly one of `chroma`"),
        ({"http": {"url": "http://a/"}, "embeddings": {"a": {"local": "all-MiniLM-L6-v2"}}}, "omit `embeddings`"),
        ({"chroma": {"url": "http://a/", "collection": "c"}}, "`embeddings` is empty"),
        ({"chroma": {"url": "http://a/", "collection": "c"}, "embeddings": {"a": {"engine": "x"}}}, "only Qdrant"),
        ({"chroma": {"url": "http://a/", "collection": "c"}, "embeddings": {"a": {}}}, ".embeddings.a"),
        (
            {"chroma": {"url": "http://a/", "collection": "c"}, "embeddings": {"a": {"provider": "x", "model": "y"}}},
            "is “x”, which is not a configured provider",
        ),
        ({"pgvector": {"table": "t"}, "embeddings": {"a": {"local": "all-MiniLM-L6-v2"}}}, ".pgvector.url_env"),
        ({"http": {"url": "http://a/"}, "embedding": "b"}, "which `embeddings` does not define"),
    ],
)
def test_configuration_errors_fail_at_start(settings: Settings, entry: Any, says: str) -> None:
    settings.RETRIEVERS = {"kb": entry}
    with pytest.raises(ImproperlyConfigured) as mistake:
        retrieval.configured_retrievers()
    assert "FORKPOINT_RETRIEVERS.kb" in str(mistake.value)
    assert says in str(mistake.value)
