"""smolagents: the steps of an agent's memory, and its messages, which write calls as texts.

Steps have the requests of their model calls. The messages of a memory follow an answer by its calls (`tool-call`) and
what they returned (`tool-response`). Rows of evaluations may have either as Python's `repr()` of the objects.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import termination
from traces.importers.common.messages import is_message, message_text, normalize_messages, result_text
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files import python_literals
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "smolagents"
_CALL_ROLES: Final = ("tool-call", "tool-response")
_CALLING: Final = "Calling tools:"
_OBSERVATION: Final = "Observation:"
_ERROR: Final = "Error:"
_HOLDERS: Final = ("steps", "intermediate_steps", "messages")
_OTHER_FIELDS: Final = ("action_output", "is_final_answer", "step_number")
# Python needs much memory for the representation of many values.
_MOST_CALL_TEXT: Final = 200_000
# The text of a step or message.
_OBJECT: Final = re.compile(r"(?:SystemPrompt|Task|Planning|Action|FinalAnswer)Step\(|ChatMessage\(")
_LIMIT: Final = "max_steps"
_CODE_TOOL: Final = "python_interpreter"
_ANSWER_TOOL: Final = "final_answer"


def sniff(sample: Sample) -> float:
    """Return the confidence that the file contains steps or messages of smolagents."""
    return 1.0 if any(_items(value) or _is_failed_row(value) for value in sample.values) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per memory."""
    for record in source.records():
        yield from _runs(record.value, record.location, source)


def _runs(value: JSONValue, location: str, source: Source) -> Iterator[RecordedRun]:
    if (items := _items(value)) or _is_failed_row(value):
        if {} in items:
            reason = "a step is the text of an object that is too long or damaged"
            source.problems.append(BadFile(reason, f"{location}/{items.index({})}"))
        yield _run(as_object(value), [item for item in items if item], location, source.name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _runs(item, f"{location}/{index}", source)
    else:
        raise BadFile("neither steps nor messages of smolagents", location or "/")


def _items(value: JSONValue) -> list[JSONObject]:
    """Return the steps or messages in `value`: a list of them, or an object that contains one."""
    values = as_list(value if isinstance(value, list) else first_member(as_object(value), *_HOLDERS))
    items = [item for part in values if isinstance(item := _parse_item(part), dict)]
    is_memory = any(_is_step(item) or as_text(item.get("role")) in _CALL_ROLES for item in items)
    return items if is_memory else []


def _parse_item(value: JSONValue) -> JSONValue:
    """Return a step or message from the text of its object; an empty object for a text that cannot be read."""
    if not isinstance(value, str) or not _OBJECT.match(value):
        return value
    return python_literals.parse_object(value) or {}


def _is_failed_row(value: JSONValue) -> bool:
    """Return whether `value` is the row of an evaluation whose agent failed before any step."""
    body = as_object(value)
    return bool(body.get("agent_error")) and {"agent_name", "question", "intermediate_steps"} <= body.keys()


def _is_step(item: JSONObject) -> bool:
    return "step_number" in item and not item.keys().isdisjoint({"observations", "code_action", "model_output"})


def _run(body: JSONObject, items: list[JSONObject], location: str, name: str) -> RecordedRun:
    is_steps = any(map(_is_step, items))
    entries = list(_steps(items, location) if is_steps else _messages(items, location))
    # `task` is the level of a question of GAIA.
    task = as_text(first_member(body, "question", "augmented_question", "task"))
    if task and not is_steps and not any(as_object(entry.value).get("role") == "user" for entry in entries):
        entries = [TranscriptMessage(value={"role": "user", "content": task}, location=location), *entries]
    setting = TranscriptSettings(model=as_text(first_member(body, "model_id", "model")), agent=FORMAT)
    finals = (item.get("output") if "output" in item else _final_output(item) for item in reversed(items))
    answer = next((final for final in finals if final is not None), body.get("prediction"))
    steps = transcripts.build_steps(entries, setting)
    answer = _called_answer(steps) if answer is None else answer
    if answer is not None:
        steps = transcripts.replace_output(steps, result_text(answer))
    failure, task_id = as_text(body.get("agent_error")), as_text(body.get("task_id"))
    if failure:
        steps[0] = replace(steps[0], status=StepStatus.ERROR, error=failure)
    steps[0] = _with_totals(steps, as_object(body.get("token_counts")), location)
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([body or [*items]], location)}",
            app=FORMAT,
            format=FORMAT,
            name=task or name,
            failed=bool(failure),
            tags=[f"task:{task_id}"] if task_id else [],
            judgements=[
                *benchmark_scores.read_judgements(body),
                *([termination(_LIMIT)] if body.get("iteration_limit_exceeded") is True else []),
            ],
            metadata={key: item for key, item in body.items() if key not in _HOLDERS},
        ),
        steps,
        location=location,
    )


def _with_totals(steps: list[RecordedStep], counts: JSONObject, location: str) -> RecordedStep:
    """Return the agent with the tokens of its row, unless its model calls have theirs."""
    if not counts or any(step.tokens_in or step.tokens_out for step in steps):
        return steps[0]
    usage = normalize_usage(counts, location)
    return replace(steps[0], tokens_in=usage.tokens_in, tokens_out=usage.tokens_out)


def _final_output(item: JSONObject) -> JSONValue:
    return item.get("action_output") if item.get("is_final_answer") is True else None


def _called_answer(steps: list[RecordedStep]) -> JSONValue:
    """Return the answer that an agent gave by its last call; None if that was another call, or failed."""
    call = next((step for step in reversed(steps) if step.type is StepType.TOOL), None)
    if call is None or call.tool_name != _ANSWER_TOOL or call.error:
        return None
    # The result of parallel calls is one text.
    return as_object(call.input).get("answer") if "joined_results" in call.attributes else call.output


def _steps(items: list[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    observation = ""
    for index, item in enumerate(items):
        place = f"{location}/{index}"
        if observation:
            # As a memory writes it for the next request.
            value: JSONObject = {"role": "user", "content": f"{_OBSERVATION}\n{observation}"}
            yield TranscriptMessage(value=value, location=place, is_injected=True)
        # The results of other calls are messages of their own.
        observation = as_text(item.get("observations")) if _name(_calls(item)) == _CODE_TOOL else ""
        if "task" in item:
            yield TranscriptMessage(value={"role": "user", "content": item["task"]}, location=place)
        elif "system_prompt" in item:
            yield TranscriptMessage(value={"role": "system", "content": item["system_prompt"]}, location=place)
        elif _is_step(item) or "plan" in item:
            yield from _step(item, place)


def _step(item: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the answer of a step, and what its calls returned."""
    answer = as_object(item.get("model_output_message"))
    calls = _calls(item)
    is_code = _name(calls) == _CODE_TOOL
    text = first_member(item, "model_output", "plan") or answer.get("content")
    error = as_object(item.get("error"))
    message = as_text(error.get("message")) or as_text(item.get("error"))
    times = as_object(item.get("timing"))
    value: JSONObject = {
        "role": "assistant",
        "content": text or None,
        "ts": first_member(times, "end_time") or item.get("end_time"),
        "usage": first_member(item, "token_usage") or first_member(answer, "token_usage"),
        "model": as_object(answer.get("raw")).get("model"),
        **({} if calls or not error else {"step_error": error}),
        **({"tool_calls": calls} if calls and not is_code else {}),
    }
    requests = [{**message, **_plain(message)} for message in as_objects(item.get("model_input_messages"))]
    yield TranscriptMessage(
        value={key: part for key, part in value.items() if part is not None or key == "content"},
        location=location,
        actions=(_action(item, calls, message),) if is_code else (),
        request_messages=[*requests] or None,
        started_at=parse_time(first_member(times, "start_time") or item.get("start_time"), location),
    )
    if calls and not is_code:
        yield from _results(calls, item.get("observations"), message, location, _error_type(item))


def _calls(item: JSONObject) -> list[JSONValue]:
    calls = as_objects(item.get("tool_calls")) or as_objects(
        as_object(item.get("model_output_message")).get("tool_calls")
    )
    return [call if "function" in call else {"id": call.get("id"), "function": omit(call, "id")} for call in calls]


def _name(calls: list[JSONValue]) -> str:
    return as_text(as_object(as_object(next(iter(calls), None)).get("function")).get("name"))


def _action(item: JSONObject, calls: list[JSONValue], error: str) -> TextAction:
    """Return the code that a step ran."""
    code = item.get("code_action") or as_object(as_object(calls[0]).get("function")).get("arguments")
    call_id = as_text(as_object(calls[0]).get("id"))
    other_fields: JSONObject = {
        **{name: item[name] for name in _OTHER_FIELDS if item.get(name)},
        **({"call_id": call_id} if call_id else {}),
        **_error_type(item),
    }
    return TextAction(
        name=_CODE_TOOL,
        arguments={"code": code},
        output=item.get("observations"),
        error=error,
        status=StepStatus.ERROR if error else StepStatus.OK,
        attributes=other_fields,
    )


def _error_type(item: JSONObject) -> JSONObject:
    """Return the class of the error of a step as a field; empty without one."""
    error = as_object(item.get("error"))
    return {"error_type": error["type"]} if error.get("type") else {}


def _results(
    calls: list[JSONValue], observation: JSONValue, error: str, location: str, fields: JSONObject
) -> Iterator[TranscriptMessage]:
    """Yield the results of calls. smolagents joins those of parallel calls, which are shown with each of them."""
    joined_count = {"joined_results": len(calls)} if len(calls) > 1 else {}
    for call in calls:
        content = error if observation is None else observation
        value: JSONObject = {
            "role": "tool",
            "tool_call_id": as_object(call).get("id"),
            "content": content,
            **joined_count,
            **fields,
        }
        yield TranscriptMessage(value={**value, **({"error": error} if error else {})}, location=location)


def _messages(items: list[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    """Yield the messages of a memory. An answer and its calls are one message, and a response is the calls' result."""
    calls: list[JSONValue] = []
    previous = ""
    for index, item in enumerate(items):
        place, role = f"{location}/{index}", as_text(item.get("role"))
        is_part = role == _CALL_ROLES[0] and previous == "assistant" and bool(calls)
        previous = role
        if is_part:
            continue
        if role == "assistant":
            follower = items[index + 1] if index + 1 < len(items) else {}
            calls = _parse_calls(follower)
            yield TranscriptMessage(value={**_plain(item), **({"tool_calls": calls} if calls else {})}, location=place)
        elif role == _CALL_ROLES[0]:
            # The calls of an answer without a text.
            calls = _parse_calls(item)
            parts = {"content": None, "tool_calls": calls} if calls else {"content": message_text(_plain(item))}
            yield TranscriptMessage(value={"role": "assistant", **parts}, location=place)
        elif role == _CALL_ROLES[1] and calls:
            text = message_text(_plain(item))
            error = text.removeprefix(_ERROR).strip() if text.startswith(_ERROR) else ""
            yield from _results(calls, text.removeprefix(_OBSERVATION).lstrip("\n"), error, place, {})
            calls = []
        else:
            is_injected = role == _CALL_ROLES[1]
            yield TranscriptMessage(value=_plain(item), location=place, is_injected=is_injected)


def _parse_calls(message: JSONObject) -> list[JSONValue]:
    """Return the calls in the text of a message, which is their representation in Python; empty for other messages."""
    text = message_text(_plain(message)) if message.get("role") == _CALL_ROLES[0] else ""
    if len(text) > _MOST_CALL_TEXT:
        return []
    try:
        calls = ast.literal_eval(text.partition(_CALLING)[2].strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [call for call in as_list(calls) if as_object(call).get("function")]


def _plain(message: JSONObject) -> JSONObject:
    """Return the role and content of a message, in the normal form."""
    message = {name: message[name] for name in ("role", "content", "tool_calls") if message.get(name) is not None}
    return normalize_messages(message)[0] if is_message(message) else message
