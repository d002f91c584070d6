"""browser-use: histories of an agent (`save_history`), of all versions.

An answer is an object with the agent's state and its actions. The result of an action has the same place in its list.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "browser-use"
_SETTINGS: Final = TranscriptSettings(agent=FORMAT)
_TASK: Final = re.compile(r"<user_request>\s*(.+?)\s*</user_request>", re.S)
# Beside the action, earlier versions write the element that it is about.
_ELEMENT: Final = "interacted_element"
_OUTPUTS: Final = ("extracted_content", "long_term_memory")
# A picture as a text of some 100 kB.
_PICTURE: Final = "screenshot"


def is_history(value: JSONValue) -> bool:
    """Return True if `value` is a history."""
    first = as_object(next(iter(_items(value)), None))
    return {"model_output", "result", "state"} <= first.keys() and has_list(first, "result")


def _items(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else as_list(as_object(value).get("history"))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per history."""
    for record in source.records():
        yield _run(record.value, record.location)


def _run(value: JSONValue, location: str) -> RecordedRun:
    items, holder = as_objects(_items(value)), as_object(value)
    entries = [_entry(item, f"{location}/history/{index}") for index, item in enumerate(items)]
    results = [as_object(result) for item in items for result in as_list(item.get("result"))]
    final = next((result for result in reversed(results) if result.get("is_done") is True), {})
    steps = transcripts.replace_output(
        transcripts.build_steps(entries, _SETTINGS), as_text(first_member(final, "extracted_content"))
    )
    error = as_text(results[-1].get("error")) if results else ""
    if error:
        steps[0] = replace(steps[0], status=StepStatus.ERROR, error=error)
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id(value, location)}",
            app=FORMAT,
            format=FORMAT,
            title=_task(items),
            has_ended=bool(final) or bool(error),
            metadata=omit(holder, "history"),
            judgements=_judgements(final),
        ),
        steps,
        location=location,
    )


def _task(items: list[JSONObject]) -> str:
    """Return the task, which is a part of the requests only."""
    match = _TASK.search(as_text(items[0].get("state_message"))) if items else None
    return match[1] if match else ""


def _judgements(final: JSONObject) -> Iterator[RecordedJudgement]:
    """Yield what the agent and its judge state about the outcome."""
    if isinstance(success := final.get("success"), bool):
        yield judgement("success", success, author="agent")
    verdict = as_object(final.get("judgement"))
    if isinstance(verdict.get("verdict"), bool):
        yield judgement("is_correct", verdict["verdict"], author="judge", detail=omit(verdict, "verdict"))


def _entry(item: JSONObject, location: str) -> TranscriptMessage:
    metadata, output = as_object(item.get("metadata")), as_object(item.get("model_output"))
    request = as_text(item.get("state_message"))
    ended_at = parse_time(metadata.get("step_end_time"), f"{location}/metadata")
    results = as_objects(item.get("result"))
    facts: JSONObject = {
        "usage": {"input_tokens": metadata["input_tokens"]} if metadata.get("input_tokens") else None,
        "state": omit(as_object(item.get("state")), _PICTURE, _ELEMENT),
        "step": omit(metadata, "step_start_time", "step_end_time", "input_tokens"),
        # Without an answer, the result is why there is none.
        "error": as_text(results[0].get("error")) or None if results and not output else None,
    }
    return TranscriptMessage(
        value={
            "role": "assistant",
            "content": orjson.dumps(output).decode() if output else None,
            **{name: fact for name, fact in facts.items() if fact},
        },
        location=location,
        request_messages=[{"role": "user", "content": request}] if request else None,
        actions=tuple(_actions(item, output, results, ended_at)),
        started_at=parse_time(metadata.get("step_start_time"), f"{location}/metadata"),
    )


def _actions(
    item: JSONObject, output: JSONObject, results: list[JSONObject], ended_at: datetime | None
) -> Iterator[TextAction]:
    """Yield the actions of an answer. After one that fails or changes the page, the others are not done."""
    elements = as_list(as_object(item.get("state")).get(_ELEMENT))
    for index, action in enumerate(as_objects(output.get("action"))):
        result = results[index] if index < len(results) else None
        name = next((key for key in action if key != _ELEMENT), "")
        element = elements[index] if index < len(elements) else None
        yield _action(name, action.get(name), result, first_member(action, _ELEMENT) or element, ended_at)


def _action(
    name: str, arguments: JSONValue, result: JSONObject | None, element: JSONValue, ended_at: datetime | None
) -> TextAction:
    facts = result or {}
    error = as_text(facts.get("error"))
    details = {key: fact for key, fact in omit(facts, _OUTPUTS[0], "error").items() if fact is not None}
    return TextAction(
        name=name,
        arguments={} if arguments is None else arguments,
        output=first_member(facts, *_OUTPUTS),
        error=error,
        status=StepStatus.ERROR if error else StepStatus.PARTIAL if result is None else StepStatus.OK,
        ended_at=None if result is None else ended_at,
        attributes={**details, **({_ELEMENT: element} if element else {})},
    )
