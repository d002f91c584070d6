"""Making calibrations, and setting what the signatures of an app leave out."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, Final, Literal

from django.db import transaction

from diffing import queries as diffing
from diffing.compare.alignment import align
from diffing.compare.run_side import SideStep
from replay.calibration.core import volatile_fields
from replay.calibration.core.schemas import CalibrationRequest
from replay.calibration.core.volatile_fields import Made
from replay.core.errors import InvalidReplay
from replay.execution import task_names
from replay.models import Calibration
from traces import enqueue
from traces.call_index import ignore_lists
from traces.core.json_types import JSONValue
from traces.errors import NotSealed
from traces.http.idempotency import Key, make_once
from traces.models import IgnoreList, Run
from traces.runs.queries import find_run
from traces.signatures.ignore_rules import SIGNED_TYPES, IgnoreRule
from traces.storage import artifacts

_MOST_PAIRS: Final = 1_000  # differing pairs looked at: their payloads are read
_MOST_CALLS: Final = 4_000  # calls looked at for collisions
_Side = Literal["base", "candidate"]
_OnSide = tuple[_Side, SideStep]
_TYPES: Final = {str(type): type for type in SIGNED_TYPES}


def calibrate(request: CalibrationRequest) -> Calibration:
    """Compare two recordings of the same work. The same two runs again give the same calibration."""
    base, candidate = find_run(request.base), find_run(request.candidate)
    _check(base, candidate)
    known = Calibration.objects.filter(base=base, candidate=candidate).first()
    if known is not None:
        return known
    found = _compared(base, candidate)
    row, _ = Calibration.objects.get_or_create(base=base, candidate=candidate, defaults={"found": found})
    return row


def accept(row: Calibration, places: Sequence[int], *, by: str) -> IgnoreList:
    """Add proposals to the list of the app; raises `InvalidReplay` for one that there is not."""
    proposals = row.found["proposals"]
    for index, place in enumerate(places):
        if place >= len(proposals):
            detail = f"there is no proposal {place}: there are {len(proposals)}, from 0"
            raise InvalidReplay(detail, where=f"/proposals/{index}")
    chosen = [IgnoreRule.model_validate(proposals[place]["rule"]) for place in places]
    with transaction.atomic():
        return _signed(ignore_lists.add_rules(app=row.base.app, rules=chosen, by=by))


def set_list(*, app: str, rules: Sequence[IgnoreRule], by: str, key: Key | None = None) -> IgnoreList:
    """Set the whole list of an app; recorded calls are signed under it in the background, and then it holds."""
    _check_rules(rules)
    asked: JSONValue = [app, [rule.model_dump(mode="json") for rule in rules]]
    with transaction.atomic():
        made = make_once("ignore list", key, asked, lambda: str(ignore_lists.set_rules(app=app, rules=rules, by=by).id))
        return _signed(IgnoreList.objects.get(id=int(made)))


def _signed(row: IgnoreList) -> IgnoreList:
    """A list that is to hold as soon as the calls recorded by then are signed under it."""
    if row.ready_at is None:
        transaction.on_commit(partial(enqueue.send, task_names.SIGN_CALLS, str(row.id)))
    return row


def requeue_unfinished() -> int:
    """Hand lists that do not hold yet to the workers again; how many. Signing twice does no harm."""
    waiting = ignore_lists.waiting()
    for list_id in waiting:
        enqueue.send(task_names.SIGN_CALLS, str(list_id))
    return len(waiting)


def _check(base: Run, candidate: Run) -> None:
    for where, run in (("/base", base), ("/candidate", candidate)):
        if run.sealed_at is None:
            raise NotSealed(f"run {run.id} is still being recorded", where=where)
    if base.id == candidate.id:
        raise InvalidReplay("a run differs from itself in nothing: choose another recording", where="/candidate")
    if base.app != candidate.app:
        detail = f"the runs belong to different apps ({base.app}, {candidate.app}), and each has a list of its own"
        raise InvalidReplay(detail, where="/candidate")


def _check_rules(rules: Sequence[IgnoreRule]) -> None:
    for index, rule in enumerate(rules):
        if not rule.pointer.startswith("/") or rule.pointer == "/":
            detail = "a pointer names a field of the input, as /request_id: the whole input cannot be ignored"
            raise InvalidReplay(detail, where=f"/rules/{index}/pointer")


def _compared(base: Run, candidate: Run) -> dict[str, Any]:
    sides = [diffing.side(run, links=False) for run in (base, candidate)]
    matches = align(sides[0].steps, sides[1].steps)
    paired = [(sides[0].steps[match.base], sides[1].steps[match.candidate]) for match in matches]
    calls = [(one, other) for one, other in paired if one.signature and other.signature and one.type == other.type]
    differing = [(one, other) for one, other in calls if one.signature != other.signature]
    looked_at = differing[:_MOST_PAIRS]
    touching = partial(_touched, sides[0].steps, sides[1].steps)
    pairs = [pair for pair in _pairs(looked_at) if pair[0].callee == pair[1].callee]
    outcome = volatile_fields.propose(pairs, lambda types: _opened(touching(types)[:_MOST_CALLS]))
    touched = touching({each.rule.type for each in outcome.proposals})
    return {
        "compared": len(calls),
        "differing": len(differing),
        "left_out": len(differing) - len(looked_at),
        "unchecked": len(touched[_MOST_CALLS:]),
        "unified": [pair.model_dump(mode="json") for pair in outcome.unified],
        "proposals": [each.model_dump(mode="json") for each in outcome.proposals],
        "left": [each.model_dump(mode="json") for each in outcome.left],
    }


def _pairs(pairs: Sequence[tuple[SideStep, SideStep]]) -> Iterator[tuple[Made, Made]]:
    held = artifacts.available([step.input_ref for pair in pairs for step in pair if step.input_ref])
    for base, candidate in pairs:
        if base.input_ref in held and candidate.input_ref in held:
            yield _made("base", base, held[base.input_ref]), _made("candidate", candidate, held[candidate.input_ref])


def _touched(base: Sequence[SideStep], candidate: Sequence[SideStep], types: Collection[str]) -> list[_OnSide]:
    """The calls of some types, of both runs."""
    steps: list[_OnSide] = [("base", step) for step in base]
    steps += [("candidate", step) for step in candidate]
    return [(side, step) for side, step in steps if step.type in types and step.input_ref]


def _opened(calls: Sequence[_OnSide]) -> list[Made]:
    held = artifacts.available([step.input_ref for _, step in calls])
    return [_made(side, step, held[step.input_ref]) for side, step in calls if step.input_ref in held]


def _made(side: _Side, step: SideStep, input: JSONValue) -> Made:
    return Made(
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
