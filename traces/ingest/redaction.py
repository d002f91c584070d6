"""Redaction of a recording, before anything is derived from it. Pure."""

import marshal
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from traces.core.json_access import as_list, as_object, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.payloads.conversation import Messages
from traces.redaction.output_forms import check_form
from traces.redaction.raw_responses import RAW_RESPONSE, drop_raw_response
from traces.redaction.redactor import JOINTS, Redaction, Redactor

REDACTION: Final = "redaction"
STATUS: Final = "redaction_status"
BLOCKING_STATES: Final = frozenset({"blocked", "failed"})
_PAYLOADS: Final = ("input", "output", "attributes")
_STEP_TEXTS: Final = ("name", "key", "provider", "model", "tool_name", "call_id", "error")
_RUN_TEXTS: Final = ("name", "external_id", "environment")
# What the first look sees besides the entries of histories.
_contents_of_run: Final = attrgetter(*_RUN_TEXTS, "tags", "metadata")
_texts_of_step: Final = attrgetter(*_STEP_TEXTS, "parent", "links")
_payloads_of: Final = attrgetter(*_PAYLOADS)
_contents_of_judgement: Final = attrgetter("name", "text", "by", "step", "detail")
# Values that are marshalled at a time.
_MOST_VALUES: Final = 1_000
# Failures named in the reason of a blocked run.
_MAX_FAILURES: Final = 3


def redact(run: RecordedRun, redaction: Redaction) -> RecordedRun:
    """Return a recording without the values that its policy or a detector rejects; the same one if it has none.

    A value that a detector found in one place is then replaced everywhere in the run.
    """
    if redaction.is_off or (not redaction.policy.rules and _is_clean(run, redaction)):
        return run
    redactor = redaction.redactor()
    redacted_run = _redact(run, redactor)
    if redactor.literals:
        redacted_run = _redact(redacted_run, redactor.for_literals())
    note = redaction_note(redactor)
    return replace(redacted_run, metadata=with_note(redacted_run.metadata, note)) if note else redacted_run


def redaction_note(redactor: Redactor) -> JSONObject:
    """Return what a run's metadata says about its redaction; empty if nothing was redacted."""
    kinds: list[JSONValue] = [*sorted(redactor.kinds)]
    if redactor.failures:
        places = "; ".join(redactor.failures[:_MAX_FAILURES])
        reason = f"a detector failed, so what it was looking at was not stored: {places}"
        return {"status": "blocked", "kinds": kinds, "reason": reason}
    return {"status": "redacted", "kinds": kinds} if kinds else {}


def with_note(metadata: JSONObject, note: JSONObject) -> JSONObject:
    """Add a note to the metadata of a run; what its source says about a failure stays."""
    if block_reason(metadata):
        return metadata
    kinds = {str(kind) for kind in (*_kinds(metadata), *_kinds({REDACTION: note}))}
    return {**metadata, REDACTION: {**note, "kinds": [*sorted(kinds)]}}


def block_reason(metadata: JSONObject) -> str:
    """Return why a run must not be replayed: its redaction failed; empty if it did not."""
    note = metadata.get(REDACTION)
    state = note.get("status") if isinstance(note, dict) else note
    if state in BLOCKING_STATES:
        return str(as_object(note).get("reason") or state)
    status = metadata.get(STATUS)
    return str(status) if status in BLOCKING_STATES else ""


def _kinds(metadata: JSONObject) -> list[JSONValue]:
    return as_list(member(metadata, REDACTION, "kinds"))


def _is_clean(run: RecordedRun, redaction: Redaction) -> bool:
    """Quick check that no text of a recording contains a value; false only means to look closer."""
    try:
        return not any(map(redaction.suspects, _contents(run)))
    except ValueError:  # too deep, or not plain JSON
        return False


def _contents(run: RecordedRun) -> Iterator[bytes]:
    """Yield all values of a recording, marshalled together: each text comes after its key."""
    values = values_of(run)
    while batch := list(islice(values, _MOST_VALUES)):
        yield marshal.dumps(batch, 2)


def values_of(run: RecordedRun) -> Iterator[Any]:
    """Yield the texts and payloads of a recording, and each entry of a history once."""
    # The recording keeps them alive.
    known_ids: set[int] = set()
    yield _contents_of_run(run)
    yield from map(_contents_of_judgement, run.judgements)
    for step in run.steps:
        yield _texts_of_step(step)
        for value in _payloads_of(step):
            if type(value) is dict and not JOINTS.isdisjoint(value):
                yield from _new_values(value, known_ids)
            elif value:
                yield value


def _new_values(payload: dict[str, Any], known_ids: set[int]) -> Iterator[JSONValue]:
    """Yield the members of a payload, and of its histories the entries that are not known yet."""
    rest: JSONObject = {}
    for name, item in payload.items():
        # Not `isinstance`, which is slow for an abstract base class.
        if type(item) is Messages:
            source = item.conversation
            if id(source) not in known_ids:
                known_ids.add(id(source))
                yield from source.messages
        elif name in JOINTS and type(item) is list:
            entries = dict(zip(map(id, item), item, strict=True))
            yield from [entries[key] for key in entries.keys() - known_ids]
            known_ids |= entries.keys()
        else:
            rest[name] = item
    if rest:
        yield rest


def _redact(run: RecordedRun, redactor: Redactor) -> RecordedRun:
    steps = tuple(_step(step, number, redactor) for number, step in enumerate(run.steps, 1))
    judgements = tuple(_judgement(judgement, redactor) for judgement in run.judgements)
    metadata = redactor.field(None, "metadata", run.metadata, "the run's metadata")
    changes = {
        **_texts(run, _RUN_TEXTS, redactor, "the run"),
        "tags": tuple(redactor.text(tag, "a tag") for tag in run.tags),
        "metadata": _object(metadata),
    }
    return replace(run, steps=steps, judgements=judgements, **changes)


def _step(step: RecordedStep, number: int, redactor: Redactor) -> RecordedStep:
    place = f"step {number}"
    changes: dict[str, Any] = {
        name: value
        for name in _PAYLOADS
        if (current := getattr(step, name)) is not None
        and (value := redactor.field(step.type, name, current, f"{place}, {name}")) is not current
    }
    if "attributes" in changes:
        changes["attributes"] = _object(changes["attributes"])
    if redactor.suspects_any(_texts_of(step)):
        changes |= _texts(step, _STEP_TEXTS, redactor, place)
        changes["parent"] = None if step.parent is None else redactor.text(step.parent, place)
        changes["links"] = tuple(redactor.text(link, place) for link in step.links)
    if step.error:
        error = changes.get("error", step.error)
        changes["error"] = str(redactor.field(step.type, "error", error, f"{place}, error"))
    if changes and RAW_RESPONSE in step.attributes:
        changes["attributes"] = drop_raw_response(changes.get("attributes", step.attributes))
    if changes:
        attributes = changes.get("attributes", step.attributes)
        attributes = check_form(attributes, step.attributes, is_output_redacted="output" in changes)
        changes |= {} if attributes is step.attributes else {"attributes": attributes}
    return replace(step, **changes) if changes else step


def _judgement(judgement: RecordedJudgement, redactor: Redactor) -> RecordedJudgement:
    changes = _texts(judgement, ("name", "text", "by"), redactor, "a judgement")
    step = None if judgement.step is None else redactor.text(judgement.step, "a judgement")
    detail = redactor.value(judgement.detail) if judgement.detail else judgement.detail
    return replace(judgement, step=step, detail=_object(detail), **changes)


def _object(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {REDACTION: value}


def _texts(view: object, names: tuple[str, ...], redactor: Redactor, place: str) -> dict[str, Any]:
    return {name: redactor.text(getattr(view, name), f"{place}, {name}") for name in names}


def _texts_of(step: RecordedStep) -> Iterator[str]:
    for name in _STEP_TEXTS:
        yield getattr(step, name)
    yield step.parent or ""
    yield from step.links
