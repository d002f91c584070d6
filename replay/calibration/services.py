"""Create calibrations, and change the ignore lists of apps."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, Final, Literal

from django.db import transaction

from diffing import queries as diffing
from diffing.compare.alignment import align
from diffing.compare.run_side import SideStep
from replay.calibration.core import volatile_fields
from replay.calibration.core.schemas import CalibrationRequest
from replay.calibration.core.volatile_fields import RecordedCall
from replay.core.errors import InvalidReplay
from replay.execution import task_names
from replay.models import Calibration
from traces import enqueue
from traces.call_index import ignore_lists
from traces.core.json_types import JSONValue
from traces.errors import NotSealed
from traces.http.idempotency import Key, make_once
from traces.models import IgnoreList, Run
from traces.runs import deleted_runs
from traces.runs.queries import find_run
from traces.signatures.ignore_rules import SIGNED_TYPES, IgnoreRule
from traces.storage import artifacts

_MOST_PAIRS: Final = 1_000  # differing pairs whose payloads are read
_MOST_CALLS: Final = 4_000  # calls checked for collisions
_Side = Literal["base", "candidate"]
_OnSide = tuple[_Side, SideStep]
_TYPES: Final = {str(type): type for type in SIGNED_TYPES}


def calibrate(request: CalibrationRequest, *, by: str = "") -> Calibration:
    """Compare two recordings of the same work; the same runs return the same calibration."""
    return compare(find_run(request.base), find_run(request.candidate), by=by)


def compare(base: Run, candidate: Run, *, by: str) -> Calibration:
    """Compare two runs; the same runs return the same calibration. Raises `NotSealed` and `InvalidReplay`."""
    _check(base, candidate)
    earlier = Calibration.objects.filter(base=base, candidate=candidate).first()
    if earlier is not None:
        return earlier
    findings = _compare(base, candidate)
    with transaction.atomic():
        deleted_runs.hold([base.id, candidate.id])
        columns = {"found": findings, "by": by}
        row, _ = Calibration.objects.get_or_create(base=base, candidate=candidate, defaults=columns)
    return row


def delete(row: Calibration) -> None:
    """Delete a calibration. Fields that were accepted from it stay ignored."""
    row.delete()


def accept(row: Calibration, places: Sequence[int], *, author: str) -> IgnoreList:
    """Add proposals to the app's ignore list; raises `InvalidReplay` for an unknown proposal."""
    proposals = row.found["proposals"]
    for index, place in enumerate(places):
        if place >= len(proposals):
            detail = f"there is no proposal {place}: there are {len(proposals)}, from 0"
            raise InvalidReplay(detail, where=f"/proposals/{index}")
    rules = [IgnoreRule.model_validate(proposals[place]["rule"]) for place in places]
    with transaction.atomic():
        return _queue_signing(ignore_lists.add_rules(app=row.base.app, rules=rules, by=author))


def set_list(*, app: str, rules: Sequence[IgnoreRule], author: str, key: Key | None = None) -> IgnoreList:
    """Replace the ignore list of an app; it becomes active when recorded calls are signed under it."""
    _check_rules(rules)
    request_json: JSONValue = [app, [rule.model_dump(mode="json") for rule in rules]]
    with transaction.atomic():
        list_id = make_once(
            "ignore list", key, request_json, lambda: str(ignore_lists.set_rules(app=app, rules=rules, by=author).id)
        )
        return _queue_signing(IgnoreList.objects.get(id=int(list_id)))


def _queue_signing(row: IgnoreList) -> IgnoreList:
    """Queue the signing of recorded calls under a new list, which activates it; returns the list."""
    if row.ready_at is None:
        transaction.on_commit(partial(enqueue.send, task_names.SIGN_CALLS, str(row.id)))
    return row


def requeue_unfinished() -> int:
    """Queue lists that are not active yet; returns their number. Signing twice is harmless."""
    waiting = ignore_lists.waiting()
    for list_id in waiting:
        enqueue.send(task_names.SIGN_CALLS, str(list_id))
    return len(waiting)


def _check(base: Run, candidate: Run) -> None:
    for pointer, run in (("/base", base), ("/candidate", candidate)):
        if run.sealed_at is None:
            raise NotSealed(f"run {run.id} is still being recorded", where=pointer)
    if base.id == candidate.id:
        raise InvalidReplay("base and candidate are the same run; choose two different runs", where="/candidate")
    if base.app != candidate.app:
        detail = (
            f"the runs belong to different apps ({base.app}, {candidate.app}), and each app has its own ignore list"
        )
        raise InvalidReplay(detail, where="/candidate")


def _check_rules(rules: Sequence[IgnoreRule]) -> None:
    for index, rule in enumerate(rules):
        if not rule.pointer.startswith("/") or rule.pointer == "/":
            detail = "a pointer must name a field of the input, such as /request_id; the whole input cannot be ignored"
            raise InvalidReplay(detail, where=f"/rules/{index}/pointer")


def _compare(base: Run, candidate: Run) -> dict[str, Any]:
    sides = [diffing.side(run, links=False) for run in (base, candidate)]
    matches = align(sides[0].steps, sides[1].steps)
    step_pairs = [(sides[0].steps[match.base], sides[1].steps[match.candidate]) for match in matches]
    calls = [
        (base_step, candidate_step)
        for base_step, candidate_step in step_pairs
        if base_step.signature and candidate_step.signature and base_step.type == candidate_step.type
    ]
    differing = [
        (base_step, candidate_step)
        for base_step, candidate_step in calls
        if base_step.signature != candidate_step.signature
    ]
    examined_pairs = differing[:_MOST_PAIRS]
    touching = partial(_calls_of_types, sides[0].steps, sides[1].steps)
    pairs = [pair for pair in _pairs(examined_pairs) if pair[0].callee == pair[1].callee]
    outcome = volatile_fields.propose(pairs, lambda types: _load_calls(touching(types)[:_MOST_CALLS]))
    affected_calls = touching({item.rule.type for item in outcome.proposals})
    return {
        "compared": len(calls),
        "differing": len(differing),
        "left_out": len(differing) - len(examined_pairs),
        "unchecked": len(affected_calls[_MOST_CALLS:]),
        "unified": [pair.model_dump(mode="json") for pair in outcome.equal_pairs],
        "proposals": [item.model_dump(mode="json") for item in outcome.proposals],
        "left": [item.model_dump(mode="json") for item in outcome.left],
    }


def _pairs(pairs: Sequence[tuple[SideStep, SideStep]]) -> Iterator[tuple[RecordedCall, RecordedCall]]:
    payloads = artifacts.available([step.input_ref for pair in pairs for step in pair if step.input_ref])
    for base, candidate in pairs:
        if base.input_ref in payloads and candidate.input_ref in payloads:
            yield (
                _recorded_call("base", base, payloads[base.input_ref]),
                _recorded_call("candidate", candidate, payloads[candidate.input_ref]),
            )


def _calls_of_types(base: Sequence[SideStep], candidate: Sequence[SideStep], types: Collection[str]) -> list[_OnSide]:
    """Return the calls of the given types in both runs."""
    steps: list[_OnSide] = [("base", step) for step in base]
    steps += [("candidate", step) for step in candidate]
    return [(side, step) for side, step in steps if step.type in types and step.input_ref]


def _load_calls(calls: Sequence[_OnSide]) -> list[RecordedCall]:
    payloads = artifacts.available([step.input_ref for _, step in calls])
    return [_recorded_call(side, step, payloads[step.input_ref]) for side, step in calls if step.input_ref in payloads]


def _recorded_call(side: _Side, step: SideStep, input: JSONValue) -> RecordedCall:
    return RecordedCall(
        side=side,
        no=step.sequence_no,
        type=_TYPES[step.type],
        name=step.name,
        tool_name=step.tool_name,
        provider=step.provider,
        model=step.model,
        input=input,
        answer=step.output_ref,
    )
