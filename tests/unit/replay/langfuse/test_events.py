"""Events for Langfuse: an exported run parses back to the same run, in any order of batches."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.langfuse.core import events
from replay.langfuse.core.events import RunFacts, StepFacts
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.tracing import langfuse

NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
RUN = RunFacts(
    id=UUID(int=1),
    name="Is Dune in stock?",
    app="shop",
    status="completed",
    sealed_at=NOON + timedelta(hours=1),
    source="import",
    environment="staging",
    session="s-1",
    started_at=NOON,
    input="Is Dune in stock?",
    output="Three copies.",
    tags=["demo"],
    metadata={"shelf": 4},
)
CALL: dict[str, Any] = {"id": "c-1", "name": "find_book", "arguments": {"title": "Dune"}}
REQUEST: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "Is Dune in stock?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "no", "tool_call_id": "c-1"},
    ],
    "tools": [{"name": "find_book", "parameters": {"type": "object"}}],
    "parameters": {"temperature": 0.5, "stop": ["END"], "logit_bias": {"5": 1}},
}
ANSWER: dict[str, Any] = {
    "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
    "finish_reason": "tool_calls",
}
SAME = (
    "type",
    "name",
    "status",
    "error",
    "output",
    "model",
    "tool_name",
    "call_id",
    "tokens_in",
    "tokens_out",
    "retries",
)
PAYLOADS: dict[StepType, tuple[Any, Any]] = {
    StepType.MODEL: (REQUEST, ANSWER),
    StepType.TOOL: ({"title": "Dune"}, ""),
    StepType.RETRIEVAL: ({"query": "Dune", "top_k": 2}, {"documents": [{"id": "d", "content": "Dune."}]}),
    StepType.AGENT: ({"task": "look"}, {"text": "done"}),
}


@st.composite
def steps(draw: st.DrawFn) -> list[StepFacts]:
    facts: list[StepFacts] = []
    for no in range(1, draw(st.integers(1, 6)) + 1):
        type = draw(st.sampled_from(StepType))
        is_model, is_tool = type is StepType.MODEL, type is StepType.TOOL
        counts = st.none() | st.integers(0, 9_000)
        input, output = PAYLOADS.get(type, ({"asked": no}, {"said": no}))
        status = draw(st.sampled_from([item for item in StepStatus if item is not StepStatus.RUNNING]))
        facts.append(
            StepFacts(
                id=UUID(int=100 + no),
                no=no,
                type=type,
                status=status,
                label="live",
                name=draw(st.sampled_from(["plan the work", "find_book", "x"])),
                parent=draw(st.sampled_from([None, *(item.id for item in facts)])),
                # the steps of a replay have the times of two runs
                started_at=draw(st.none() | st.integers(-9, 9).map(lambda s: NOON + timedelta(seconds=s))),
                duration_ms=draw(st.none() | st.integers(0, 5_000)),
                input=draw(st.sampled_from([input, None])),
                output=draw(st.sampled_from([output, None])),
                error=draw(st.sampled_from(["", "the desk is closed"])) if status is not StepStatus.OK else "",
                provider=draw(st.sampled_from(["", "local"])) if is_model else "",
                model="gpt-x" if is_model else "",
                tool_name=draw(st.sampled_from(["find_book", "other"])) if is_tool else "",
                call_id="c-1" if is_tool else "",
                retries=draw(st.integers(0, 3)),
                tokens_in=draw(counts) if is_model else None,
                tokens_out=draw(counts) if is_model else None,
                cost_usd=draw(st.sampled_from([None, 0.25])) if is_model else None,
            )
        )
    return facts


def back(run: RunFacts, steps: list[StepFacts], order: Random, files: int) -> RecordedRun:
    """Parse the run from batches in any order, spread over several files."""
    sent_events = [events.trace_event(run), *(events.step_event(step, run) for step in steps)]
    order.shuffle(sent_events)
    batches = [[event.envelope for event in sent_events[at::files]] for at in range(files)]
    sources = [Source(name="b", data=json.dumps({"batch": batch}).encode()) for batch in batches]
    (parsed_run,) = langfuse.parse(sources)
    assert [source.problems for source in sources] == [[]] * files
    return parsed_run


@given(steps(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_exported_run_parses_back_unchanged(sent_steps: list[StepFacts], order: Random, files: int) -> None:
    parsed_run = back(RUN, sent_steps, order, files)
    assert (parsed_run.external_id, parsed_run.app, parsed_run.tags, parsed_run.environment) == (
        RUN.id.hex,
        "shop",
        ("demo",),
        "staging",
    )
    assert parsed_run.metadata["metadata"]["shelf"] == 4  # type: ignore[index,call-overload]
    assert [step.key for step in parsed_run.steps] == [str(step.id) for step in sent_steps]
    for step, was in zip(parsed_run.steps, sent_steps, strict=True):
        assert {name: getattr(step, name) for name in SAME} == {name: getattr(was, name) for name in SAME}
        assert step.input == was.input
        assert step.parent == (str(was.parent) if was.parent else None)
        assert step.started_at == was.started_at
        assert step.provider == (was.provider or ("openai" if was.model else ""))
        assert step.cost_usd == (None if was.cost_usd is None else Decimal(str(was.cost_usd)))
        if was.started_at is not None:
            assert step.ended_at == was.started_at + timedelta(milliseconds=was.duration_ms or 0)


def test_oversized_payload_is_replaced_by_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_BYTES", 2_000)
    step = StepFacts(
        id=UUID(int=9),
        no=1,
        type=StepType.TOOL,
        name="read",
        status=StepStatus.OK,
        label="live",
        input={"file": "x" * 800},
        output="y" * 3_000,
    )
    cut = events.step_event(step, RUN)
    body: Any = cut.envelope["body"]
    assert (cut.cut, body["input"]) == (("output",), {"file": "x" * 800})
    assert body["output"] == "<omitted: 3002 bytes exceed the size limit of a request to Langfuse>"
    assert cut.size == len(json.dumps(cut.envelope, separators=(",", ":"))) <= 2_000


def test_event_ids_depend_on_content() -> None:
    step = StepFacts(id=UUID(int=9), no=1, type=StepType.TOOL, name="read", status=StepStatus.OK, label="live")
    other_step = StepFacts(id=UUID(int=10), no=1, type=StepType.TOOL, name="read", status=StepStatus.OK, label="live")
    assert events.step_event(step, RUN) == events.step_event(step, RUN)
    assert events.step_event(step, RUN).id != events.step_event(other_step, RUN).id != events.trace_event(RUN).id


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"name": "x"}, "an observation without an id (/batch/0/body/id)"),
        ({"id": "o", "usage": {"input": "many"}}, "“many” is not a token count (/batch/0/body/usage)"),
        ({"id": "o", "startTime": "noon"}, "“noon” is not a time (/batch/0/body)"),
        (None, "expected an object, got null (/batch/0/body)"),
    ],
)
def test_bad_observation_rejects_only_its_file(body: Any, problem: str) -> None:
    bad = json.dumps({"batch": [{"type": "span-create", "body": body}]}).encode()
    good = json.dumps({"batch": [{"type": "span-create", "body": {"id": "g", "traceId": "t"}}]}).encode()
    sources = [Source(name="bad", data=bad), Source(name="good", data=good)]
    assert [run.external_id for run in langfuse.parse(sources)] == ["t"]
    assert [[str(message) for message in source.problems] for source in sources] == [[problem], []]


MODEL_STEP = StepFacts(
    id=UUID(int=9),
    no=3,
    type=StepType.MODEL,
    name="answer",
    status=StepStatus.OK,
    label="exact",
    reason="reused",
    parent=UUID(int=8),
    started_at=NOON,
    duration_ms=1_500,
    input=REQUEST,
    output=ANSWER,
    provider="openai",
    model="gpt-x",
    tokens_in=20,
    tokens_out=4,
    tokens_cached=16,
    cost_usd=0.25,
    detail={"similarity": 0.9},
)


def test_model_step_uses_langfuse_fields() -> None:
    event = events.step_event(MODEL_STEP, RUN).envelope
    body: Any = event["body"]
    calls = {name: body.pop(name) for name in ("input", "output", "modelParameters")}
    accounts = {name: body.pop(name) for name in ("usageDetails", "costDetails", "metadata")}
    assert (event["type"], event["timestamp"]) == ("generation-create", "2026-10-01T13:00:00.000Z")
    assert body == {
        "id": str(UUID(int=9)),
        "traceId": RUN.id.hex,
        "parentObservationId": str(UUID(int=8)),
        "name": "answer",
        "startTime": "2026-10-01T12:00:00.000Z",
        "endTime": "2026-10-01T12:00:01.500Z",
        "level": "DEFAULT",
        "model": "gpt-x",
    }
    assert None not in (*calls.values(), *accounts.values())


def test_model_call_has_the_form_of_openai() -> None:
    body: Any = events.step_event(MODEL_STEP, RUN).envelope["body"]
    call = {"id": "c-1", "type": "function", "function": {"name": "find_book", "arguments": '{"title": "Dune"}'}}
    user, assistant, tool = REQUEST["messages"]
    assert body["input"] == {
        "messages": [user, {**assistant, "tool_calls": [call]}, tool],
        "tools": [{"type": "function", "function": REQUEST["tools"][0]}],
    }
    assert body["output"] == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert body["modelParameters"] == {"temperature": 0.5, "stop": ["END"], "logit_bias": '{"5": 1}'}


def test_usage_cost_and_labels_are_exported() -> None:
    body: Any = events.step_event(MODEL_STEP, RUN).envelope["body"]
    assert body["usageDetails"] == {
        "prompt_tokens": 20,
        "completion_tokens": 4,
        "total_tokens": 24,
        "prompt_tokens_details": {"cached_tokens": 16},
    }
    assert body["costDetails"] == {"total": 0.25}
    assert body["metadata"] == {
        "forkpoint": {
            "step_type": "model",
            "sequence_no": 3,
            "status": "ok",
            "label": "exact",
            "reason": "reused",
            "provider": "openai",
            "finish_reason": "tool_calls",
            "detail": {"similarity": 0.9},
        }
    }


@pytest.mark.parametrize(
    ("status", "level"),
    [("error", "ERROR"), ("timeout", "ERROR"), ("denied", "WARNING"), ("partial", "WARNING"), ("ok", "DEFAULT")],
)
def test_step_status_becomes_level(status: str, level: str) -> None:
    step = StepFacts(
        id=UUID(int=9), no=1, type=StepType.TOOL, name="", status=StepStatus(status), label="live", input={}, output=""
    )
    event = events.step_event(step, RUN).envelope
    body: Any = event["body"]
    assert (event["type"], body["level"], body["name"]) == ("span-create", level, "tool")
    assert (body["input"], body["output"]) == ({}, ""), "that it was empty is said"
