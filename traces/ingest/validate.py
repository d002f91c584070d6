"""Validate a recording before it is stored: imported files are hostile."""

from collections.abc import Iterator
from datetime import datetime
from math import isfinite
from operator import attrgetter
from typing import Final

from traces.core.canonical import NotCanonical, escape_pointer
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind
from traces.errors import InvalidRecording, TooLarge

MAX_STEPS: Final = 500_000
# Limit of the token columns.
MAX_COUNT: Final = 2**31 - 1
MAX_RETRIES: Final = 2**15 - 1
_RUN_LENGTHS: Final = {"external_id": 200, "app": 120, "environment": 60, "format": 40}
_STEP_LENGTHS: Final = {"key": 200, "provider": 80, "model": 120, "tool_name": 200}
# Fits into every column.
_SHORT: Final = min(_STEP_LENGTHS.values())
_COUNTS: Final = ("tokens_in", "tokens_out", "tokens_cached", "retries")
_counts_of: Final = attrgetter(*_COUNTS)
MAX_COST: Final = 1_000_000


def ordered_steps(run: RecordedRun) -> list[RecordedStep]:
    """Return the steps in recorded order, with every parent before its children; raise `InvalidRecording`."""
    _check_run(run)
    indices = _indices(run)
    for index, step in enumerate(run.steps):
        _check_step(index, step, indices)
    for index, judgement in enumerate(run.judgements):
        _check_judgement(judgement, indices, f"/judgements/{index}")
    return [run.steps[index] for index in _parents_first(run, indices)]


def payload_error(index: int, step: RecordedStep, field: str, problem: NotCanonical) -> InvalidRecording:
    """Return the error for a payload that is not JSON, with its pointer into the recording."""
    path = "".join(f"/{escape_pointer(part)}" for part in reversed(problem.path))
    pointer = f"/steps/{index}/{field}{path}"
    return InvalidRecording(f"{_title(step)}: {problem.problem} in its {field} at {pointer}", where=pointer)


def _check_run(run: RecordedRun) -> None:
    if not run.external_id or not run.app:
        field = "app" if run.external_id else "external_id"
        raise InvalidRecording(f"a run needs its {field}", where=f"/{field}")
    if not run.steps:
        raise InvalidRecording("the run has no steps", where="/steps")
    if len(run.steps) > MAX_STEPS:
        raise TooLarge(f"the run has {len(run.steps)} steps, more than {MAX_STEPS}", where="/steps")
    _check_texts(run, _RUN_LENGTHS, "run", "")
    _check_text(run.name, "the run's name", "/name")
    for index, tag in enumerate(run.tags):
        _check_text(tag, "a tag", f"/tags/{index}")
    _check_times(run.started_at, run.ended_at, "the run", "")


def _indices(run: RecordedRun) -> dict[str, int]:
    indices: dict[str, int] = {}
    for index, step in enumerate(run.steps):
        if indices.setdefault(step.key, index) != index:
            raise InvalidRecording(
                f"two steps have the key “{step.key}”: {indices[step.key]} and {index}", where=f"/steps/{index}/key"
            )
    return indices


def _check_step(index: int, step: RecordedStep, indices: dict[str, int]) -> None:
    pointer, title = f"/steps/{index}", _title(step)
    if not step.key:
        raise InvalidRecording(f"step {index} has no key", where=f"{pointer}/key")
    if not _has_plain_texts(step):
        _check_texts(step, _STEP_LENGTHS, title, pointer)
        _check_text(step.name, f"{title}: its name", f"{pointer}/name")
        _check_text(step.error, f"{title}: its error", f"{pointer}/error")
        _check_texts(step, {"call_id": len(step.call_id)}, title, pointer)
    if step.parent is not None and step.parent not in indices:
        raise InvalidRecording(f"{title}: its parent “{step.parent}” is not in the run", where=f"{pointer}/parent")
    for number, link in enumerate(step.links):
        if link not in indices:
            detail = f"{title}: it links to “{link}”, which is not in the run"
            raise InvalidRecording(detail, where=f"{pointer}/links/{number}")
    _check_numbers(step, title, pointer)
    _check_times(step.started_at, step.ended_at, title, pointer)


def _has_plain_texts(step: RecordedStep) -> bool:
    """Quick check that the texts of a step can be stored; false only means to look closer."""
    words = (step.key, step.provider, step.model, step.tool_name)
    texts = "".join((*words, step.name, step.error, step.call_id))
    return texts.isascii() and "\x00" not in texts and max(map(len, words)) <= _SHORT


def _check_judgement(judgement: RecordedJudgement, indices: dict[str, int], pointer: str) -> None:
    title = f"judgement “{judgement.name[:80]}”"
    if not judgement.name:
        raise InvalidRecording("a judgement has no name", where=f"{pointer}/name")
    _check_texts(judgement, {"name": 120, "by": 120}, title, pointer)
    _check_text(judgement.text, f"{title}: its text", f"{pointer}/text")
    if judgement.step is not None and judgement.step not in indices:
        detail = f"{title}: its step “{judgement.step[:80]}” is not in the run"
        raise InvalidRecording(detail, where=f"{pointer}/step")
    is_number = judgement.value is not None and isfinite(judgement.value)
    if is_number is not (judgement.kind is JudgementKind.SCORE) or (judgement.value is not None and not is_number):
        detail = f"{title}: a score needs a finite number, other kinds have none"
        raise InvalidRecording(detail, where=f"{pointer}/value")
    _check_times(judgement.at, None, title, pointer)


def _check_numbers(step: RecordedStep, title: str, pointer: str) -> None:
    for field, value in zip(_COUNTS, _counts_of(step), strict=True):
        if value is not None and not 0 <= value <= (MAX_RETRIES if field == "retries" else MAX_COUNT):
            raise InvalidRecording(f"{title}: {field} is out of range: {value}", where=f"{pointer}/{field}")
    cost = step.cost_usd
    if cost is not None and not (cost.is_finite() and 0 <= cost < MAX_COST):
        raise InvalidRecording(f"{title}: cost_usd is out of range: {cost}", where=f"{pointer}/cost_usd")


def _check_times(start: datetime | None, end: datetime | None, title: str, pointer: str) -> None:
    for field, time in (("started_at", start), ("ended_at", end)):
        if time is not None and time.tzinfo is None:
            raise InvalidRecording(f"{title}: {field} has no time zone", where=f"{pointer}/{field}")
    if start and end and end < start:
        raise InvalidRecording(f"{title}: it ends before it starts ({start} to {end})", where=f"{pointer}/ended_at")


def _check_texts(view: object, lengths: dict[str, int], title: str, pointer: str) -> None:
    for field, length in lengths.items():
        text = getattr(view, field)
        _check_text(text, f"{title}: {field}", f"{pointer}/{field}")
        if len(text) > length:
            raise InvalidRecording(f"{title}: {field} is longer than {length} characters", where=f"{pointer}/{field}")
        if "\x00" in text:
            raise InvalidRecording(f"{title}: {field} contains a NUL character", where=f"{pointer}/{field}")


def _check_text(text: str, title: str, pointer: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRecording(f"{title} contains a lone surrogate", where=pointer) from error


def _parents_first(run: RecordedRun, indices: dict[str, int]) -> Iterator[int]:
    """Yield each step after its ancestors; raise `InvalidRecording` for a cycle."""
    visits: set[int] = set()
    for index in range(len(run.steps)):
        chain: dict[int, None] = {}
        position: int | None = index
        while position is not None and position not in visits:
            if position in chain:
                step = run.steps[position]
                raise InvalidRecording(f"{_title(step)} is its own ancestor", where=f"/steps/{position}/parent")
            chain[position] = None
            parent = run.steps[position].parent
            position = None if parent is None else indices[parent]
        for member in reversed(chain):
            visits.add(member)
            yield member


def _title(step: RecordedStep) -> str:
    return f"step “{step.key[:80]}”"
