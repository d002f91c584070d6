"""Redaction of a recording before anything is derived from it."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from tests.support.recordings import order_run, tool_step
from tests.support.redactions import redaction, secrets
from tests.unit.traces.redaction.test_redactor import FailingDetector
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.ingest.prepare import prepare
from traces.ingest.redaction import block_reason, redact
from traces.payloads.conversation import Conversation

SECRET = secrets()["GitHub"]
PASSWORD = "tiger4lily"


def run_with_secret() -> RecordedRun:
    step = tool_step("login", f"call-{SECRET}", "A-1", {"text": f"hello {PASSWORD}"}, error=f"bad {SECRET}")
    step = replace(
        step, name=f"login {SECRET}", input={"password": PASSWORD, "key": SECRET}, attributes={"raw": {"k": SECRET}}
    )
    judgement = RecordedJudgement(name="note", kind=JudgementKind.NOTE, text=f"it used {PASSWORD} and {SECRET}")
    run = order_run()
    return replace(
        run,
        name=f"run with {SECRET}",
        tags=(f"tag {SECRET}",),
        metadata={"env": {"TOKEN": SECRET}},
        steps=(*run.steps, step),
        judgements=(judgement,),
    )


def stored(run: RecordedRun, *rules: dict[str, Any]) -> str:
    prepared = prepare(run, redaction(*rules))
    provenance = prepared.provenance()
    return "\n".join(
        [
            *(data.decode() for data in prepared.parts.values()),
            repr(prepared.columns),
            repr(prepared.rows),
            repr(prepared.calls),
            repr(prepared.judgements),
            repr(provenance),
        ]
    )


def test_no_secret_reaches_rows_parts_or_judgements() -> None:
    text = stored(run_with_secret())
    assert SECRET not in text
    # Found by the name of its member in one place, and replaced in all.
    assert PASSWORD not in text
    assert "[redacted:github-classic-token:" in text


def test_run_without_secrets_is_the_same_recording() -> None:
    run = order_run()
    assert redact(run, redaction()) == run


HISTORY: list[JSONValue] = [{"role": "user", "content": "hello"}, {"role": "user", "content": SECRET}]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": SECRET},
        {"parent": SECRET},
        {"links": (SECRET,)},
        {"error": SECRET},
        {"input": SECRET},
        {"input": [[SECRET]]},
        {"output": {"documents": [SECRET]}},
        {"attributes": {SECRET: 1}},
        {"attributes": {"PASSWORD": PASSWORD}},
        {"input": {"messages": HISTORY, "temperature": 1}},
        {"input": {"messages": Conversation(HISTORY).snapshot}},
        {"input": {"messages": [], "extra": {"messages": Conversation(HISTORY).snapshot}}},
        {"input": {"messages": HISTORY[:1], "parameters": {"clientSecret": PASSWORD}}},
    ],
)
def test_first_look_misses_no_place(changes: dict[str, Any]) -> None:
    run = order_run()
    clean = tool_step("look", "call-7", "A-1", {"messages": HISTORY[:1]})
    redacted = redact(replace(run, steps=(*run.steps, clean, replace(clean, key="k", **changes))), redaction())
    text = repr(redacted.steps)
    assert SECRET not in text
    assert PASSWORD not in text


def test_metadata_states_what_was_redacted() -> None:
    metadata = redact(run_with_secret(), redaction()).metadata
    assert metadata["redaction"] == {"status": "redacted", "kinds": ["credential", "github-classic-token"]}
    assert block_reason(metadata) == ""


def test_signatures_and_links_stay_stable() -> None:
    first, second = (prepare(run_with_secret(), redaction()) for _ in range(2))
    assert first.content_digest == second.content_digest
    assert [row.signature for row in first.rows] == [row.signature for row in second.rows]


def test_dropped_field_is_in_no_summary() -> None:
    rule = {"name": "question", "action": "drop", "path": "/input/messages/*/content", "step_types": ["model"]}
    task = {"name": "task", "action": "drop", "path": "/input/task"}
    prepared = prepare(order_run(), redaction(rule, task))
    assert "where is my order" not in prepared.columns["search"]
    assert all("Where is my order" not in row.summary for row in prepared.rows)


def test_failing_detector_blocks_the_run() -> None:
    run = redact(order_run(), redaction(detectors=(FailingDetector(),)))
    reason = block_reason(run.metadata)
    assert "step 1, input: RuntimeError" in reason
    assert "Where is my order" not in repr(run)


def test_failure_that_the_source_states_stays() -> None:
    metadata: JSONObject = {"redaction_status": "blocked"}
    run = redact(replace(run_with_secret(), metadata=metadata), redaction())
    assert block_reason(run.metadata) == "blocked"
    assert orjson.dumps(run.metadata)


@pytest.mark.parametrize(
    ("output", "text", "is_hidden"),
    [
        ({"total": 1}, "Order(total=1)", False),
        ({"password": PASSWORD}, f"Login({PASSWORD})", True),
        ({"total": 1}, f"Order(total=1, key={SECRET})", True),
    ],
)
def test_form_of_a_redacted_output_is_not_stored(output: JSONObject, text: str, is_hidden: bool) -> None:
    form: JSONObject = {"type": "opaque", "str": text}
    step = tool_step("login", "call-1", f"input {SECRET}", output)
    run = order_run()
    run = redact(replace(run, steps=(*run.steps, replace(step, attributes={"output_form": form}))), redaction())
    assert run.steps[-1].attributes["output_form"] == ({"type": "opaque"} if is_hidden else form)
