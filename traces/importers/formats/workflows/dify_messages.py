"""Messages of Dify's chats: a request with its answer, the thoughts of the agent, and the retrieved documents."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_number, as_object, as_objects, as_text, first_member, member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common import transcripts
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import add_milliseconds, parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import parse_embedded

FORMAT: Final = "dify"
_FIELDS: Final = ("query", "answer", "agent_thoughts", "created_at", "message", "metadata", "feedback", "feedbacks")
_RATINGS: Final = {"like": JudgementKind.PASS, "dislike": JudgementKind.FAIL}


def is_message(body: JSONObject) -> bool:
    return {"conversation_id", "query", "answer"} <= body.keys()


def build_runs(messages: Iterable[tuple[JSONObject, str]]) -> Iterator[RecordedRun]:
    """Yield one run per conversation."""
    conversations: dict[str, list[tuple[JSONObject, str]]] = {}
    for body, location in messages:
        conversations.setdefault(as_text(body["conversation_id"]), []).append((body, location))
    for id, items in conversations.items():
        # The API lists the newest message of some pages first.
        yield _run(id, sorted(items, key=lambda item: as_text(item[0].get("created_at"))))


def _run(id: str, messages: Sequence[tuple[JSONObject, str]]) -> RecordedRun:
    judgements: list[RecordedJudgement] = []
    entries: list[TranscriptMessage] = []
    for body, location in messages:
        entries += [TranscriptMessage(value=value, location=location) for value in _messages(body)]
        judgements += _judgements(body, f"msg-{len(entries)}")
    errors = [body for body, _ in messages if body.get("error")]
    return build_run(
        RunFacts(external_id=id, app=FORMAT, format=FORMAT, failed=bool(errors), judgements=judgements),
        transcripts.build_steps(entries, TranscriptSettings()),
        location=messages[0][1],
    )


def _messages(body: JSONObject) -> Iterator[JSONObject]:
    """Yield the request, the thoughts with their calls and results, and the answer."""
    time = parse_time(body.get("created_at"), "/created_at")
    latency = as_number(body.get("provider_response_latency")) or as_number(
        member(body, "metadata", "usage", "latency")
    )
    end = add_milliseconds(time, latency * 1000) if latency else None
    yield {
        "role": "user",
        "content": body["query"],
        "ts": body.get("created_at"),
        **omit(body, *_FIELDS, "error", "id"),
    }
    thoughts = as_objects(body.get("agent_thoughts"))
    for thought in thoughts:
        calls = list(_calls(thought))
        if calls:
            yield {
                "role": "assistant",
                "content": thought.get("thought"),
                "ts": thought.get("created_at"),
                "tool_calls": [*calls],
                **omit(thought, "thought", "created_at", "tool", "tool_input", "observation", "message_id"),
            }
        yield from _results(thought, calls)
    last = thoughts[-1] if thoughts else {}
    usage = as_object(member(body, "metadata", "usage"))
    answer: JSONObject = {
        "role": "assistant",
        "content": body["answer"],
        "ts": last.get("created_at") or (end.isoformat() if end else None),
        "id": body.get("id"),
        "thought": last.get("thought") if last.get("thought") != body["answer"] and not last.get("tool") else None,
        "usage": usage or {"input_tokens": body.get("message_tokens"), "output_tokens": body.get("answer_tokens")},
        "error": body.get("error"),
        "metadata": omit(as_object(body.get("metadata")), "usage"),
        "prompt": body.get("message"),
    }
    if as_text(usage.get("currency") or "USD") == "USD":
        answer["cost"] = usage.get("total_price")
    yield answer


def _calls(thought: JSONObject) -> Iterator[JSONObject]:
    """Yield the calls of a thought: several have their names joined by semicolons, and an input for each."""
    inputs = as_object(parse_embedded(thought.get("tool_input")))
    for name in filter(None, as_text(thought.get("tool")).split(";")):
        arguments = inputs.get(name, inputs or thought.get("tool_input"))
        yield {"id": f"{as_text(thought.get('id'))}:{name}", "name": name, "arguments": arguments}


def _results(thought: JSONObject, calls: Sequence[JSONObject]) -> Iterator[JSONObject]:
    observation = thought.get("observation")
    results = as_object(parse_embedded(observation))
    for call in calls:
        name = as_text(call["name"])
        result: JSONValue = results.get(name, observation)
        if result not in (None, ""):
            yield {"role": "tool", "content": result, "tool_call_id": call["id"], "name": name}


def _judgements(body: JSONObject, step: str) -> Iterator[RecordedJudgement]:
    for feedback in [as_object(body.get("feedback")), *as_objects(as_list(body.get("feedbacks")))]:
        if kind := _RATINGS.get(as_text(feedback.get("rating"))):
            yield RecordedJudgement(
                name="feedback",
                kind=kind,
                text=as_text(feedback.get("content")),
                by=as_text(first_member(feedback, "from_source")),
                step=step,
            )
