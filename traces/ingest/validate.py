"""Checks a recording before anything of it is stored: imported files are hostile."""

from collections.abc import Iterator
from datetime import datetime
from math import isfinite
from typing import Final

from traces.core.canonical import NotCanonical, escape_pointer
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind
from traces.errors import InvalidRecording, TooLarge

MAX_STEPS: Final = 500_000
MAX_COUNT: Final = 2**31 - 1  # of tokens: what the columns hold
MAX_RETRIES: Final = 2**15 - 1
_RUN_LENGTHS: Final = {"external_id": 200, "app": 120, "environment": 60, "format": 40}
_STEP_LENGTHS: Final = {"key": 200, "provider": 80, "model": 120, "tool_name": 200}
_COUNTS: Final = ("tokens_in", "tokens_out", "tokens_cached", "retries")
MAX_COST: Final = 1_000_000


def in_order(run: RecordedRun) -> list[RecordedStep]:
    """The steps with every parent before its children, else as given; raises `InvalidRecording`."""
    _check_run(run)
    places = _places(run)
    for index, step in enumerate(run.steps):
        _check_step(index, step, places)
    for index, judgement in enumerate(run.judgements):
        _check_judgement(judgement, places, f"/judgements/{index}")
    return [run.steps[index] for index in _parents_first(run, places)]


def not_json(index: int, step: RecordedStep, field: str, problem: NotCanonical) -> InvalidRecording:
    """The problem of a payload that is not JSON, with its place in the recording."""
    inside = "".join(f"/{escape_pointer(part)}" for part in reversed(problem.path))
    where = f"/steps/{index}/{field}{inside}"
    return InvalidRecording(f"{_named(step)}: {problem.problem} in its {field} at {where}", where=where)


def _check_run(run: RecordedRun) -> None:
    if not run.external_id or not run.app:
        field = "app" if run.external_id else "external_id"
        raise InvalidRecording(f"a run needs its {field}", where=f"/{field}")
    if not run.steps:
        raise InvalidRecording("a run without steps", where="/steps")
    if len(run.steps) > MAX_STEPS:
        raise TooLarge(f"{len(run.steps)} steps, more than the {MAX_STEPS} that a run may have", where="/steps")
    _check_texts(run, _RUN_LENGTHS, "run", "")
    _check_text(run.name, "the run's name", "/name")
    for index, tag in enumerate(run.tags):
        _check_text(tag, "a tag", f"/tags/{index}")
    _check_times(run.started_at, run.ended_at, "the run", "")


def _places(run: RecordedRun) -> dict[str, int]:
    places: dict[str, int] = {}
    for index, step in enumerate(run.steps):
        if places.setdefault(step.key, index) != index:
            raise InvalidRecording(
                f"two steps have the key {step.key!r}: {places[step.key]} and {index}", where=f"/steps/{index}/key"
            )
    return places


def _check_step(index: int, step: RecordedStep, places: dict[str, int]) -> None:
    where, named = f"/steps/{index}", _named(step)
    if not step.key:
        raise InvalidRecording(f"step {index} has no key", where=f"{where}/key")
    _check_texts(step, _STEP_LENGTHS, named, where)
    _check_text(step.name, f"{named}: its name", f"{where}/name")
    _check_text(step.error, f"{named}: its error", f"{where}/error")
    _check_texts(step, {"call_id": len(step.call_id)}, named, where)
    if step.parent is not None and step.parent not in places:
        raise InvalidRecording(f"{named}: its parent {step.parent!r} is not in the run", where=f"{where}/parent")
    for at, link in enumerate(step.links):
        if link not in places:
            raise InvalidRecording(f"{named}: it links to {link!r}, which is not there", where=f"{where}/links/{at}")
    _check_numbers(step, named, where)
    _check_times(step.started_at, step.ended_at, named, where)


def _check_judgement(judgement: RecordedJudgement, places: dict[str, int], where: str) -> None:
    named = f"judgement {judgement.name[:80]!r}"
    if not judgement.name:
        raise InvalidRecording("a judgement without a name", where=f"{where}/name")
    _check_texts(judgement, {"name": 120, "by": 120}, named, where)
    _check_text(judgement.text, f"{named}: its text", f"{where}/text")
    if judgement.step is not None and judgement.step not in places:
        detail = f"{named}: its step {judgement.step[:80]!r} is not in the run"
        raise InvalidRecording(detail, where=f"{where}/step")
    is_number = judgement.value is not None and isfinite(judgement.value)
    if is_number is not (judgement.kind is JudgementKind.SCORE) or (judgement.value is not None and not is_number):
        raise InvalidRecording(f"{named}: a score has a number, and nothing else has", where=f"{where}/value")
    _check_times(judgement.at, None, named, where)


def _check_numbers(step: RecordedStep, named: str, where: str) -> None:
    for field in _COUNTS:
        value = getattr(step, field)
        if value is not None and not 0 <= value <= (MAX_RETRIES if field == "retries" else MAX_COUNT):
            raise InvalidRecording(f"{named}: {field} is {value}", where=f"{where}/{field}")
    cost = step.cost_usd
    if cost is not None and not (cost.is_finite() and 0 <= cost < MAX_COST):
        raise InvalidRecording(f"{named}: cost_usd is {cost}", where=f"{where}/cost_usd")


def _check_times(started: datetime | None, ended: datetime | None, named: str, where: str) -> None:
    for field, time in (("started_at", started), ("ended_at", ended)):
        if time is not None and time.tzinfo is None:
            raise InvalidRecording(f"{named}: {field} has no time zone", where=f"{where}/{field}")
    if started and ended and ended < started:
        raise InvalidRecording(f"{named}: it ends before it starts ({started} to {ended})", where=f"{where}/ended_at")


def _check_texts(thing: object, lengths: dict[str, int], named: str, where: str) -> None:
    for field, length in lengths.items():
        text = getattr(thing, field)
        _check_text(text, f"{named}: {field}", f"{where}/{field}")
        if len(text) > length:
            raise InvalidRecording(f"{named}: {field} is longer than {length} characters", where=f"{where}/{field}")
        if "\x00" in text:
            raise InvalidRecording(f"{named}: {field} contains a NUL character", where=f"{where}/{field}")


def _check_text(text: str, named: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRecording(f"{named} contains a lone surrogate", where=where) from error


def _parents_first(run: RecordedRun, places: dict[str, int]) -> Iterator[int]:
    """Each step after its ancestors; a chain that comes back to itself is refused."""
    done: set[int] = set()
    for index in range(len(run.steps)):
        chain: dict[int, None] = {}
        at: int | None = index
        while at is not None and at not in done:
            if at in chain:
                step = run.steps[at]
                raise InvalidRecording(f"{_named(step)} is its own ancestor", where=f"/steps/{at}/parent")
            chain[at] = None
            parent = run.steps[at].parent
            at = None if parent is None else places[parent]
        for member in reversed(chain):
            done.add(member)
            yield member


def _named(step: RecordedStep) -> str:
    return f"step {step.key[:80]!r}"
