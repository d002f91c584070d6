"""Dialogues of API-Bank, by lines or as a list, in which a call with its result is a turn of its own.

{"role": "API", "api_name": …, "param_dict": {…}, "result": {"api_name", "input", "output", "exception"}}
"""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_object, as_text, omit, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "api-bank"
_SPEAKERS: Final = {"User": "user", "AI": "assistant"}
_CALLER: Final = "API"
_CALL_FIELDS: Final = ("role", "api_name", "param_dict", "result")


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is a dialogue: each of its values is a turn, or all are a list of turns."""
    turns = [item for value in sample.values for item in (value if isinstance(value, list) else [value])]
    return 1.0 if turns and all(map(_is_turn, turns)) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per list of turns; lines of turns are one dialogue."""
    lines: list[tuple[JSONObject, str]] = []
    for record in source.records():
        if isinstance(record.value, list):
            items = enumerate(record.value)
            yield _run([(as_object(item), f"{record.location}/{index}") for index, item in items])
        else:
            lines.append((as_object(record.value), record.location))
    if lines:
        yield _run(lines)


def _is_turn(value: JSONValue) -> bool:
    body = as_object(value)
    is_call = body.get("role") == _CALLER and "api_name" in body
    return is_call or (as_text(body.get("role")) in _SPEAKERS and "text" in body and "content" not in body)


def _run(turns: Sequence[tuple[JSONObject, str]]) -> RecordedRun:
    entries = [
        TranscriptMessage(value=message, location=location)
        for number, (turn, location) in enumerate(turns)
        for message in _messages(turn, f"call-{number}")
    ]
    bodies: list[JSONValue] = [turn for turn, _ in turns]
    return build_run(
        RunFacts(external_id=f"{FORMAT}-{content_id(bodies, '')}", app=FORMAT, format=FORMAT),
        transcripts.build_steps(entries, TranscriptSettings()),
        location=turns[0][1] if turns else "",
    )


def _messages(turn: JSONObject, call_id: str) -> Iterator[JSONObject]:
    if turn.get("role") != _CALLER:
        role = _SPEAKERS.get(as_text(turn.get("role")), "user")
        yield {"role": role, "content": turn.get("text"), **omit(turn, "role", "text")}
        return
    call: JSONObject = {"id": call_id, "name": turn.get("api_name"), "arguments": turn.get("param_dict")}
    yield {"role": "assistant", "content": None, "tool_calls": [call], **omit(turn, *_CALL_FIELDS)}
    result = as_object(turn.get("result"))
    if "result" in turn:
        error = text_or_json(result["exception"]) if result.get("exception") else ""
        content = result["output"] if "output" in result else turn["result"]
        fields = omit(result, "api_name", "output", "exception")
        if fields.get("input") == turn.get("param_dict"):
            fields = omit(fields, "input")
        yield {"role": "tool", "tool_call_id": call_id, "content": content, "error": error, **fields}
