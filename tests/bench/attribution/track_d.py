"""Track D: the failing step of labelled failures. Secondary: human labels are not counterfactual causes."""

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

# Free-text arguments, worded differently each time.
_WORDS: Final = frozenset({"reason", "summary"})
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
WRITES: Final = ("cancel_", "exchange_", "modify_", "return_", "transfer_")


@dataclass(frozen=True, kw_only=True)
class LabelledRow:
    """One failure: the labelled message and the prediction of each method, both counted from 1."""

    task: str
    references: int
    label: int
    assistant_turns: int
    random_exact: float
    predictions: dict[str, int | None]


def rows(folder: Path) -> list[LabelledRow]:
    references: dict[str, list[JSONObject]] = {}
    for row in transcripts.rows(folder, transcripts.MULTI):
        if pairs.is_successful(row):
            references.setdefault(pairs.task(row), []).append(row)
    failures = [row for row in transcripts.rows(folder, transcripts.LABELLED_FAILURES) if row.get("annotation")]
    return [_row(row, references.get(pairs.task(row), [])) for row in failures]


def _row(failure: JSONObject, references: Sequence[JSONObject]) -> LabelledRow:
    annotation = failure["annotation"]
    assert isinstance(annotation, dict)
    label = annotation["root_step"]
    assert isinstance(label, int)
    messages = transcripts.messages_of(failure)
    turns = [number for number, message in enumerate(messages, 1) if message["role"] == "assistant"]
    run = transcripts.import_messages(messages)
    return LabelledRow(
        task=pairs.task(failure),
        references=len(references),
        label=label,
        assistant_turns=len(turns),
        random_exact=(label in turns) / len(turns),
        predictions={
            "first write call": _first_write(messages, ()),
            "first write not among the gold actions (an oracle)": _first_write(messages, _gold(failure)),
            "diff against successes, majority vote": _majority_vote(failure, references),
            "first call that no success makes": _unshared_call(run, references),
            "first write that no success makes": _own_write(messages, references),
            "that, or an earlier unsupported number that no success contains": _unsupported_claim(messages, references),
        },
    )


def _gold(failure: JSONObject) -> Sequence[JSONValue]:
    actions = failure.get("gold_actions")
    return actions if isinstance(actions, list) else ()


def _first_write(messages: Sequence[JSONObject], gold: Sequence[JSONValue]) -> int | None:
    """Return the message with the first write call that is not a gold action."""
    gold_calls = [(action.get("name"), action.get("kwargs")) for action in gold if isinstance(action, dict)]
    for number, message in enumerate(messages, 1):
        if any((name, arguments) not in gold_calls for name, arguments in _writes(message)):
            return number
    return None


def _writes(message: JSONObject) -> list[tuple[JSONValue, JSONValue]]:
    calls = message.get("tool_calls")
    requests = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [(call["name"], call["arguments"]) for call in requests if str(call["name"]).startswith(WRITES)]


def _majority_vote(failure: JSONObject, references: Sequence[JSONObject]) -> int | None:
    """Return the majority vote of the reports against each success for the first step of the cause."""
    numbers = _message_numbers(transcripts.import_messages(transcripts.messages_of(failure)))
    votes: Counter[int] = Counter()
    for reference in references:
        attribution = pairs.compare_transcripts(reference, failure).attribution
        causes = [attribution.primary] if attribution.primary else attribution.alternatives[:1]
        for cause in causes:
            if cause.candidate is not None:
                votes[numbers[cause.candidate.sequence_no]] += 1
    return min(votes, key=lambda number: (-votes[number], number)) if votes else None


def _unshared_call(run: RecordedRun, references: Sequence[JSONObject]) -> int | None:
    """Return the first tool call that the aligner pairs with the same call in no success."""
    steps = transcripts.side(run).steps
    shared_steps: set[int] = set()
    for reference in references:
        reference_steps = transcripts.side(transcripts.import_messages(transcripts.messages_of(reference))).steps
        for match in align(reference_steps, steps):
            if reference_steps[match.base].signature == steps[match.candidate].signature:
                shared_steps.add(match.candidate)
    numbers = _message_numbers(run)
    alone = (step for index, step in enumerate(steps) if step.type == StepType.TOOL and index not in shared_steps)
    first = next(alone, None) if references else None
    return None if first is None else numbers[first.sequence_no]


def _own_write(messages: Sequence[JSONObject], references: Sequence[JSONObject]) -> int | None:
    """Return the message with the first write call that no success makes at any position."""
    known_writes = {
        _write_key(*write)
        for reference in references
        for message in transcripts.messages_of(reference)
        for write in _writes(message)
    }
    for number, message in enumerate(messages, 1):
        if any(_write_key(*write) not in known_writes for write in _writes(message)):
            return number
    return None


def _write_key(name: JSONValue, arguments: JSONValue) -> str:
    """Return a key of a write that ignores the order of items and free-text arguments."""
    values = arguments if isinstance(arguments, dict) else {}
    compared_values = {
        key: sorted(map(str, value)) if isinstance(value, list) else value
        for key, value in values.items()
        if key not in _WORDS
    }
    return f"{name} {orjson.dumps(compared_values, option=orjson.OPT_SORT_KEYS).decode()}"


def _unsupported_claim(messages: Sequence[JSONObject], references: Sequence[JSONObject]) -> int | None:
    """Return the first message with a number that neither the run so far nor a success contains, or such a write."""
    known_numbers = {
        number
        for reference in references
        for numbers in transcripts.messages_of(reference)
        if numbers["role"] == "assistant"
        for number in _numbers(numbers.get("content"))
    }
    claim = None
    for number, message in enumerate(messages, 1):
        numbers = _numbers(message.get("content"))
        if message["role"] == "assistant" and numbers - known_numbers:
            claim = number
            break
        known_numbers |= numbers | _numbers(message.get("tool_calls"))
    write = _own_write(messages, references)
    return min((number for number in (claim, write) if number is not None), default=None)


def _numbers(value: JSONValue) -> set[str]:
    """Return the numbers with more than one digit in a text or JSON value."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return {number.replace(",", "") for number in _NUMBER.findall(text) if len(number) > 1}


def _message_numbers(run: RecordedRun) -> Mapping[int, int]:
    """Map each step to its message number. Importers name steps after their message."""
    heads = [step.key.split(".")[0].removeprefix("msg-") for step in run.steps]
    return {number: int(head) if head.isdecimal() else 0 for number, head in enumerate(heads, 1)}


def summary(rows: Sequence[LabelledRow]) -> JSONObject:
    """Return each method's share of exact hits, and of hits within one and three messages."""
    chance = _chance(rows)
    cells: JSONObject = {
        "failures": len(rows),
        "references": scoring.mean(float(row.references) for row in rows),
        "random assistant turn": chance,
    }
    for method in rows[0].predictions if rows else ():
        hits = {
            name: sum(_is_within(row.predictions[method], row.label, distance) for row in rows)
            for name, distance in (("exact", 0), ("±1", 1), ("±3", 3))
        }
        shares: JSONObject = {name: count / len(rows) for name, count in hits.items()}
        cells[method] = {**shares, "wilson": list(scoring.wilson(hits["exact"], len(rows)))}
    return cells


def _chance(rows: Sequence[LabelledRow]) -> JSONObject:
    return {"exact": scoring.mean(row.random_exact for row in rows)}


def _is_within(prediction: int | None, label: int, distance: int) -> bool:
    return prediction is not None and abs(prediction - label) <= distance


def as_json(row: LabelledRow) -> JSONObject:
    return asdict(row)
