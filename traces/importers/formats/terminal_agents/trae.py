"""Trae Agent: trajectories with the interactions with the model and the steps of the agent.

An interaction contains only the messages that are new in its request; the results of calls are in the steps, and in
the messages of the next interaction.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, has_list, has_object, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "trae"
_RUN_FIELDS: Final = frozenset(
    {"llm_interactions", "agent_steps", "start_time", "end_time", "model", "provider", "success"}
)
# Names of calls, which other clients write differently.
_CALL: Final = {"call_id": "id", "name": "name", "arguments": "arguments"}


def is_trajectory(value: JSONValue) -> bool:
    """Return True if `value` is a trajectory."""
    body = as_object(value)
    return "task" in body and has_list(body, "llm_interactions") and has_list(body, "agent_steps")


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trajectory."""
    for body, location in source.entries():
        yield _run(body, location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    model = as_text(body.get("model"))
    setting = TranscriptSettings(
        model=model, provider=normalize_provider(body.get("provider"), model), agent="trae-agent"
    )
    steps = transcripts.build_steps([*_entries(body, location)], setting)
    has_ended, success = bool(body.get("end_time")), body.get("success")
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([body.get('start_time'), body.get('task')], location)}",
            app="trae-agent",
            format=FORMAT,
            name=as_text(body.get("task")),
            has_ended=has_ended,
            started_at=parse_time(body.get("start_time"), f"{location}/start_time"),
            ended_at=parse_time(body.get("end_time"), f"{location}/end_time"),
            metadata={name: item for name, item in body.items() if name not in _RUN_FIELDS},
            judgements=[judgement("success", success)] if has_ended and isinstance(success, bool) else [],
        ),
        transcripts.replace_output(steps, as_text(body.get("final_result"))),
        location=location or "/",
    )


def _entries(body: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    results = _results(body)
    interactions = as_objects(body.get("llm_interactions"))
    call_ids = {as_text(call.get("call_id")) for interaction in interactions for call in _calls(interaction)}
    for index, interaction in enumerate(interactions):
        place = f"{location}/llm_interactions/{index}"
        for message in as_objects(interaction.get("input_messages")):
            if not has_object(message, "tool_result"):
                value: JSONObject = {"role": message.get("role"), "content": message.get("content")}
                yield TranscriptMessage(value=value, location=place)
            elif as_text(as_object(message["tool_result"]).get("call_id")) not in call_ids:
                yield TranscriptMessage(value=_result(as_object(message["tool_result"])), location=place)
        yield TranscriptMessage(value=_answer(interaction), location=place)
        for call in _calls(interaction):
            if result := results.get(as_text(call.get("call_id"))):
                yield TranscriptMessage(value=result, location=place)


def _calls(interaction: JSONObject) -> list[JSONObject]:
    return as_objects(as_object(interaction.get("response")).get("tool_calls"))


def _results(body: JSONObject) -> dict[str, JSONObject]:
    """Return the results of calls by their ids."""
    inputs = [
        as_object(message.get("tool_result"))
        for interaction in as_objects(body.get("llm_interactions"))
        for message in as_objects(interaction.get("input_messages"))
    ]
    steps = [
        {**result, "ts": step.get("timestamp")}
        for step in as_objects(body.get("agent_steps"))
        for result in as_objects(step.get("tool_results"))
    ]
    return {as_text(result["call_id"]): _result(result) for result in [*inputs, *steps] if result.get("call_id")}


def _result(result: JSONObject) -> JSONObject:
    has_failed = result.get("success") is False
    error = text_or_json(result["error"]) if result.get("error") else ""
    content = result.get("result")
    return {
        "role": "tool",
        "tool_call_id": result.get("call_id"),
        "content": error if content in (None, "") else content,
        **({"error": error or "error"} if has_failed else {}),
        **({"ts": result["ts"]} if result.get("ts") else {}),
    }


def _answer(interaction: JSONObject) -> JSONObject:
    response = as_object(interaction.get("response"))
    calls: list[JSONValue] = [{name: call.get(key) for key, name in _CALL.items()} for call in _calls(interaction)]
    model, answer_model = interaction.get("model"), response.get("model")
    usage: JSONObject = {name: count for name, count in as_object(response.get("usage")).items() if count}
    facts: JSONObject = {
        "model": model or answer_model,
        "response_model": answer_model if model and answer_model != model else None,
        "finish_reason": response.get("finish_reason"),
        "usage": usage,
        "ts": interaction.get("timestamp"),
    }
    facts = {name: item for name, item in facts.items() if item}
    return {"role": "assistant", "content": response.get("content") or None, "tool_calls": calls, **facts}
