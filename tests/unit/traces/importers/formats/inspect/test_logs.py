"""Inspect logs: events, messages, scores, archives."""

import io
import zipfile
from typing import Any

import orjson
import pytest
import zstandard

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object, as_objects
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.archives import Archive
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.payloads.messages import ModelRequest

LOG: Any = fixtures.source("inspect_log.json").value
SAMPLE: Any = orjson.loads(Archive(fixtures.source("inspect_log.eval").data).read("samples/stock_epoch_2.json"))


def read(data: bytes) -> tuple[list[RecordedRun], list[str]]:
    source = Source(name="log", data=data)
    importer = registry.detect(fixtures.sample("log", data))
    assert importer.name == "inspect"
    return list(importer.runs([source])), [str(problem) for problem in source.problems]


def zip_archive(members: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, value in members.items():
            archive.writestr(name, orjson.dumps(value))
    return buffer.getvalue()


def zstd_archive(name: str, content: bytes) -> bytes:
    """Build a zip archive with a zstd member, which the `zipfile` module cannot write yet."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, zstandard.compress(content))
    data = bytearray(buffer.getvalue())
    data[8:10] = data[data.index(b"PK\x01\x02") + 10 :][:2] = (93).to_bytes(2, "little")
    central = data.index(b"PK\x01\x02")
    data[central + 10 : central + 12] = (93).to_bytes(2, "little")
    return bytes(data)


def test_events_become_a_tree() -> None:
    run = fixtures.run("inspect_log.eval")
    names = {step.key: step.name for step in run.steps}
    assert [(step.type.value, step.name, names.get(step.parent or "")) for step in run.steps] == [
        ("agent", "shop/bookshop", None),
        ("agent", "clerk", "shop/bookshop"),
        ("model", "openai/gpt-4o-mini", "clerk"),
        ("tool", "find_book", "clerk"),
        ("agent", "shelf keeper", "find_book"),
        ("model", "openai/gpt-4o-mini", "shelf keeper"),
        ("safety", "human", "clerk"),
        ("tool", "open_till", "clerk"),
        ("model", "openai/gpt-4o-mini", "clerk"),
        ("agent", "scorers", "shop/bookshop"),
        ("agent", "includes", "scorers"),
        ("validator", "includes", "includes"),
    ]
    (event,) = [event for step in run.steps for event in as_objects(step.attributes.get("events"))]
    assert (event["action"], event["cmd"], "other_events" in run.metadata) == ("exec", "ls", False)


def test_agent_inside_tool_whose_event_names_the_span_around() -> None:
    message = {"role": "assistant", "content": "Yes."}
    events = [
        {"event": "span_begin", "id": "s", "name": "solver", "type": "solver"},
        {"event": "span_begin", "id": "t", "parent_id": "s", "name": "ask", "type": "tool"},
        {"event": "tool", "span_id": "s", "id": "c1", "function": "ask", "result": "Yes."},
        {"event": "span_begin", "id": "a", "parent_id": "t", "name": "clerk", "type": "agent"},
        {"event": "model", "span_id": "a", "model": "gpt-4o", "output": {"choices": [{"message": message}]}},
    ]
    log = {"eval": {"task": "shop"}, "samples": [{"id": 1, "epoch": 1, "input": "Is Dune in?", "events": events}]}
    ((run,), problems) = read(orjson.dumps({"status": "success", **log}))
    names = {step.key: step.name for step in run.steps}
    assert ([names.get(step.parent or "") for step in run.steps], problems) == (
        [None, "shop", "solver", "ask", "clerk"],
        [],
    )


def test_pooled_messages_and_attachments_are_resolved() -> None:
    run = fixtures.run("inspect_log.eval")
    first, _, last = fixtures.steps(run, StepType.MODEL)
    request, answer, last_request = body(first.input), body(first.output), body(last.input)
    assert request["messages"] == [fixtures.SYSTEM, fixtures.REQUEST]
    assert (request["parameters"], request["tools"][0]["name"]) == ({"temperature": 0.2}, "find_book")
    assert answer == {"message": fixtures.CALL, "finish_reason": "tool_calls"}
    assert last_request["messages"] == [fixtures.SYSTEM, fixtures.REQUEST, fixtures.CALL, fixtures.RESULT]
    assert (first.tokens_in, first.tokens_cached, first.tokens_out) == (42, 16, 9)
    assert (first.model, first.provider, last.retries) == ("gpt-4o-mini", "openai", 1)
    success, failure = fixtures.steps(run, StepType.TOOL)
    assert (success.output, success.call_id) == ("3 copies", "call_1")
    assert (failure.status, failure.error) == (StepStatus.TIMEOUT, "timeout: the till is stuck")


def body(value: Any) -> Any:
    return value


def test_scores_are_judgements() -> None:
    run = fixtures.run("inspect_log.eval")
    assert [(judgement.name, judgement.kind, judgement.value, judgement.text) for judgement in run.judgements] == [
        ("includes", JudgementKind.PASS, None, "three: as on the shelf"),
        ("tone.kind", JudgementKind.SCORE, 0.75, ""),
        ("tone.brief", JudgementKind.SCORE, 1.0, ""),
        ("partly", JudgementKind.SCORE, 0.5, ""),
    ]
    assert (run.external_id, run.metadata["epoch"], run.app) == ("smp-1", 2, "bookshop")


def test_sample_without_events_is_a_transcript() -> None:
    run, run_with_events = fixtures.runs("inspect_log.json")
    assert [step.type.value for step in run.steps] == ["agent", "turn", "model", "tool", "model", "output"]
    assert (run.external_id, run.status, run.steps[0].error) == (
        "run-1/task-1/1/1",
        RunStatus.FAILED,
        "the shop closed",
    )
    assert [judgement.kind for judgement in run.judgements] == [JudgementKind.FAIL]
    assert [(step.type.value, step.parent) for step in run_with_events.steps] == [
        ("agent", None),
        ("agent", "sample"),
        ("model", "sample/0"),
    ]


def test_single_sample_is_read() -> None:
    (run,), problems = read(orjson.dumps(SAMPLE))
    assert (run.external_id, len(run.steps), problems) == ("smp-1", 12, [])


def test_epochs_of_a_sample_are_runs() -> None:
    samples = [{**LOG["samples"][0], "epoch": epoch} for epoch in (1, 2, 3)]
    runs, _ = read(orjson.dumps({**LOG, "samples": samples}))
    assert [run.external_id for run in runs] == [f"run-1/task-1/1/{epoch}" for epoch in (1, 2, 3)]


def test_log_without_samples_is_rejected() -> None:
    with pytest.raises(BadFile, match="has no samples"):
        read(orjson.dumps({**LOG, "samples": None}))


def test_nan_metric_is_accepted() -> None:
    results = b'{"results": {"value": NaN}, ' + orjson.dumps(LOG)[1:]
    assert len(read(results)[0]) == 2


def test_bad_samples_leave_others_intact() -> None:
    bad = {**SAMPLE, "uuid": "smp-2", "events": [{"event": "model", "input_refs": [[0, 99]]}]}
    header = {"status": "success", "eval": LOG["eval"]}
    members = {
        "header.json": header,
        "samples/a_epoch_1.json": SAMPLE,
        "samples/b_epoch_1.json": bad,
        "samples/c_epoch_1.json": [1],
    }
    runs, problems = read(zip_archive(members))
    assert [run.external_id for run in runs] == ["smp-1"]
    assert problems == [
        "[0,99] is not a range of the sample's messages (/input_refs)",
        "expected an object, got a list (samples/c_epoch_1.json)",
    ]


def test_zstd_members_are_read() -> None:
    content = b"shelf 7 " * 1000
    assert Archive(zstd_archive("note.txt", content)).read("note.txt") == content


@pytest.mark.parametrize("is_zstd", [False, True])
def test_damaged_member_is_rejected(is_zstd: bool) -> None:
    data = bytearray(
        zstd_archive("note.txt", b"shelf 7 " * 1000) if is_zstd else zip_archive({"note.txt": ["shelf 7"] * 1000})
    )
    data[45:60] = bytes(15)
    with pytest.raises(BadFile) as error:
        Archive(bytes(data)).read("note.txt")
    assert "note.txt" in error.value.where


def test_archive_beyond_limits_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.importers.files.archives.MOST_MEMBERS", 1)
    with pytest.raises(BadFile, match="more than 1 members"):
        Archive(zip_archive({"a": 1, "b": 2}))
    monkeypatch.setattr("traces.importers.files.archives.MOST_BYTES", 0)
    with pytest.raises(BadFile, match="to more than 0 GiB"):
        Archive(zip_archive({"a": 1}))


def test_sample_without_messages_failed() -> None:
    sample = {**SAMPLE, "uuid": "s-9", "messages": [], "events": [], "output": {}, "error": None, "scores": {}}
    (run,), problems = read(orjson.dumps({**sample, "limit": {"type": "time", "limit": 60.0}}))
    assert (run.status, run.steps[0].error, problems) == (
        RunStatus.FAILED,
        "the trial ended before any message: time limit",
        [],
    )
    (verdict,) = run.judgements
    assert (verdict.name, verdict.kind, verdict.text) == ("termination_reason", "fail", "time limit")


def test_last_answer_has_facts_of_output() -> None:
    answer = {"role": "assistant", "content": "Yes."}
    output = {"choices": [{"message": answer, "stop_reason": "max_tokens"}], "usage": {"input_tokens": 9}}
    messages = [{"role": "user", "content": "Is Dune in stock?"}, answer, {"role": "user", "content": "Sure?"}, answer]
    sample = {"id": 1, "epoch": 1, "input": "Is Dune in stock?", "target": "Yes.", "messages": messages}
    source = Source(name="sample.json", data=orjson.dumps({**sample, "output": output}))
    (run,) = registry.get_importer("inspect").runs([source])
    first, last = fixtures.steps(run, StepType.MODEL)
    assert (first.tokens_in, last.tokens_in) == (None, 9)
    assert last.output == {"message": answer, "finish_reason": "length"}


def test_calls_of_provider_and_redacted_thoughts() -> None:
    search = {"type": "tool_use", "tool_type": "web_search", "id": "w1", "name": "web_search", "result": "Dune, 1965"}
    thought = {"type": "reasoning", "reasoning": "gAAB", "summary": "Look it up.", "redacted": True}
    text = {"type": "text", "text": "1965."}
    answer = {"role": "assistant", "content": [thought, {**search, "arguments": '{"query": "Dune"}'}, text]}
    messages = [{"role": "user", "content": "When?"}, answer]
    retries = [{"message": "the sandbox is gone"}]
    (run,), problems = read(
        orjson.dumps({**SAMPLE, "events": [], "messages": messages, "error_retries": retries, "output": {}})
    )
    (tool,), (model,) = fixtures.steps(run, StepType.TOOL), fixtures.steps(run, StepType.MODEL)
    assert (tool.name, tool.input, tool.output) == ("web_search", {"query": "Dune"}, "Dune, 1965")
    assert body(model.output)["message"]["content"][0] == {"type": "thinking", "thinking": "Look it up."}
    assert (run.metadata["error_retries"], problems) == (retries, [])


@pytest.mark.parametrize("has_events", [False, True])
def test_samples_have_all_counts_and_times(has_events: bool) -> None:
    counts = {"input_tokens": 5, "output_tokens": 2, "input_tokens_cache_read": 20, "reasoning_tokens": 1}
    answer = {"role": "assistant", "content": "Yes."}
    output = {"model": "gpt-5", "choices": [{"message": answer, "stop_reason": "stop"}], "usage": counts}
    call = {"event": "model", "model": "openai/gpt-5", "input": [fixtures.REQUEST], "output": output, "config": {}}
    sample = {
        **SAMPLE,
        "messages": [fixtures.REQUEST, answer],
        "output": output,
        "events": [{**call, "timestamp": "2026-03-01T10:00:03Z"}] if has_events else [],
        "started_at": "2026-03-01T10:00:00Z",
        "completed_at": "2026-03-01T10:00:09Z",
    }
    ((run,), problems) = read(orjson.dumps(sample))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.tokens_in, model.tokens_cached, problems) == (25, 20, [])
    assert body(model.attributes["usage"])["reasoning_tokens"] == 1
    assert (str(run.started_at)[11:19], str(run.ended_at)[11:19]) == ("10:00:00", "10:00:09")


def test_notes_and_results_without_calls_are_kept() -> None:
    result = {"role": "tool", "content": "3 copies", "tool_call_id": "c1", "function": "find"}
    score = {"value": "C", "metadata": {"judge": "strict"}}
    base = {"id": 1, "epoch": 1, "input": "Is Dune in stock?", "target": "yes", "store": {"count": 3}}
    sample = {**base, "messages": [result], "scores": {"match": score}}
    note = {"event": "info", "data": "Looked twice", "span_id": "s", "working_start": 0.5}
    answer = {"role": "assistant", "content": "Yes."}
    call = {"event": "model", "model": "openai/gpt-4o", "input": [], "output": {"choices": [{"message": answer}]}}
    traced = {**base, "id": 2, "messages": [], "events": [note, {"event": "state"}, call]}
    config = {"temperature": 0.5, "max_tokens": None}
    evaluation = {"task": "shop", "model_generate_config": config, "dataset": {"name": "shelf", "sample_ids": [1, 2]}}
    plain = {**base, "id": 3, "messages": [{"role": "user", "content": "Hi"}, answer]}
    log = {"status": "success", "eval": evaluation, "samples": [sample, traced, plain]}
    runs, problems = read(orjson.dumps(log))
    assert (problems, [run.metadata["store"] for run in runs]) == ([], [{"count": 3}] * 3)
    first, second, third = runs
    assert (first.name, first.judgements[0].detail) == ("Is Dune in stock?", {"metadata": {"judge": "strict"}})
    assert first.steps[0].attributes["unread_messages"] == [
        {"role": "tool", "content": "3 copies", "tool_call_id": "c1"}
    ]
    assert second.metadata["events"] == [{"event": "info", "data": "Looked twice"}]
    assert (second.metadata["other_events"], as_object(second.metadata["evaluation"])["dataset"]) == (
        {"state": 1},
        {"name": "shelf"},
    )
    (model,) = fixtures.steps(third, StepType.MODEL)
    assert ModelRequest(model.input).parameters == {"temperature": 0.5}


def test_early_logs_have_one_score_and_a_transcript() -> None:
    sample = {"id": 1, "epoch": 1, "input": "Is Dune in?", "target": "yes", "output": {}}
    messages = [{"role": "user", "content": "Is Dune in?"}, {"role": "assistant", "content": "yes"}]
    output = {"choices": [{"message": messages[1], "stop_reason": "stop"}], "usage": {"input_tokens": 3}}
    call = {"event": "model", "model": "openai/gpt-4", "input": [{"role": "user", "content": "attachment://a"}]}
    begin = {"event": "step", "action": "begin", "type": "solver", "name": "generate"}
    events = [begin, {**call, "output": output, "config": {}}, {**begin, "action": "end"}]
    log = {
        "status": "success",
        "eval": {"task": "shop", "model": "openai/gpt-4", "run_id": "r"},
        "plan": {"steps": [{"solver": "generate"}], "config": {"max_tokens": 55}},
        "results": {"scorer": {"name": "match"}},
        "samples": [
            {**sample, "messages": messages, "score": {"value": "C", "explanation": "as expected"}},
            {**sample, "messages": [], "transcript": {"events": events, "content": {"a": "Is Dune in?"}}},
        ],
    }
    (run, logged_run), problems = read(orjson.dumps(log))
    assert [(item.name, item.kind, item.text) for item in run.judgements] == [
        ("match", JudgementKind.PASS, "as expected")
    ]
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert ModelRequest(model.input).parameters == {"max_tokens": 55}
    assert as_object(run.metadata["evaluation"])["plan"] == log["plan"]
    (model,) = fixtures.steps(logged_run, StepType.MODEL)
    assert (fixtures.request_contents(model), model.tokens_in, problems) == (["Is Dune in?"], 3, [])
