"""ShareGPT conversations: `conversations` of `{from, value}`, as data sets for training have them."""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_tools
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, parse_embedded, require_list, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

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
_CALLS: Final = frozenset({"function_call", "tool_call", "function-call"})
_NOT_METADATA: Final = frozenset({"conversations", "conversation", "tools", "system", "id"})
_SCORES: Final = ("reward", "score", "rating", "correct", "success", "resolved")
_TAGGED: Final = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|$)", re.S)


def recognises(sample: Sample) -> float:
    """How sure it is that the file holds ShareGPT conversations."""
    return 1.0 if any(_turns(each) for each in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each conversation."""
    return (_run(body, where) for body, where in source.entries())


def _turns(body: JSONObject) -> bool:
    turn = obj(next(iter(items(first(body, "conversations", "conversation"))), None))
    return {"from", "value"} <= turn.keys()


def _run(body: JSONObject, where: str) -> RecordedRun:
    listed = require_list(first(body, "conversations", "conversation"), f"{where}/conversations")
    turns = [obj(each) for each in listed]
    model = text(first(body, "model", "model_name"))
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        system=body.get("system"),
        tools=normalize_tools(body.get("tools") or []),
    )
    said = list(_messages(turns, f"{where}/conversations"))
    return build_run(
        RunFacts(
            external_id=text(first(body, "id", "conversation_id")) or f"{FORMAT}-{content_id(body, where)}",
            app=FORMAT,
            format=FORMAT,
            metadata={key: value for key, value in body.items() if key not in _NOT_METADATA},
            judgements=[judgement(name, body[name]) for name in _SCORES if body.get(name) is not None],
        ),
        transcripts.build_steps(said, setting),
        location=where,
    )


def _messages(turns: list[JSONObject], where: str) -> Iterator[TranscriptMessage]:
    called = False  # whether what was said last, besides results, was a call
    for at, turn in enumerate(turns):
        role = _role(turn, f"{where}/{at}")
        if role == "tool":
            # the result of a call that stands in a text has no call to answer: the model is shown it as it is
            value: JSONObject = {"role": "tool" if called else "user", "content": turn.get("value")}
            yield TranscriptMessage(location=f"{where}/{at}", value=value, is_injected=not called)
            continue
        called = _speaker(turn) in _CALLS
        after = turns[at + 1] if at + 1 < len(turns) else {}
        yield _said(turn, role, after if _ROLES.get(_speaker(after)) == "tool" else {}, f"{where}/{at}")


def _speaker(turn: JSONObject) -> str:
    return text(turn.get("from")).strip().lower()


def _role(turn: JSONObject, where: str) -> str:
    if _speaker(turn) not in _ROLES:
        raise BadFile(f"{_speaker(turn)[:40]!r} is no speaker of a ShareGPT conversation", f"{where}/from")
    return _ROLES[_speaker(turn)]


def _said(turn: JSONObject, role: str, result: JSONObject, where: str) -> TranscriptMessage:
    content = turn.get("value")
    if _speaker(turn) in _CALLS:
        return TranscriptMessage(location=where, value={"role": role, "content": None, "tool_calls": _calls(content)})
    actions = tuple(_tagged(text(content), result)) if role == "assistant" else ()
    return TranscriptMessage(location=where, value={"role": role, "content": content}, actions=actions)


def _calls(value: JSONValue) -> list[JSONValue]:
    """The calls of a turn that is nothing else: one as JSON, or a list of them."""
    parsed = parse_embedded(value)
    return [{**obj(each), "id": ""} for each in (parsed if isinstance(parsed, list) else [parsed])]


def _tagged(content: str, result: JSONObject) -> Iterator[TextAction]:
    """Calls inside an answer's text, as Hermes models write them."""
    for call in (obj(parse_embedded(found)) for found in _TAGGED.findall(content)):
        if name := text(call.get("name")):
            yield TextAction(
                name=name,
                arguments=first(call, "arguments", "parameters"),
                output=result.get("value"),
                status=StepStatus.OK if result else StepStatus.PARTIAL,
            )
