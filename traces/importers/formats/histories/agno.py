"""Agno: sessions of agents and teams with their runs, and single runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source

FORMAT: Final = "agno"
_REFUSAL: Final = "a session of Agno needs `session_id` and its `runs`, a run `run_id` and `messages`"
_IDS: Final = ("agent_id", "team_id", "workflow_id")
_DATA: Final = ("agent_data", "team_data", "workflow_data")
_FAILURES: Final = frozenset({"ERROR", "CANCELLED"})
_OPEN: Final = frozenset({"PENDING", "RUNNING", "PAUSED"})
_MEMBERS: Final = "member_responses"
_RUN_FIELDS: Final = (
    "messages",
    "tools",
    "input",
    "content",
    "metrics",
    "created_at",
    _MEMBERS,
    "additional_input",
    "events",
    "model",
    "model_provider",
)
_USAGE: Final = {"cache_read_tokens": "cached_tokens", "cached_tokens": "cached_tokens"}


def is_session(value: JSONValue) -> bool:
    """Return whether `value` is a session or a run, or a list or page of these."""
    body = as_object(first_item(value))
    return _is_row(body) or any(_is_row(item) for item in as_objects(body.get("data"))[:1])


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session, and per run outside of sessions."""
    for record in source.records():
        for row, location in read_rows(
            record.value, record.location, holders=("data",), is_row=_is_row, refusal=_REFUSAL
        ):
            yield _session(row, location)


def _runs(body: JSONObject) -> list[JSONObject]:
    runs = parse_embedded(body.get("runs")) or member(parse_embedded(body.get("memory")), "runs")
    return [as_object(run.get("response")) or run for run in as_objects(runs)]


def _is_run(body: JSONObject) -> bool:
    has_owner = not body.keys().isdisjoint({*_IDS, "agent_name", "team_name"})
    return "run_id" in body and has_owner and (has_list(body, "messages") or "content" in body)


def _is_row(body: JSONObject) -> bool:
    return _is_run(body) or ("session_id" in body and any(map(_is_run, _runs(body)[:1])))


def _session(body: JSONObject, location: str) -> RecordedRun:
    runs = [body] if _is_run(body) else _runs(body)
    details = next((data for name in _DATA if (data := as_object(parse_embedded(body.get(name))))), {})
    name = as_text(first_member(details, "name") or first_member(runs[0], "agent_name", "team_name"))
    top_runs = [run for run in runs if not run.get("parent_run_id")]
    steps = _steps(top_runs, name or "agent", location)
    children = [
        *(run for run in runs if run.get("parent_run_id")),
        *(run for outer in top_runs for run in as_objects(outer.get(_MEMBERS))),
    ]
    for run in {as_text(run.get("run_id")): run for run in children}.values():
        steps += _member_steps(run, location)
    states = {as_text(run.get("status")).upper() for run in top_runs}
    return build_run(
        RunFacts(
            external_id=as_text(first_member(body, *(["run_id"] if _is_run(body) else []), "session_id"))
            or f"{FORMAT}-{content_id(body, location)}",
            app=name or FORMAT,
            format=FORMAT,
            failed=bool(states & _FAILURES),
            has_ended=not states & _OPEN,
            metadata={
                **omit(body, "runs", "memory", *_RUN_FIELDS),
                "runs": [omit(run, *_RUN_FIELDS) | {"metrics": run.get("metrics")} for run in runs],
            },
        ),
        steps,
        location=location,
    )


def _steps(runs: list[JSONObject], name: str, location: str) -> list[RecordedStep]:
    entries: list[TranscriptMessage] = []
    for number, run in enumerate(runs):
        entries += _entries(run, number > 0, f"{location}/runs/{number}/messages")
    model = as_text(runs[0].get("model")) if runs else ""
    provider = normalize_provider(runs[0].get("model_provider") if runs else None, model)
    return transcripts.build_steps(entries, TranscriptSettings(agent=name, model=model, provider=provider))


def _entries(run: JSONObject, continues: bool, location: str) -> Iterator[TranscriptMessage]:
    """Yield the messages of a run. If it has those of earlier runs, its requests contain just these."""
    messages = as_objects(run.get("messages")) or list(_message_parts(run))
    has_history = any(message.get("from_history") is True for message in messages)
    for number, message in enumerate(messages):
        if continues and not has_history and message.get("role") in ("system", "developer"):
            # Stored again with each run.
            continue
        yield TranscriptMessage(
            value=_message(message, run),
            location=f"{location}/{number}",
            is_injected=message.get("from_history") is True,
            resets_history=continues and has_history and number == 0,
        )


def _message_parts(run: JSONObject) -> Iterator[JSONObject]:
    """Yield what a run without messages has of them: its input, the tools that it used, and its answer."""
    request = first_member(as_object(run.get("input")), "input_content") or run.get("input")
    if request:
        yield {"role": "user", "content": request, "created_at": run.get("created_at")}
    tools = as_objects(run.get("tools"))
    if tools:
        calls: list[JSONValue] = [
            {"id": tool.get("tool_call_id"), "name": tool.get("tool_name"), "arguments": tool.get("tool_args")}
            for tool in tools
        ]
        yield {"role": "assistant", "content": None, "tool_calls": calls}
    for tool in tools:
        yield {"role": "tool", "content": tool.get("result"), **omit(tool, "result", "tool_args")}
    if run.get("content"):
        yield {"role": "assistant", "content": run["content"], "metrics": run.get("metrics")}


def _message(message: JSONObject, run: JSONObject) -> JSONObject:
    """Return a message in the terms of transcripts."""
    metrics = as_object(message.get("metrics"))
    counts: JSONObject = {_USAGE.get(name, name): count for name, count in metrics.items() if _is_count(count)}
    content, thought = message.get("content"), as_text(message.get("reasoning_content"))
    blocks: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
    blocks += [{"type": "text", "text": content}] if content else []
    is_answer = message.get("role") == "assistant"
    model: JSONObject = {"model": run["model"]} if is_answer and run.get("model") else {}
    return {
        **omit(message, "metrics", "reasoning_content", "tool_name", "tool_call_error", "from_history", "tool_args"),
        "content": blocks if thought else content,
        **({"usage": counts} if is_answer else {"metrics": metrics} if metrics else {}),
        **({"name": message["tool_name"]} if message.get("tool_name") else {}),
        **({"is_error": True} if message.get("tool_call_error") is True else {}),
        **({"cost": metrics["cost"]} if metrics.get("cost") else {}),
        **model,
    }


def _is_count(value: JSONValue) -> bool:
    return isinstance(value, int | float) and value != 0


def _member_steps(run: JSONObject, location: str) -> list[RecordedStep]:
    """Return the steps of a member's run, below the team."""
    id, name = as_text(run.get("run_id")), as_text(first_member(run, "agent_name", "team_name", "agent_id"))
    steps = [step for step in _steps([run], name or "member", location) if step.type is not StepType.OUTPUT]
    failed = as_text(run.get("status")).upper() in _FAILURES
    root, *inner = [
        replace(step, key=f"{id}/{step.key}", parent=f"{id}/{step.parent}" if step.parent else AGENT_KEY)
        for step in steps
    ]
    if failed:
        root = replace(root, status=StepStatus.ERROR, error=as_text(run.get("content")) or "the run failed")
    return [
        root,
        *inner,
        *(step for child in as_list(run.get(_MEMBERS)) for step in _member_steps(as_object(child), location)),
    ]
