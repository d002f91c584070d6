"""Conversations as text: Glaive's rows of function calls, and generations that trainers dump, such as verl and SkyRL.

Glaive   {"system": "SYSTEM: … functions …", "chat": "USER: …\n\nASSISTANT: … <|endoftext|>\n\nFUNCTION RESPONSE: …"}
verl     {"input": "<|im_start|>system\n…", "output": "…", "gts": …, "score": …, "step": …}
SkyRL    {"input_prompt": …, "output_response": …, "score": …, "stop_reason": …}
TRL      {"prompt": …, "completion": …, "advantage": …, rewards by their names}
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_object, as_text, has_string, is_number, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.python_literals import parse_literal
from traces.importers.files.source import Source
from traces.importers.formats.training.text_calls import text_calls

FORMAT: Final = "text-rows"
# Names of the request and the answer, and of members that such rows have beside these.
_ROWS: Final = (
    ("input", "output", {"score", "step"}),
    ("input_prompt", "output_response", {"score"}),
    ("prompt", "completion", {"step", "advantage"}),
    ("prompt", "completion", {"step", "reward"}),
)
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool", "ipython": "tool"}
# Beginnings of messages in the templates of models. If the tokenizer left out their marks, the roles remain.
_BEGINNING: Final = re.compile(
    r"<\|im_start\|>(\w+)\n|<\|start_header_id\|>(\w+)<\|end_header_id\|>\s*|<start_of_turn>(\w+)\n"
)
_BARE: Final = re.compile(r"(?:^|\n)(system|user|assistant|tool)\n")
_ENDS: Final = re.compile(r"<\|(?:im_end|eot_id|endoftext|eom_id|begin_of_text)\|>|<end_of_turn>")
_SPEAKER: Final = re.compile(r"^[ \t]*(USER|ASSISTANT|FUNCTION RESPONSE):", re.M)
_GLAIVE_ROLES: Final = {"USER": "user", "ASSISTANT": "assistant", "FUNCTION RESPONSE": "tool"}
_CALL: Final = "<functioncall>"
_ARGUMENTS: Final = '"arguments":'


def is_row(value: JSONValue) -> bool:
    """Return True if `value` is a row with a conversation as text."""
    body = as_object(value)
    return _is_glaive(body) or _names(body) is not None


def _is_glaive(body: JSONObject) -> bool:
    return has_string(body, "chat") and has_string(body, "system") and "ASSISTANT:" in as_text(body["chat"])


def _names(body: JSONObject) -> tuple[str, str] | None:
    """Return the names of the request and the answer."""
    for request, answer, marks in _ROWS:
        if has_string(body, request) and has_string(body, answer) and marks <= body.keys():
            return request, answer
    return None


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per row."""
    for body, location in source.entries():
        if _is_glaive(body):
            yield _glaive_run(body, location)
        elif names := _names(body):
            yield _generation(body, *names, location)


def _glaive_run(body: JSONObject, location: str) -> RecordedRun:
    system = as_text(body["system"]).removeprefix("SYSTEM:").strip()
    tools: list[JSONValue] = [*_functions(system)]
    parts = [(_GLAIVE_ROLES[name], text) for name, text in _split(_SPEAKER, as_text(body["chat"]))]
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata={**omit(body, "system", "chat"), "marks": ["SYSTEM", *_marks(_SPEAKER, as_text(body["chat"]))]},
        ),
        transcripts.build_steps(
            _messages(parts, location), TranscriptSettings(system=system, tools=normalize_tools(tools))
        ),
        location=location,
    )


def _generation(body: JSONObject, request: str, answer: str, location: str) -> RecordedRun:
    texts = (as_text(body[request]), as_text(body[answer]))
    pattern = _BARE if _BARE.match(texts[0]) else _BEGINNING
    parts = [*_parts(pattern, texts[0], "user"), *_parts(pattern, texts[1], "assistant")]
    scores = {name: value for name, value in body.items() if is_number(value) and not isinstance(value, bool)}
    scores = {name: value for name, value in scores.items() if re.search(r"score|reward|acc$|advantage", name)}
    return build_run(
        RunFacts(
            external_id=as_text(body.get("uid")) or f"{FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata={
                **omit(body, request, answer, *scores),
                "marks": _marks(pattern, "".join(texts)),
            },
            judgements=[judgement(name, value) for name, value in scores.items()],
        ),
        transcripts.build_steps(_messages(parts, location), TranscriptSettings()),
        location=location,
    )


def _split(pattern: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """Return the name of each part that begins with a match, and the text up to the next one."""
    matches = [*pattern.finditer(text)]
    starts = [*(match.start() for match in matches), len(text)]
    return [
        (next(filter(None, match.groups())), text[match.end() : starts[index + 1]])
        for index, match in enumerate(matches)
    ]


def _marks(pattern: re.Pattern[str], text: str) -> list[JSONValue]:
    """Return the marks between messages, which are in none of them."""
    matches = (match[0].strip() for mark in (pattern, _ENDS) for match in mark.finditer(text))
    return [*sorted(set(matches))]


def _parts(pattern: re.Pattern[str], text: str, first_role: str) -> Iterator[tuple[str, str]]:
    """Yield the messages of a text by its template; what precedes the first one is by `first_role`."""
    start = match.start() if (match := pattern.search(text)) else len(text)
    head = [(first_role, text[:start])]
    for role, content in [*head, *_split(pattern, text)]:
        if words := _ENDS.sub("", content).strip():
            yield _ROLES.get(role, "assistant" if role == "model" else "user"), words


def _messages(parts: Sequence[tuple[str, str]], location: str) -> list[TranscriptMessage]:
    """Return the messages. After calls in an answer's text, the next message has their results."""
    messages: list[TranscriptMessage] = []
    has_calls = False
    for index, (role, content) in enumerate(parts):
        next_part = parts[index + 1] if index + 1 < len(parts) else ("", "")
        result = next_part[1] if next_part[0] in ("user", "tool") else None
        actions: Sequence[TextAction] = ()
        text = _ENDS.sub("", content).strip()
        if role == "assistant":
            actions = _glaive_calls(text, result) or text_calls(text, result)
        is_result = role == "tool" or (has_calls and role == "user")
        value: JSONObject = {"role": "user" if role == "tool" else role, "content": text}
        messages.append(
            TranscriptMessage(value=value, location=location, actions=tuple(actions), is_injected=is_result)
        )
        has_calls = bool(actions)
    return messages


def _glaive_calls(text: str, result: str | None) -> Sequence[TextAction]:
    """Return the call in an answer, whose arguments are JSON in single quotes."""
    head, quote, arguments = text.partition(_CALL)[2].strip().partition(_ARGUMENTS)
    arguments = arguments.strip()
    if quote and arguments.startswith("'"):
        arguments = arguments.removesuffix("}").strip().strip("'") + "}"
    call = as_object(parse_literal(head + quote + arguments))
    if not call.get("name"):
        return ()
    return [TextAction(name=as_text(call["name"]), arguments=call.get("arguments"), output=parse_literal(result))]


def _functions(system: str) -> Iterator[JSONValue]:
    """Yield the indented objects in Glaive's instructions."""
    lines: list[str] = []
    for line in system.splitlines():
        if lines or line == "{":
            lines.append(line)
        if lines and line == "}":
            yield parse_literal("\n".join(lines))
            lines = []
