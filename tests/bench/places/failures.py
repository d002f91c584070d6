"""Failed runs with the message that people blamed: AgentRx transcripts and Who&When logs."""

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from replay.inspection.core.inspect_run import inspect
from replay.inspection.core.places import Place, StepContent
from replay.inspection.core.step_contents import contents
from replay.resolution.side_effects import looks_like_write
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.files.source import Source
from traces.importers.formats.chats import chat
from traces.importers.formats.teams import who_and_when
from traces.payloads.splitter import Splitter
from traces.provenance.edges import find_provenance
from traces.provenance.step_outputs import StepFacts
from traces.signatures.call_signatures import signature

_MESSAGE: Final = re.compile(r"msg-(\d+)")
_LABEL: Final = "mistake"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A run with the number of the blamed message, or None if it is not labelled.

    `messages` maps step numbers to message numbers; both count from 1.
    """

    source: str
    run: RecordedRun
    label: int | None
    is_successful: bool
    messages: dict[int, int]
    # Numbers of the agents' messages.
    answers: tuple[int, ...]


def read(path: Path) -> Iterator[Failure]:
    """Read the runs of a file of transcripts or of a Who&When folder."""
    if path.is_dir():
        for file in sorted(path.rglob("*.json")):
            yield from _of_logs(file)
        return
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            yield _of_transcript(orjson.loads(line))


def places(run: RecordedRun) -> list[Place]:
    """Return the places that the product finds in a run."""
    return inspect(steps_of(run), is_write=looks_like_write)


def steps_of(run: RecordedRun) -> list[StepContent]:
    """Return a recording's steps as the inspection loads them."""
    splitter = Splitter()
    rows = [_row(number, step, splitter) for number, step in enumerate(run.steps, 1)]
    facts = [
        StepFacts(no=number, type=step.type, input=step.input, output=step.output, call_id=step.call_id)
        for number, step in enumerate(run.steps, 1)
    ]
    producers: dict[int, list[int]] = {}
    for edge in find_provenance(facts, splitter).edges:
        producers.setdefault(edge.consumer, []).append(edge.producer)
    parts: dict[str, JSONValue] = {digest: orjson.loads(part) for digest, part in splitter.parts.items()}
    return contents(rows, parts, {number: sorted(set(steps)) for number, steps in producers.items()})


def _row(number: int, step: RecordedStep, splitter: Splitter) -> dict[str, Any]:
    return {
        "sequence_no": number,
        "type": step.type,
        "name": step.name,
        "tool_name": step.tool_name,
        "status": step.status,
        "error": step.error,
        "signature": signature(
            type=step.type,
            name=step.name,
            input=step.input,
            provider=step.provider,
            model=step.model,
            tool_name=step.tool_name,
            digest_of=splitter.digest,
        ),
        "input_ref": "" if step.input is None else splitter.split(step.input),
        "output_ref": "" if step.output is None else splitter.split(step.output),
    }


def _of_transcript(row: JSONObject) -> Failure:
    annotation, outcome, messages = row.get("annotation"), row["outcome"], row["messages"]
    assert isinstance(outcome, dict)
    assert isinstance(messages, list)
    label = annotation.get("root_step") if isinstance(annotation, dict) else None
    body: JSONObject = {"run_id": "run", "model": "agent", "messages": messages}
    [run] = chat.parse(Source(name="run", data=orjson.dumps(body)))
    heads = [step.key.split(".")[0].removeprefix("msg-") for step in run.steps]
    return Failure(
        source=str(row["dataset"]),
        run=run,
        label=label if isinstance(label, int) else None,
        is_successful=outcome.get("success") is True,
        messages={number: int(head) for number, head in enumerate(heads, 1) if head.isdecimal()},
        answers=_numbers(messages),
    )


def _numbers(messages: Sequence[JSONValue]) -> tuple[int, ...]:
    return tuple(
        number
        for number, message in enumerate(messages, 1)
        if isinstance(message, dict) and message.get("role") == "assistant"
    )


def _of_logs(file: Path) -> Iterator[Failure]:
    """Import Who&When logs. The importer turns the label into a judgement."""
    for run in who_and_when.parse(Source(name=file.name, data=file.read_bytes())):
        numbers = {step.key: number for number, step in enumerate(run.steps, 1)}
        messages = {number: int(match[1]) for key, number in numbers.items() if (match := _MESSAGE.match(key))}
        label_step = next((judgement.step for judgement in run.judgements if judgement.name == _LABEL), None)
        answers = {
            messages[number]
            for number, step in enumerate(run.steps, 1)
            if step.type is StepType.MODEL
            if number in messages
        }
        yield Failure(
            source=f"Who&When, {file.parent.name}",
            run=run,
            label=messages.get(numbers[label_step]) if label_step is not None else None,
            is_successful=False,
            messages=messages,
            answers=tuple(sorted(answers)),
        )
