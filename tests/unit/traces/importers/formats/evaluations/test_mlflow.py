"""MLflow traces of versions 2 and 3, artifacts and rows of tables."""

from base64 import b64encode
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelAnswer

CALL = {"id": "c1", "type": "function", "function": {"name": "find_book", "arguments": '{"title": "Dune"}'}}
REQUEST = {"model": "gpt-x", "messages": [{"role": "user", "content": "Is Dune in stock?"}], "temperature": 0.2}
ANSWER = {"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [CALL]}}]}
USAGE = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
CHAT = [[{"type": "system", "content": "Be brief."}, {"type": "human", "content": "Is Dune in stock?"}]]
GENERATION = {"text": "Yes.", "generation_info": {"finish_reason": "stop"}}


def attributes(type: str, input: Any = None, output: Any = None, **others: Any) -> dict[str, str]:
    values = {"mlflow.spanType": type, "mlflow.spanInputs": input, "mlflow.spanOutputs": output, **others}
    return {name: orjson.dumps(value).decode() for name, value in values.items() if value is not None}


def span(number: int, parent: int | None, name: str, error: str = "", **fields: Any) -> dict[str, Any]:
    code = "STATUS_CODE_ERROR" if error else "STATUS_CODE_OK"
    start = 1_772_359_200_000_000_000 + number * 10**9
    return {
        "trace_id": "dHJhY2U=",
        "span_id": b64encode(number.to_bytes(8)).decode(),
        "parent_span_id": None if parent is None else b64encode(parent.to_bytes(8)).decode(),
        "name": name,
        "start_time_unix_nano": start,
        "end_time_unix_nano": start + 10**8,
        "status": {"code": code, "message": error},
        "events": [],
        **fields,
    }


SPANS = [
    span(1, None, "desk", attributes=attributes("AGENT", {"question": "Is Dune in stock?"}, "Yes.")),
    span(
        2,
        1,
        "chat",
        attributes=attributes("CHAT_MODEL", REQUEST, ANSWER, **{"mlflow.chat.tokenUsage": USAGE}),
    ),
    span(3, 1, "find_book", "ValueError: no shelf", attributes=attributes("TOOL", {"title": "Dune"})),
    span(4, 1, "search", attributes=attributes("RETRIEVER", {"query": "Dune"}, [{"page_content": "3 copies"}])),
    span(5, 1, "ChatX", attributes=attributes("CHAT_MODEL", CHAT, {"generations": [[GENERATION]]})),
]
ASSESSMENTS = [
    {"assessment_name": "correctness", "feedback": {"value": 0.5}, "rationale": "half", "span_id": "0000000000000002"},
    {"assessment_name": "tone", "feedback": {"value": 0.25}, "span_id": "0000000000000009"},
    {"assessment_name": "answer", "expectation": {"value": "No."}, "source": {"source_id": "Ann"}},
]
INFO = {
    "trace_id": "tr-1",
    "request_time": "2026-03-01T10:00:00Z",
    "state": "OK",
    "trace_metadata": {"mlflow.trace.session": "s-1"},
    "tags": {"mlflow.traceName": "desk", "team": "blue"},
    "assessments": ASSESSMENTS,
}
TRACE = {"info": INFO, "data": {"spans": SPANS}}


def read(value: Any) -> list[RecordedRun]:
    data = orjson.dumps(value)
    assert registry.detect(fixtures.sample("upload", data)).name == "mlflow"
    return list(registry.get_importer("mlflow").runs([Source(name="trace.json", data=data)]))


def test_trace_has_steps_of_all_types() -> None:
    (run,) = read(TRACE)
    assert [step.type for step in run.steps] == ["agent", "model", "tool", "retrieval", "model"]
    assert {step.parent for step in run.steps[1:]} == {"0000000000000001"}
    _, chat, tool, search, chain = run.steps
    assert (chat.model, chat.tokens_in, chat.tokens_out) == ("gpt-x", 11, 7)
    assert ModelAnswer(chat.output).calls[0]["name"] == "find_book"
    assert (tool.status, tool.error, tool.input) == (StepStatus.ERROR, "ValueError: no shelf", {"title": "Dune"})
    assert tool.call_id == "c1"
    assert search.output == {"documents": [{"id": "1", "content": "3 copies"}]}
    assert fixtures.request_contents(chain) == ["Be brief.", "Is Dune in stock?"]
    assert (run.external_id, run.metadata["session_id"], run.tags) == ("tr-1", "s-1", ("team:blue",))
    assert [(judgement.name, judgement.value, judgement.text, judgement.step) for judgement in run.judgements] == [
        ("correctness", 0.5, "half", chat.key),
        ("tone", None, "step 0000000000000009: score 0.25", None),
        ("expectation.answer", None, "No.", None),
    ]


def test_failed_trace_is_failed_run() -> None:
    failed = [span(1, None, "desk", "boom", attributes=attributes("CHAIN"))]
    (run,) = read({"info": {**INFO, "state": "ERROR", "assessments": []}, "data": {"spans": failed}})
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "boom")
    (running,) = read({"info": {**INFO, "state": "IN_PROGRESS"}, "data": {"spans": SPANS}})
    assert running.status is RunStatus.PARTIAL


def test_output_of_null_is_none() -> None:
    (run,) = read(
        {
            "info": {"trace_id": "tr-1"},
            "data": {
                "spans": [
                    span(1, None, "desk", attributes={"mlflow.spanType": '"AGENT"', "mlflow.spanOutputs": "null"})
                ]
            },
        }
    )
    assert run.steps[0].output is None


def test_version_two_nests_ids() -> None:
    old: dict[str, Any] = {
        "name": "chat",
        "context": {"span_id": "0x12", "trace_id": "0xab"},
        "parent_id": None,
        "start_time": 1_772_359_200_000_000_000,
        "end_time": 1_772_359_201_000_000_000,
        "status_code": "OK",
        "status_message": "",
        "attributes": attributes("LLM", REQUEST, ANSWER, **{"mlflow.traceRequestId": "r-1"}),
        "events": [],
    }
    (artifact,) = read({"spans": [old], "request": "{}", "response": "{}"})
    assert (artifact.external_id, [step.key for step in artifact.steps]) == ("r-1", ["12"])
    (exported,) = read({"info": {"request_id": "r-1", "status": "OK"}, "data": {"spans": [old]}})
    assert (exported.external_id, exported.steps) == ("r-1", artifact.steps)


def test_row_of_table_is_same_run() -> None:
    row = {"trace_id": "tr-1", "trace": orjson.dumps(TRACE).decode(), "state": "OK", "spans": SPANS}
    assert read([row]) == read(TRACE)
    # In a table as CSV, the cell is parsed.
    assert read([{**row, "trace": TRACE}]) == read(TRACE)
    assert read({"traces": [TRACE]}) == read(TRACE)


def test_trace_without_spans_is_refused() -> None:
    source = Source(name="traces.json", data=orjson.dumps([TRACE, {"info": INFO, "data": {"spans": []}}]))
    assert len(list(registry.get_importer("mlflow").runs([source]))) == 1
    assert [str(problem) for problem in source.problems] == [
        "this trace has no spans: export traces with their data (/1/data/spans)"
    ]


def test_trace_of_the_rest_api_has_pairs_as_attributes() -> None:
    pairs = [{"key": name, "value": {"string_value": value}} for name, value in attributes("TOOL", {"n": 1}).items()]
    body = {"trace_info": INFO, "spans": [span(1, None, "find", attributes=pairs)]}
    for value in ({"trace": body}, {"traces": [body]}):
        (run,) = read(value)
        assert (run.external_id, run.steps[0].type, run.steps[0].input) == ("tr-1", "tool", {"n": 1})


@pytest.mark.parametrize(("client", "tokens"), [("openai", 90), ("anthropic", 190), (None, 90)])
def test_input_of_anthropic_excludes_the_cache(client: str | None, tokens: int) -> None:
    usage = {"input_tokens": 90, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 40}
    values = {"mlflow.chat.tokenUsage": usage, "mlflow.message.format": client}
    call = span(1, None, "chat", attributes=attributes("CHAT_MODEL", REQUEST, ANSWER, **values))
    (run,) = read({"info": INFO, "data": {"spans": [call]}})
    assert (run.steps[0].tokens_in, run.steps[0].tokens_cached) == (tokens, 60)


def test_spans_of_dspy_have_their_settings_and_tools() -> None:
    inputs = {"prompt": None, "messages": REQUEST["messages"]}
    call = span(1, None, "LM", attributes=attributes("CHAT_MODEL", inputs, ["B-7"], temperature=0.2, max_tokens=50))
    tool = span(2, 1, "Tool.find", attributes=attributes("TOOL", {"n": 1}, "B-7"))
    embedding = attributes("EMBEDDING", "Dune", [0.5], **{"mlflow.chat.tokenUsage": {"input_tokens": 3}})
    (run,) = read({"info": INFO, "data": {"spans": [call, tool, span(3, 1, "embed", attributes=embedding)]}})
    assert as_object(run.steps[0].input)["parameters"] == {"temperature": 0.2, "max_tokens": 50}
    assert run.steps[1].tool_name == "find"
    assert (run.steps[2].type, run.steps[2].tokens_in, run.steps[2].output) == ("retrieval", 3, [0.5])
