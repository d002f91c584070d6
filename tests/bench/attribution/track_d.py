"""Track D: which step of a labelled failure went wrong. Labels of people are no counterfactual causes: secondary."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

from diffing.compare.alignment import align
from tests.bench.attribution import pairs, scoring, transcripts
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType

_WORDS: Final = frozenset({"reason", "summary"})  # arguments that are worded differently each time
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
WRITES: Final = ("cancel_", "exchange_", "modify_", "return_", "transfer_")


@dataclass(frozen=True, kw_only=True)
class LabelledRow:
    """One failure: the message that people blame, and the one that each method blames; both count from 1."""

    task: str
    references: int
    label: int
    assistant_turns: int
    random_exact: float
    named: dict[str, int | None]


def rows(folder: Path) -> list[LabelledRow]:
    references: dict[str, list[JSONObject]] = {}
    for row in transcripts.rows(folder, transcripts.MULTI):
        if pairs.succeeded(row):
            references.setdefault(pairs.task(row), []).append(row)
    failures = [row for row in transcripts.rows(folder, transcripts.LABELLED) if row.get("annotation")]
    return [_row(row, references.get(pairs.task(row), [])) for row in failures]


def _row(failure: JSONObject, references: Sequence[JSONObject]) -> LabelledRow:
    annotation = failure["annotation"]
    assert isinstance(annotation, dict)
    label = annotation["root_step"]
    assert isinstance(label, int)
    messages = transcripts.messages_of(failure)
    turns = [at for at, message in enumerate(messages, 1) if message["role"] == "assistant"]
    run = transcripts.recorded(messages)
    return LabelledRow(
        task=pairs.task(failure),
        references=len(references),
        label=label,
        assistant_turns=len(turns),
        random_exact=(label in turns) / len(turns),
        named={
            "first write call": _first_write(messages, ()),
            "first write not among the gold actions (an oracle)": _first_write(messages, _gold(failure)),
            "diff against successes, voted": _voted(failure, references),
            "first call that no success makes": _unshared(run, references),
            "first write that no success makes": _own_write(messages, references),
            "that, or an earlier number out of nowhere that no success says": _unbacked(messages, references),
        },
    )


def _gold(failure: JSONObject) -> Sequence[JSONValue]:
    given = failure.get("gold_actions")
    return given if isinstance(given, list) else ()


def _first_write(messages: Sequence[JSONObject], gold: Sequence[JSONValue]) -> int | None:
    """The message with the first call that changes something and is not among the gold ones."""
    known = [(each.get("name"), each.get("kwargs")) for each in gold if isinstance(each, dict)]
    for at, message in enumerate(messages, 1):
        if any((name, arguments) not in known for name, arguments in _writes(message)):
            return at
    return None


def _writes(message: JSONObject) -> list[tuple[JSONValue, JSONValue]]:
    calls = message.get("tool_calls")
    asked = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [(call["name"], call["arguments"]) for call in asked if str(call["name"]).startswith(WRITES)]


def _voted(failure: JSONObject, references: Sequence[JSONObject]) -> int | None:
    """What the reports against every success of the task name as the first step of the cause, by majority."""
    numbers = _message_numbers(transcripts.recorded(transcripts.messages_of(failure)))
    votes: Counter[int] = Counter()
    for reference in references:
        attribution = pairs.compared(reference, failure).attribution
        causes = [attribution.primary] if attribution.primary else attribution.alternatives[:1]
        for cause in causes:
            if cause.candidate is not None:
                votes[numbers[cause.candidate.sequence_no]] += 1
    return min(votes, key=lambda number: (-votes[number], number)) if votes else None


def _unshared(run: RecordedRun, references: Sequence[JSONObject]) -> int | None:
    """The first tool call of the failure that the aligner pairs with the same call in no success."""
    steps = transcripts.side(run).steps
    shared: set[int] = set()
    for reference in references:
        other = transcripts.side(transcripts.recorded(transcripts.messages_of(reference))).steps
        for match in align(other, steps):
            if other[match.base].signature == steps[match.candidate].signature:
                shared.add(match.candidate)
    numbers = _message_numbers(run)
    alone = (step for at, step in enumerate(steps) if step.type == StepType.TOOL and at not in shared)
    first = next(alone, None) if references else None
    return None if first is None else numbers[first.sequence_no]


def _own_write(messages: Sequence[JSONObject], references: Sequence[JSONObject]) -> int | None:
    """The message with the first call that changes something and was made in no success, wherever it stood there."""
    known = {
        _write_key(*write) for each in references for said in transcripts.messages_of(each) for write in _writes(said)
    }
    for at, message in enumerate(messages, 1):
        if any(_write_key(*write) not in known for write in _writes(message)):
            return at
    return None


def _write_key(name: JSONValue, arguments: JSONValue) -> str:
    """The same change: items in any order, whatever reason is given in words."""
    given = arguments if isinstance(arguments, dict) else {}
    kept = {
        key: sorted(map(str, value)) if isinstance(value, list) else value
        for key, value in given.items()
        if key not in _WORDS
    }
    return f"{name} {orjson.dumps(kept, option=orjson.OPT_SORT_KEYS).decode()}"


def _unbacked(messages: Sequence[JSONObject], references: Sequence[JSONObject]) -> int | None:
    """The first message that claims what neither the run so far nor any success holds, or makes a write like that."""
    known = {
        number
        for each in references
        for said in transcripts.messages_of(each)
        if said["role"] == "assistant"
        for number in _numbers(said.get("content"))
    }
    claimed = None
    for at, message in enumerate(messages, 1):
        said = _numbers(message.get("content"))
        if message["role"] == "assistant" and said - known:
            claimed = at
            break
        known |= said | _numbers(message.get("tool_calls"))
    write = _own_write(messages, references)
    return min((at for at in (claimed, write) if at is not None), default=None)


def _numbers(value: JSONValue) -> set[str]:
    """The numbers of more than one digit in a text, or in any other value as it is written."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return {number.replace(",", "") for number in _NUMBER.findall(text) if len(number) > 1}


def _message_numbers(run: RecordedRun) -> Mapping[int, int]:
    """By step: which message it came from; importers name steps after their message."""
    heads = [step.key.split(".")[0].removeprefix("msg-") for step in run.steps]
    return {number: int(head) if head.isdecimal() else 0 for number, head in enumerate(heads, 1)}


def summary(rows: Sequence[LabelledRow]) -> JSONObject:
    """For each method the share that is exact, off by one at most, by three at most."""
    near = _chance(rows)
    found: JSONObject = {
        "failures": len(rows),
        "references": scoring.mean(float(row.references) for row in rows),
        "random assistant turn": near,
    }
    for method in rows[0].named if rows else ():
        hits = {
            name: sum(_within(row.named[method], row.label, off) for row in rows)
            for name, off in (("exact", 0), ("±1", 1), ("±3", 3))
        }
        shares: JSONObject = {name: count / len(rows) for name, count in hits.items()}
        found[method] = {**shares, "wilson": list(scoring.wilson(hits["exact"], len(rows)))}
    return found


def _chance(rows: Sequence[LabelledRow]) -> JSONObject:
    return {"exact": scoring.mean(row.random_exact for row in rows)}


def _within(named: int | None, label: int, off: int) -> bool:
    return named is not None and abs(named - label) <= off


def as_json(row: LabelledRow) -> JSONObject:
    return asdict(row)
