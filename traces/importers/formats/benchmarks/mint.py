"""MINT: results of a task with the state of its conversation, in which the program answers as the user."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "mint"


def is_result(value: JSONValue) -> bool:
    """Return True if `value` is the result of a task."""
    body = as_object(value)
    return has_list(body.get("state"), "history") and "task" in body


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per result."""
    for body, location in source.entries():
        yield _run(body, location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    state, task = as_object(body.get("state")), as_object(body.get("task"))
    messages = as_objects(state.get("history"))
    first_answer = next((index for index, message in enumerate(messages) if message.get("role") == "assistant"), 0)
    entries = [
        TranscriptMessage(
            value=message,
            location=f"{location}/state/history/{index}",
            # What follows is what the program observed, and feedback of another model.
            is_injected=message.get("role") == "user" and index > first_answer,
        )
        for index, message in enumerate(messages)
    ]
    reason = as_text(state.get("terminate_reason"))
    steps = benchmark_scores.fail_without_turns(transcripts.build_steps(entries, TranscriptSettings()), reason)
    id = as_text(task.get("task_id"))
    return build_run(
        RunFacts(
            external_id=f"{id or FORMAT}-{content_id(body, location)}",
            app=app_name(task.get("task_name")) or FORMAT,
            format=FORMAT,
            failed=bool(state.get("error")),
            tags=[f"task:{id}"] if id else [],
            metadata={"task": task, **{name: item for name, item in state.items() if name != "history"}},
            judgements=_judgements(state, reason),
        ),
        steps,
        location=location,
    )


def _judgements(state: JSONObject, reason: str) -> Iterator[RecordedJudgement]:
    if isinstance(success := state.get("success"), bool):
        yield judgement("success", success)
    if reason:
        yield termination(reason)
