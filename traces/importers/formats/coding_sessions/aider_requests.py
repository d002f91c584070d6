"""Aider's log of requests (`.aider.llm.history`, written with `--llm-history-file`): each request as it was sent.

Every line of a message begins with its role, and a line of dashes is between two messages:

    TO LLM 2026-03-01T10:00:00
    -------
    SYSTEM Act as an expert.
    -------
    USER Is Dune in stock?
    LLM RESPONSE 2026-03-01T10:00:05
    ASSISTANT Yes.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "aider-requests"
_ENTRY: Final = re.compile(r"^(TO LLM|LLM RESPONSE) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[^\S\n]*$", re.M)
_REQUEST: Final = "TO LLM"
_RULE: Final = "-------"
_BEGINNING: Final = 200


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is such a log."""
    match = _ENTRY.match(sample.head[:_BEGINNING].lstrip().decode("utf-8", "replace"))
    return 1.0 if match else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the log; where a session ends is not recorded."""
    text = decode_text(source.data).replace("\r\n", "\n")
    entries = list(_ENTRY.finditer(text))
    if not entries:
        raise BadFile("a log of Aider without requests", "line 1")
    ends = [*(entry.start() for entry in entries[1:]), len(text)]
    parts = [(entry, text[entry.end() : end].strip("\n")) for entry, end in zip(entries, ends, strict=True)]
    steps = [RecordedStep(key=AGENT_KEY, type=StepType.AGENT, name="aider"), *_calls(parts)]
    if len(steps) == 1:
        raise BadFile("a log of Aider without requests", "line 1")
    yield build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([entries[0][2], steps[1].input], '')}",
            app="aider",
            format=FORMAT,
            name=source.name,
        ),
        steps,
        location=source.name,
    )


def _calls(parts: Sequence[tuple[re.Match[str], str]]) -> Iterator[RecordedStep]:
    """Yield a model call per request, with the response that follows it. A request that failed has none."""
    for number, (entry, text) in enumerate(parts):
        if entry[1] != _REQUEST:
            continue
        following = parts[number + 1] if number + 1 < len(parts) else None
        response = following if following and following[0][1] != _REQUEST else None
        output: JSONObject | None = None
        if response:
            output = {"message": {"role": "assistant", "content": _content(response[1].split("\n"))}}
        yield RecordedStep(
            key=f"call-{number + 1}",
            type=StepType.MODEL,
            name="model",
            parent=AGENT_KEY,
            started_at=parse_time(entry[2], f"call-{number + 1}"),
            ended_at=parse_time(response[0][2], f"call-{number + 1}") if response else None,
            input={"messages": _messages(text)},
            output=output,
            status=StepStatus.OK if response else StepStatus.PARTIAL,
        )


def _messages(text: str) -> list[JSONValue]:
    messages: list[JSONValue] = []
    lines: list[str] = []
    for line in [*text.split("\n"), _RULE]:
        if line != _RULE:
            lines.append(line)
            continue
        if any(lines):
            role = lines[0].partition(" ")[0].lower()
            messages.append({"role": role, "content": _content(lines)})
        lines = []
    return messages


def _content(lines: Sequence[str]) -> str:
    """Return the text of a message without the role before each line."""
    return "\n".join(line.partition(" ")[2] for line in lines)
