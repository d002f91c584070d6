"""OSWorld: `traj.jsonl`, one line per action of an agent on a desktop. The task is not in the file."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "osworld"
_FIELDS: Final = frozenset({"step_num", "action_timestamp", "action"})
# Such as `20250508@130100`, in the local time of the machine, and with microseconds in later versions.
_TIMES: Final = ("%Y%m%d@%H%M%S", "%Y%m%d@%H%M%S%f")


def is_step(value: JSONValue) -> bool:
    """Return True if `value` is a line about an action."""
    return as_object(value).keys() >= _FIELDS


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the file. Lines of one step number are actions of one answer."""
    lines = list(source.objects())
    actions: list[tuple[JSONObject, str]] = [(line, location) for line, location in lines if is_step(line)]
    groups: list[list[tuple[JSONObject, str]]] = []
    for line, location in actions:
        if groups and groups[-1][-1][0].get("step_num") == line.get("step_num"):
            groups[-1].append((line, location))
        else:
            groups.append([(line, location)])
    request = next((as_text(line["instruction"]) for line, _ in actions if line.get("instruction")), "")
    task: JSONObject = {"role": "user", "content": request}
    entries = [TranscriptMessage(value=task, location=actions[0][1])] if request else []
    entries += [_entry(group, has_task=bool(request)) for group in groups]
    steps = transcripts.build_steps(entries, TranscriptSettings(agent=FORMAT))
    errors = [as_text(first_member(line, "Error", "error")) for line, _ in lines if not is_step(line)]
    error = next(filter(None, reversed(errors)), "")
    if error:
        steps[0] = replace(steps[0], status=StepStatus.ERROR, error=error)
    rewards = [reward for line, _ in actions if isinstance(reward := line.get("reward"), int | float) and reward]
    yield build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([line for line, _ in lines], '')}",
            app=FORMAT,
            format=FORMAT,
            name=source.name,
            failed=bool(error),
            metadata={"other_lines": [line for line, _ in lines if not is_step(line)]},
            # Every step has the reward 0, because the environment does not compute it.
            judgements=[judgement("reward", float(rewards[-1]))] if rewards else [],
        ),
        steps,
        location=source.name,
    )


def _entry(group: list[tuple[JSONObject, str]], *, has_task: bool) -> TranscriptMessage:
    line, location = group[0]
    return TranscriptMessage(
        value={**_answer(line), "role": "assistant", "step_num": line.get("step_num")},
        location=location,
        request_messages=None if has_task else [],
        actions=tuple(_action(line) for line, _ in group),
    )


def _answer(line: JSONObject) -> JSONObject:
    """Return the answer: a text, or an object with the text and what the agent recorded of the call."""
    response = first_member(line, "response", "raw_response")
    if not isinstance(response, dict):
        return {"content": response if isinstance(response, str | None) else text_or_json(response)}
    text = first_member(response, "raw_response", "response", "content", "text")
    facts = {name: item for name, item in response.items() if item not in (None, "", [], {}) and item != text}
    return {**facts, "content": text if isinstance(text, str) else text_or_json(text) if text else None}


def _action(line: JSONObject) -> TextAction:
    action = line.get("action")
    body = as_object(action)
    info = as_object(line.get("info"))
    error = as_text(first_member(info, "error")) or ("failed" if info.get("fail") is True else "")
    facts = {name: item for name, item in line.items() if name not in (*_FIELDS, "response", "instruction")}
    return TextAction(
        name=as_text(first_member(body, "name", "action_type")) or "computer",
        arguments=body.get("input") if isinstance(body.get("input"), dict) else {"action": action},
        output=facts,
        error=error,
        status=StepStatus.ERROR if error else StepStatus.OK,
        ended_at=_time(as_text(line.get("action_timestamp"))),
        attributes={"action_timestamp": line.get("action_timestamp"), **({"action": action} if body else {})},
    )


def _time(text: str) -> datetime | None:
    for form in _TIMES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
