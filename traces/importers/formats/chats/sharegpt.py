"""ShareGPT conversations: lists of `{from, value}` or `{role, value}`, the usual shape of training data sets."""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, list_or_single
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
from traces.importers.formats.training.text_calls import text_calls

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
_NOT_METADATA: Final = frozenset({"conversations", "conversation", "tools", "system", "id"})
_SCORES: Final = ("reward", "score", "rating", "correct", "success", "resolved")


def sniff(sample: Sample) -> float:
    """Return the confidence that the file contains ShareGPT conversations."""
    return 1.0 if any(_turns(body) for body in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Return one run per conversation."""
    return (_run(body, location) for body, location in source.entries())


def _turns(body: JSONObject) -> bool:
    turn = as_object(next(iter(as_list(first_member(body, "conversations", "conversation"))), None))
    return ("value" in turn and bool(_speaker(turn))) or _is_pair(turn)


def _is_pair(turn: JSONObject) -> bool:
    return {"human", "assistant"} <= turn.keys() <= {*_PAIR}


def _split_pair(turn: JSONObject) -> list[JSONObject]:
    """Return the turns of a pair; any other turn as it is."""
    if not _is_pair(turn):
        return [turn]
    return [{"from": speaker, "value": turn[speaker]} for speaker in _PAIR if turn.get(speaker)]


def _run(body: JSONObject, location: str) -> RecordedRun:
    turn_values = require_list(first_member(body, "conversations", "conversation"), f"{location}/conversations")
    turns = [turn for value in turn_values for turn in _split_pair(as_object(value))]
    # Hermes Agent writes it there.
    model = as_text(first_member(body, "model", "model_name") or as_object(body.get("metadata")).get("model"))
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        system=body.get("system"),
        tools=normalize_tools(body.get("tools") or []),
    )
    messages = list(_messages(turns, f"{location}/conversations"))
    return build_run(
        RunFacts(
            external_id=as_text(first_member(body, "id", "conversation_id"))
            or f"{FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata={key: value for key, value in body.items() if key not in _NOT_METADATA},
            judgements=[judgement(name, body[name]) for name in _SCORES if body.get(name) is not None],
        ),
        transcripts.build_steps(messages, setting),
        location=location,
    )


def _messages(turns: list[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    # True if the last turn that is not a result was a call.
    is_after_call = False
    for index, turn in enumerate(turns):
        role = _role(turn, f"{location}/{index}")
        if role == "tool":
            # A call inside a text has no call id to answer: pass its result to the model as a user message.
            value: JSONObject = {"role": "tool" if is_after_call else "user", "content": turn.get("value")}
            yield TranscriptMessage(location=f"{location}/{index}", value=value, is_injected=not is_after_call)
            continue
        is_after_call = _speaker(turn) in _CALLS
        next_turn = turns[index + 1] if index + 1 < len(turns) else {}
        yield _recorded_message(
            turn, role, next_turn if _ROLES.get(_speaker(next_turn)) == "tool" else {}, f"{location}/{index}"
        )


def _speaker(turn: JSONObject) -> str:
    return as_text(first_member(turn, "from", "role")).strip().lower()


def _role(turn: JSONObject, location: str) -> str:
    if _speaker(turn) not in _ROLES:
        raise BadFile(f"“{_speaker(turn)[:40]}” is not a known speaker of a ShareGPT conversation", f"{location}/from")
    return _ROLES[_speaker(turn)]


def _recorded_message(turn: JSONObject, role: str, result: JSONObject, location: str) -> TranscriptMessage:
    content = turn.get("value")
    if _speaker(turn) in _CALLS:
        return TranscriptMessage(
            location=location, value={"role": role, "content": None, "tool_calls": _calls(content)}
        )
    actions: Sequence[TextAction] = ()
    if role == "assistant":
        actions = text_calls(as_text(content), result.get("value")) or [*_listed_calls(as_text(content), result)]
    return TranscriptMessage(location=location, value={"role": role, "content": content}, actions=tuple(actions))


def _calls(value: JSONValue) -> list[JSONValue]:
    """Parse the JSON of a turn of calls: one call or a list."""
    calls = parse_embedded(value)
    return [{**as_object(call), "id": ""} for call in list_or_single(calls)]


def _listed_calls(content: str, result: JSONObject) -> Iterator[TextAction]:
    """Yield the calls of a text that is a list of them in the syntax of Python, if results follow it."""
    calls = python_literals.parse_calls(content) if result else []
    outputs = as_list(parse_embedded(result.get("value")))
    is_by_call = len(outputs) == len(calls)
    for index, (name, arguments) in enumerate(calls):
        output = outputs[index] if is_by_call else result.get("value")
        body = as_object(output)
        yield TextAction(name=name, arguments=arguments, output=body.get("results", output))
