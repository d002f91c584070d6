"""Replays with live calls to a model server over HTTP."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from replay.core.errors import ReplayRefusal, SessionConflict
from replay.execution import runner, task_names
from replay.live import providers
from replay.models import Attempt, ReplaySession, SessionMessage
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import OperatorAnswer, SessionView
from replay.tool_review import services as tool_review_services
from tests.support.queues import capture_tasks
from tests.support.replay_runs import ORDERS, order_desk
from tests.support.servers.provider_server import Exchange, ProviderServer, openai_chunk, provider_server
from traces.errors import NotFound, ProblemError
from traces.http.idempotency import Key, KeyConflict
from traces.models import Run, Step
from traces.runs.services import record
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
Answer = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def says(text: str) -> dict[str, Any]:
    return {"content": text}


def calls(*requested_calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "tool_calls": [
            {
                "index": at,
                "id": f"live_{at}_{name}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for at, (name, arguments) in enumerate(requested_calls)
        ]
    }


def model(answer: Answer) -> Callable[[Exchange], None]:
    """Start a model that answers each request with one message."""

    def respond(exchange: Exchange) -> None:
        delta = answer(exchange.body)
        reason = "tool_calls" if "tool_calls" in delta else "stop"
        exchange.stream()
        exchange.send(openai_chunk({"role": "assistant", **delta}))
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        exchange.send(openai_chunk(finish=reason, usage=usage))
        exchange.send("[DONE]")

    return respond


@pytest.fixture
def server(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(model(lambda body: says("a live answer"))) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield running
        providers.close()


def replay(run: Run, fork: int | None = None, *entries: dict[str, Any], **policy: Any) -> SessionView:
    body: Any = {"run": str(run.id), "fork_step": fork, "overrides": {"overrides": list(entries)}, "policy": policy}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    return queries.session_view(session.id)


def steps(view: SessionView) -> list[Step]:
    assert view.run is not None
    return list(Step.objects.filter(run_id=view.run).order_by("sequence_no"))


def derived(view: SessionView) -> Run:
    assert view.run is not None
    return Run.objects.get(id=view.run)


def labels(view: SessionView) -> list[str]:
    return [f"{step.sequence_no} {step.tool_name or step.type} {step.label} {step.reason}" for step in steps(view)]


def record_desk(**options: Any) -> Run:
    return Run.objects.get(id=record(order_desk(**options)).run_id)


MATCHES_NOTHING = "override_matches_nothing"
PLACE = "/overrides/overrides/0"
WRONG = {"match": {"step": 4}, "tool": {"output": {"status": "not found"}}}


def test_unchanged_replay_is_exact(server: ProviderServer) -> None:
    view = replay(record_desk())
    assert view.status == "completed_exact"
    assert (view.counts.exact, view.resolved_steps, server.requests) == (10, 10, [])
    assert {step.reason for step in steps(view)} == {"source_output_reused"}


def test_changed_output_reaches_only_its_consumers(server: ProviderServer) -> None:
    run = record_desk()
    before = list(Step.objects.filter(run=run).values())
    view = replay(run, 3, WRONG)
    assert labels(view) == [
        "1 agent simulated derived",
        "2 turn simulated derived",
        "3 model exact source_output_reused",
        "4 get_order simulated simulation_operator_override",
        "5 model simulated live_model_call",
        "6 turn simulated derived",
        "7 model simulated live_model_call",
        "8 output simulated live_model_call",
    ]
    assert list(Step.objects.filter(run=run).values()) == before
    assert view.unused_calls == [6]
    messages = server.requests[0].body["messages"]
    assert messages[-1] == {"role": "tool", "content": '{"status": "not found"}', "tool_call_id": "call_turn1.0"}
    assert server.requests[1].body["messages"][-2:] == [
        {"role": "assistant", "content": "a live answer"},
        {"role": "user", "content": "Thank you, that is all."},
    ]


def answers(server: ProviderServer, *messages: dict[str, Any]) -> None:
    """Let the model answer with these messages in turn, then repeat the last."""
    waiting = list(messages)
    server.respond = model(lambda body: waiting.pop(0) if len(waiting) > 1 else waiting[0])


def test_new_call_ids_change_nothing(server: ProviderServer) -> None:
    answers(server, calls(("search_policy", {"query": "what happens with lost parcels"})))
    view = replay(record_desk(), 3, {"match": {"step": 5}, "model": {"temperature": 0.5}})
    assert labels(view)[4:8] == [
        "5 model simulated live_model_call",
        "6 search_policy exact source_output_reused",
        "7 model exact source_output_reused",
        "8 turn exact source_output_reused",
    ]
    assert (len(server.requests), view.status, view.unused_calls) == (1, "completed_mixed", [])


def test_reworded_call_is_a_semantic_hit(server: ProviderServer) -> None:
    answers(server, calls(("search_policy", {"query": "what happens with a lost parcel"})), says("refund"))
    view = replay(record_desk(), 3, WRONG)
    step = steps(view)[5]
    assert (step.label, step.reason, step.tool_name) == ("cached", "cache_hit_semantic_match", "search_policy")
    assert step.detail["matched"]["step"] == 6
    assert 0.85 <= step.detail["matched"]["similarity"] < 1
    assert view.unused_calls == []


def test_unanswerable_new_call_is_blocked(server: ProviderServer) -> None:
    tool_review_services.decide({"get_weather": True}, author="ada")
    answers(server, calls(("send_email", {"to": "a@example.com"}), ("get_weather", {"city": "Oslo"})), says("done"))
    view = replay(record_desk(), 3, WRONG)
    email, weather = steps(view)[5:7]
    assert (email.reason, weather.reason) == ("side_effect_blocked", "simulation_policy_fallback")
    assert email.detail["divergence"] == "new"
    tool_message = server.requests[1].body["messages"][-2]
    assert tool_message["content"] == "[Forkpoint] Tool 'send_email' blocked (side effect, no cache available)"
    assert view.unused_calls == [6]


def test_duplicate_call_in_turn_is_suppressed(server: ProviderServer) -> None:
    answers(server, calls(("get_order", {"order_id": "A-1"})), says("done"))
    view = replay(record_desk(), 5, {"match": {"step": 5}, "model": {"temperature": 1}})
    step = steps(view)[5]
    assert (step.status, step.reason, step.detail["duplicate_of"]) == ("denied", "duplicate_suppressed", 4)


def test_loop_continues_up_to_turn_limit(server: ProviderServer) -> None:
    count = iter(range(100))
    server.respond = model(lambda body: calls(("get_order", {"order_id": f"A-{next(count)}"})))
    view = replay(record_desk(), 3, WRONG, max_turns=4)
    # the recorded one, and four live
    assert len([step for step in steps(view) if step.type == "model" and step.parent_no == 2]) == 5
    assert any("turn limit" in text for text in view.divergences)


def test_operator_answer_ends_the_loop(server: ProviderServer) -> None:
    view = replay(record_desk(), 3, {"match": {"step": 3}, "output": "I cannot look that up."})
    assert labels(view)[2] == "3 model simulated simulation_operator_override"
    assert view.unused_calls == [4, 6]
    assert server.requests[0].body["messages"][2]["content"] == "I cannot look that up."
    turn = steps(view)[1]  # which was open at the fork
    assert turn.detail["derived_from"] == [3]
    assert artifacts.payload(turn.output_ref) == {"message": {"role": "assistant", "content": "I cannot look that up."}}


def test_repeated_fork_uses_the_cache(server: ProviderServer) -> None:
    run = record_desk()
    replay(run, 3, WRONG)
    view = replay(run, 3, WRONG)
    assert [step.reason for step in steps(view) if step.type == "model"][1:] == ["cache_hit_signature_match"] * 2
    assert len(server.requests) == 2


def test_override_equal_to_recording_changes_nothing(server: ProviderServer) -> None:
    view = replay(
        record_desk(),
        1,
        {"match": {"type": "model"}, "model": {"model": "m1", "temperature": 0}},
        {"match": {"step": 4}, "tool": {"output": ORDERS["A-1"]}},
    )
    assert (view.status, server.requests) == ("completed_exact", [])


def test_failing_call_stores_every_attempt(server: ProviderServer) -> None:
    good = server.respond

    def respond(exchange: Exchange) -> None:
        if len(server.requests) == 1:
            exchange.status(429, {"error": {"message": "slow down"}}, **{"retry-after": "0"})
        else:
            good(exchange)

    server.respond = respond
    view = replay(record_desk(), 9, {"match": {"type": "model"}, "prompt": {"system": "Be brief."}})
    attempts = list(Attempt.objects.order_by("id").values_list("sequence_no", "attempt", "status"))
    assert attempts == [(9, 1, "failed"), (9, 2, "succeeded")]
    assert (steps(view)[8].retries, view.live_calls) == (1, 1)


def test_final_error_fails_session_at_step(server: ProviderServer) -> None:
    server.respond = lambda exchange: exchange.status(401, {"error": {"message": "no"}})
    view = replay(record_desk(), 3, WRONG)
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", "auth", 5)
    assert len(server.requests) == 1
    assert (steps(view)[-1].sequence_no, steps(view)[-1].status) == (5, "error")
    assert [step.status for step in steps(view)[:2]] == ["error", "error"]
    assert derived(view).status == "failed"


@pytest.mark.parametrize(
    ("budget", "code", "call_count"),
    [
        ({"max_live_calls": 1}, "budget_live_calls", 1),
        ({"max_steps": 4}, "budget_steps", 0),  # no answer is asked for that there is no room for
        ({"deadline_s": 1e-6}, "budget_deadline", 0),
    ],
)
def test_budget_stops_the_session(server: ProviderServer, budget: dict[str, Any], code: str, call_count: int) -> None:
    view = replay(record_desk(), 3, WRONG, budget=budget)
    assert (view.status, view.error_code, len(server.requests)) == ("failed_execution", code, call_count)


def test_strict_replay_refuses_simulation(server: ProviderServer) -> None:
    view = replay(record_desk(), 3, WRONG, strict=True)
    assert (view.status, view.error_code, view.error_sequence_no, view.run) == ("failed_validation", "strict", 4, None)


def test_fail_fallback_stops_the_session(server: ProviderServer) -> None:
    tool_review_services.decide({"get_weather": True}, author="ada")
    answers(server, calls(("get_weather", {"city": "Oslo"})), says("done"))
    view = replay(record_desk(), 3, WRONG, fallback="fail")
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", "fallback_refused", 6)


@pytest.mark.parametrize("status", ["ok", "denied"])
def test_session_resumes_with_operator_answer(server: ProviderServer, status: Any) -> None:
    answers(server, calls(("send_email", {"to": "a@example.com"})), says("done"))
    view = replay(record_desk(), 3, WRONG, tools={"ask": ["send_*"]})
    assert view.status == "awaiting_operator"
    assert view.question is not None
    assert (view.question.sequence_no, view.question.arguments) == (6, {"to": "a@example.com"})
    operator_answer = OperatorAnswer(sequence_no=6, action="answer", output="sent", status=status)
    assert [services.answer(view.id, operator_answer).status for _ in range(2)] == ["pending", "pending"]
    with pytest.raises(SessionConflict, match="does not wait for an answer"):
        services.answer(view.id, OperatorAnswer(sequence_no=6, action="answer", output="lost"))
    runner.execute(view.id)
    view = queries.session_view(view.id)
    assert view.status == "completed_mixed"
    assert (steps(view)[5].reason, steps(view)[5].status) == ("simulation_operator_override", status)
    assert len(server.requests) == 3
    assert server.requests[1].body["messages"][-1]["content"] == "sent"


def test_cancel_takes_effect_before_the_next_call(server: ProviderServer) -> None:
    def respond(exchange: Exchange) -> None:
        services.cancel(ReplaySession.objects.get().id)
        connection.close()  # of the server's thread
        model(lambda body: calls(("get_order", {"order_id": "A-1"})))(exchange)

    server.respond = respond
    view = replay(record_desk(), 3, WRONG)
    assert (view.status, len(server.requests)) == ("cancelled", 1)
    assert derived(view).sealed_at is not None


def test_cancelled_replay_asks_no_question(server: ProviderServer) -> None:
    def respond(exchange: Exchange) -> None:
        services.cancel(ReplaySession.objects.get().id)
        connection.close()  # of the server's thread
        model(lambda body: calls(("send_email", {"to": "a@example.com"})))(exchange)

    server.respond = respond
    view = replay(record_desk(), 3, WRONG, tools={"ask": ["send_*"]})
    assert (view.status, view.question) == ("cancelled", None)


def test_messages_are_read_once_in_order(server: ProviderServer) -> None:
    view = replay(record_desk(), 3, WRONG)
    all_messages = queries.messages_after(view.id, 0)
    assert [message.seq for message in all_messages] == sorted({message.seq for message in all_messages})
    assert {message.type for message in all_messages} == {"session", "steps", "text", "attempt"}
    assert all_messages[-1].type == "session"
    assert queries.messages_after(view.id, all_messages[-1].seq) == []
    text = "".join(message.text for message in all_messages if message.type == "text" and message.sequence_no == 5)
    assert text == "a live answer"
    assert SessionMessage.objects.filter(session=view.id).count() == ReplaySession.objects.get().last_seq


def test_idempotency_key_starts_one_session(server: ProviderServer) -> None:
    request = prepare.parse({"run": str(record_desk().id)})
    key = Key(text="key-1", caller="ada")
    first = services.launch(request, key)
    assert services.launch(request, key).id == first.id
    with pytest.raises(KeyConflict):
        services.launch(prepare.parse({"run": "last", "fork_step": 2}), key)
    assert services.launch(request, key._replace(caller="bob")).id != first.id, "it is a key of hers"


@pytest.mark.parametrize(
    ("entry", "code", "location"),
    [
        ({"match": {"step": 2}, "output": "x"}, "override_before_fork", PLACE + "/match/step"),
        (
            {"match": {"type": "retrieval"}, "retrieval": {"top_k": 1}},
            MATCHES_NOTHING,
            PLACE + "/match",
        ),
        ({"match": {"step": 5}, "tool": {"output": 1}}, MATCHES_NOTHING, PLACE + "/tool"),
        (
            {"match": {"step": 4}, "tool": {"output": 1}, "output": 2},
            "override_conflict",
            PLACE + "/tool",
        ),
        (
            {"match": {"step": 5}, "messages": [{"op": "delete", "index": 40}]},
            MATCHES_NOTHING,
            PLACE + "/messages/0/index",
        ),
        (
            {"match": {"step": 5}, "model": {"provider": "nobody"}},
            "policy_conflict",
            PLACE + "/model/provider",
        ),
        ({"match": {"step": 5}, "delete": True}, "structural_change", PLACE + "/delete"),
    ],
)
def test_preflight_refusal_has_code_and_location(server: ProviderServer, entry: Any, code: str, location: str) -> None:
    with pytest.raises(ProblemError) as error_info:
        replay(record_desk(), 3, entry)
    assert (error_info.value.code, error_info.value.where) == (code, location)
    assert not ReplaySession.objects.exists()


def test_unknown_fork_step_is_not_found(server: ProviderServer) -> None:
    with pytest.raises(NotFound) as missing:
        replay(record_desk(), 99)
    assert missing.value.where == "/fork_step"


def test_finished_replay_has_its_diff(server: ProviderServer) -> None:
    view = replay(record_desk(), 3, WRONG)
    runner.compare(view.id)
    assert queries.session_view(view.id).diff is not None


def test_blocked_source_is_refused(server: ProviderServer) -> None:
    run = Run.objects.get(id=record(dataclasses.replace(order_desk(), metadata={"redaction": "blocked"})).run_id)
    with pytest.raises(ReplayRefusal) as error_info:
        replay(run)
    assert error_info.value.code == "privacy_blocked"
