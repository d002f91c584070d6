"""A run as a conversation: each message once, in pages, with the beginnings of its texts."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.support import arriving_events
from tests.support.assembler_time import let_pass
from tests.support.lost_artifacts import lose
from tests.support.recordings import (
    SYSTEM,
    assistant,
    assistant_call,
    conversation,
    model_step,
    order_run,
    tool_message,
    user,
)
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.models import Run, Step
from traces.recordings import arrivals
from traces.recordings.arrivals import NewSegment
from traces.runs import services
from traces.storage import artifacts
from traces.transcripts.request_tails import Tail, message_digests

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
CALL = assistant_call("call-1", "A-1")


def read(client: Client, run: Any, **query: str) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run}/transcript", query)
    assert answer.status_code == 200, answer.content
    transcript: dict[str, Any] = answer.json()
    return transcript


def store(*steps: RecordedStep, external_id: str = "r") -> Any:
    recording = RecordedRun(external_id=external_id, name="", app="desk", format="test", steps=steps)
    return services.record(recording).run_id


def shown_texts(transcript: dict[str, Any]) -> list[tuple[int, str, str]]:
    """Step, role and text of all turns, in reading order."""
    return [
        (step["sequence_no"], turn["role"], turn["text"]["text"])
        for step in transcript["steps"]
        for turn in [*step["incoming"], *([step["content"]] if step["content"] else [])]
    ]


def test_each_message_is_shown_once(client: Client) -> None:
    run = services.record(order_run()).run_id
    transcript = read(client, run)
    assert shown_texts(transcript) == [
        (1, "user", "Where is my order A-1042?"),
        (2, "system", SYSTEM["content"]),
        (2, "user", "Where is my order A-1042?"),
        (2, "assistant", ""),
        (3, "", '{"carrier": "Northwind Parcels", "order_id": "A-1042", "status": "shipped"}'),
        (4, "assistant", "Your order A-1042 has been shipped with Northwind Parcels."),
        (5, "", "Your order A-1042 has been shipped with Northwind Parcels."),
    ]
    calls = transcript["steps"][1]["content"]["calls"]
    assert [(call["name"], call["arguments"]["text"]) for call in calls] == [("get_order", '{"order_id": "A-1042"}')]
    assert [step["repeats"] for step in transcript["steps"]] == [None, None, None, None, 4]


def test_pages_of_a_long_conversation(client: Client) -> None:
    run = services.record(conversation(60)).run_id
    whole = shown_texts(read(client, run, limit="200"))
    pages, after = [], 0
    while after is not None:
        page = read(client, run, after=str(after), limit="40")
        pages += shown_texts(page)
        after = page["next"]
    assert pages == whole
    questions = [text for _, role, text in whole if role == "user"]
    assert len(questions) == 60
    assert len(set(questions)) == 60


def test_shortened_history_is_not_repeated(client: Client) -> None:
    history: list[JSONValue] = [SYSTEM, user("First question?")]
    repeated: list[JSONValue] = [*history, CALL, tool_message("call-1", "shipped")]
    # The recorder drops a field when it repeats the call, and the system prompt changes with each call.
    shortened: list[JSONValue] = [
        {"role": "system", "content": "Another prompt."},
        {**CALL, "content": ""},
        tool_message("call-1", "shipped"),
        assistant("It is on its way."),
        user("Second question?"),
    ]
    run = store(
        model_step("a", history, CALL),
        model_step("b", repeated, assistant("It is on its way.")),
        model_step("c", shortened, assistant("Yes.")),
    )
    assert shown_texts(read(client, run)) == [
        (1, "system", SYSTEM["content"]),
        (1, "user", "First question?"),
        (1, "assistant", ""),
        (2, "tool", "shipped"),
        (2, "assistant", "It is on its way."),
        (3, "system", "Another prompt."),
        (3, "user", "Second question?"),
        (3, "assistant", "Yes."),
    ]


def test_recording_run_shows_each_message_once(client: Client) -> None:
    question = {"role": "user", "content": "Where is my order?"}
    call = {"id": "c1", "name": "get_order", "arguments": {"id": "A-1"}}
    calling = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": '{"status": "sent", "carrier": "Northwind"}'}
    reply = {"role": "assistant", "content": "It is on its way."}
    requests: list[list[object]] = [
        [question],
        [question, calling, result],
        [question, calling, result, reply, {"role": "user", "content": "It is on its way."}],
    ]
    answers = [calling, reply, {"role": "assistant", "content": "Yes."}]
    event = partial(arriving_events.event, "live")
    sent = [event(0, "run_started", name="order status", app_id="desk")]
    for number, (messages, answer) in enumerate(zip(requests, answers, strict=True)):
        request = {"messages": messages}
        step = f"m{number}"
        sent += [
            event(4 * number + 1, "model_called", step, provider="openai", model_id="m1", request=request),
            event(4 * number + 2, "model_result", step, response={"message": answer}),
        ]
        if number == 0:
            output = {"carrier": "Northwind", "status": "sent"}
            sent += [
                event(3, "tool_called", "t", tool_name="get_order", args={"id": "A-1"}),
                event(4, "tool_result", "t", result=output),
            ]
    arrivals.accept([NewSegment(external_id="live", format="forkpoint", data=arriving_events.lines(sent))])
    let_pass(1)
    run = Run.objects.get()
    assert run.sealed_at is None
    assert shown_texts(read(client, run.id)) == [
        (1, "user", "Where is my order?"),
        (1, "assistant", ""),
        (2, "", '{"carrier": "Northwind", "status": "sent"}'),
        (3, "assistant", "It is on its way."),
        (4, "user", "It is on its way."),
        (4, "assistant", "Yes."),
    ]


def test_lost_and_missing_payloads_are_stated(client: Client) -> None:
    run = store(
        model_step("a", [SYSTEM, user("Where is it?")], assistant("Here.")),
        RecordedStep(key="b", type=StepType.TOOL, name="get_order", tool_name="get_order", error="timed out"),
    )
    step = Step.objects.get(run=run, sequence_no=1)
    (question,) = message_digests({1: Tail(step.input_ref, 1)}, artifacts.load)[1]
    lose(question, "deleted")
    lose(step.output_ref, "flipped")
    model, tool = read(client, run)["steps"]
    assert [turn["role"] for turn in model["incoming"]] == ["system", "unavailable"]
    assert question in model["incoming"][1]["text"]["text"]
    assert model["content"] is None
    assert model["losses"] == [{"field": "output", "loss": "damaged", "digest": step.output_ref}]
    assert (tool["content"], tool["error"]["text"], tool["losses"]) == (None, "timed out", [])


def test_texts_are_cut_and_long_requests_too(client: Client) -> None:
    messages: list[JSONValue] = [user(f"{index} " + "word " * 2_000) for index in range(130)]
    run = store(model_step("a", messages, assistant("x" * 4_000)))
    (step,) = read(client, run, length="50")["steps"]
    assert (len(step["incoming"]), step["more_incoming"]) == (100, 30)
    assert step["incoming"][0]["text"] == {"text": ("0 " + "word " * 10)[:50], "length": 10_002}
    assert step["content"]["text"] == {"text": "x" * 50, "length": 4_000}
    (whole,) = read(client, run, length="100000")["steps"]
    assert len(whole["content"]["text"]["text"]) == 4_000


def test_reasons_of_markers_are_listed(client: Client) -> None:
    recording = order_run()
    steps = tuple(
        replace(step, output={"text": "Call [redacted:email:0123456789abcdef]"}) if step.key == "out" else step
        for step in recording.steps
    )
    run = services.record(replace(recording, steps=steps)).run_id
    assert list(read(client, run)["redactions"]) == ["email"]


def test_query_count_does_not_grow_with_outputs(client: Client) -> None:
    def queries(turns: int) -> int:
        steps = [
            step
            for number in range(turns)
            for step in (
                model_step(f"m{number}", [user(f"Question {number}?")], assistant(f"Answer {number}.")),
                RecordedStep(
                    key=f"o{number}", type=StepType.OUTPUT, name="reply", output={"text": f"Answer {number}."}
                ),
            )
        ]
        run = store(*steps, external_id=f"{turns} turns")
        first = read(client, run)
        with CaptureQueriesContext(connection) as queries:
            assert read(client, run) == first
        assert [step["repeats"] for step in first["steps"]] == [
            None if number % 2 else number - 1 for number in range(1, 2 * turns + 1)
        ]
        return len(queries)

    assert queries(9) == queries(2)


def test_output_repeats_the_answer_of_an_earlier_page(client: Client) -> None:
    run = services.record(order_run()).run_id
    (step,) = read(client, run, after="4")["steps"]
    assert (step["sequence_no"], step["repeats"]) == (5, 4)
