"""ShareGPT conversations: lists of `{from, value}` or `{role, value}`, the usual shape of training data sets.

Most files have the list in `conversations`, those of ShareGPT's page in `items`, and some have nothing else.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, list_or_single, omit, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files import python_literals
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, require_list
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.training.text_calls import MOST_RESULTS, answer_actions

FORMAT: Final = "sharegpt"
_ROLES: Final = {
    "human": "user",
    "user": "user",
    "prompter": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "claude": "assistant",
    "gemini": "assistant",
    "deepseek": "assistant",
    "grok": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "function_call": "assistant",
    "tool_call": "assistant",
    "function-call": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
    "function-response": "tool",
    "tool_response": "tool",
    "function": "tool",
}
# Members of a turn that has a request and its answer.
_PAIR: Final = ("system", "human", "assistant")
_CALLS: Final = frozenset({"function_call", "tool_call", "function-call"})
_HOLDERS: Final = ("conversations", "conversation", "items")
_NOT_METADATA: Final = frozenset({*_HOLDERS, "tools", "system", "id"})
# Of a turn, what the message has under another name.
_TURN_MEMBERS: Final = ("from", "role", "value", "content", "tool_calls")
# Values of a list that are looked at to detect the format.
_SAMPLE_SIZE: Final = 20
_SCORES: Final = ("reward", "score", "rating", "correct", "success", "resolved")


def sniff(sample: Sample) -> float:
    """Return the confidence that the file contains ShareGPT conversations."""
    values = [
        item for value in sample.values for item in (value[:_SAMPLE_SIZE] if isinstance(value, list) else [value])
    ]
    is_list = any(_is_bare(value) for value in sample.values)
    return 1.0 if is_list or any(map(_is_conversation, values)) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per conversation; skip those that cannot be read."""
    for value, location in _conversations(source):
        try:
            yield _run(value, location)
        except BadFile as problem:
            source.problems.append(problem)


def _conversations(source: Source) -> Iterator[tuple[JSONValue, str]]:
    for record in source.records():
        if not isinstance(record.value, list) or _is_bare(record.value):
            yield record.value, record.location
            continue
        for index, value in enumerate(record.value):
            yield value, f"{record.location}/{index}"


def _is_bare(value: JSONValue) -> bool:
    """Return whether a value is the list of turns itself."""
    turn = as_object(next(iter(as_list(value)), None))
    return "from" in turn and _is_turn(turn)


def _is_conversation(value: JSONValue) -> bool:
    body = as_object(value)
    turn = as_object(next(iter(as_list(first_member(body, *_HOLDERS))), None))
    return _is_bare(value) or _is_turn(turn) or _is_pair(turn)


def _is_turn(turn: JSONObject) -> bool:
    return "value" in turn and _speaker(turn) in _ROLES


def _is_pair(turn: JSONObject) -> bool:
    return {"human", "assistant"} <= turn.keys() <= {*_PAIR}


def _split_pair(turn: JSONObject) -> list[JSONObject]:
    """Return the turns of a pair; any other turn as it is."""
    if not _is_pair(turn):
        return [turn]
    return [{"from": speaker, "value": turn[speaker]} for speaker in _PAIR if turn.get(speaker)]


def _run(value: JSONValue, location: str) -> RecordedRun:
    body: JSONObject = {_HOLDERS[0]: value} if isinstance(value, list) else as_object(value)
    holder = next((name for name in _HOLDERS if name in body), _HOLDERS[0])
    turns_location = location if isinstance(value, list) else f"{location}/{holder}"
    turn_values = require_list(body.get(holder), turns_location)
    turns = [turn for value in turn_values for turn in _split_pair(as_object(value))]
    # Hermes Agent writes it there.
    model = as_text(first_member(body, "model", "model_name") or as_object(body.get("metadata")).get("model"))
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        system=body.get("system"),
        tools=normalize_tools(body.get("tools") or []),
    )
    messages = list(_messages(turns, turns_location))
    return build_run(
        RunFacts(
            external_id=as_text(first_member(body, "id", "conversation_id"))
            or f"{FORMAT}-{content_id(value, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata={key: value for key, value in body.items() if key not in _NOT_METADATA},
            judgements=[judgement(name, body[name]) for name in _SCORES if body.get(name) is not None],
        ),
        transcripts.build_steps(messages, setting),
        location=location,
    )


def _messages(turns: list[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    # Calls of the last turn that is not a result.
    calls: list[JSONValue] = []
    for index, turn in enumerate(turns):
        place = f"{location}/{index}"
        role = _role(turn, place)
        if role == "tool":
            yield from _results(turn, len(calls), place, is_single=len(_results_after(turns, index)) == 0)
            continue
        calls = _calls(turn.get("value")) if _speaker(turn) in _CALLS else []
        message: JSONObject = {**omit(turn, *_TURN_MEMBERS), "role": role, "content": turn.get("value")}
        if calls:
            yield TranscriptMessage(location=place, value={**message, "content": None, "tool_calls": calls})
            continue
        actions = _text_actions(turn, _results_after(turns, index)) if role == "assistant" else ()
        yield TranscriptMessage(location=place, value=message, actions=actions)


def _results(turn: JSONObject, call_count: int, location: str, *, is_single: bool) -> Iterator[TranscriptMessage]:
    """Yield a result for each call if a list has one for each; otherwise the turn as it is."""
    content, members = turn.get("value"), omit(turn, *_TURN_MEMBERS)
    if not call_count:
        # A call inside a text has no call id to answer: pass its result to the model as a user message.
        yield TranscriptMessage(
            location=location, value={**members, "role": "user", "content": content}, is_injected=True
        )
        return
    outputs = as_list(parse_embedded(content)) if is_single and call_count > 1 else []
    is_by_call = len(outputs) == call_count
    for output in [text_or_json(item) for item in outputs] if is_by_call else [content]:
        yield TranscriptMessage(location=location, value={**members, "role": "tool", "content": output})


def _results_after(turns: list[JSONObject], index: int) -> list[JSONValue]:
    """Return the results that follow a turn."""
    results: list[JSONValue] = []
    for turn in turns[index + 1 : index + 1 + MOST_RESULTS]:
        if _ROLES.get(_speaker(turn)) != "tool":
            break
        results.append(turn.get("value"))
    return results


def _speaker(turn: JSONObject) -> str:
    return as_text(first_member(turn, "from", "role")).strip().lower()


def _role(turn: JSONObject, location: str) -> str:
    if _speaker(turn) not in _ROLES:
        raise BadFile(f"“{_speaker(turn)[:40]}” is not a known speaker of a ShareGPT conversation", f"{location}/from")
    return _ROLES[_speaker(turn)]


def _text_actions(turn: JSONObject, results: list[JSONValue]) -> tuple[TextAction, ...]:
    content = as_text(turn.get("value"))
    return answer_actions(content, results) or tuple(_listed_calls(content, results))


def _calls(value: JSONValue) -> list[JSONValue]:
    """Parse the JSON of a turn of calls: one call or a list."""
    calls = parse_embedded(value)
    return [{**as_object(call), "id": ""} for call in list_or_single(calls)]


def _listed_calls(content: str, results: list[JSONValue]) -> Iterator[TextAction]:
    """Yield the calls of a text that is a list of them in the syntax of Python, if results follow it."""
    calls = python_literals.parse_calls(content) if results else []
    outputs = results if len(results) > 1 else as_list(parse_embedded(next(iter(results), None)))
    is_by_call = len(outputs) == len(calls)
    for index, (name, arguments) in enumerate(calls):
        output = outputs[index] if is_by_call else results[0]
        body = as_object(output)
        yield TextAction(name=name, arguments=arguments, output=body.get("results", output))
