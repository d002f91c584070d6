"""What a proof is about: two runs, the changes between them, and what each came to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from diffing import queries as diffs
from diffing.compare.comparison import Pair
from diffing.compare.references import step_ref
from diffing.report.build import Examined, examine
from replay.core.applied_profile import apply_profile
from replay.core.calls import LIVE_REASONS
from replay.core.graph import Graph
from replay.inputs.value_pointers import resolve_pointer
from replay.live import availability, pricing
from replay.overrides.profile import OverrideProfile
from replay.proofs.changes import fork_layers
from replay.proofs.changes.atoms import ABSENT, Absent, Change, Changes, title
from replay.proofs.changes.certificates import certify
from replay.proofs.changes.overrides import Found
from replay.proofs.changes.roots import roots
from replay.proofs.core.types import Atom, Side
from replay.proofs.counterfactual.copied_values import Copies, copies
from replay.proofs.counterfactual.derivations import Derivations, derivations
from replay.proofs.counterfactual.walk_monitor import CALLED
from replay.proofs.subject import lineage
from replay.proofs.subject.lineage import Lattice, lattice
from replay.store.graph_loader import load_graph
from replay.store.payload_reader import Payloads
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Run
from traces.payloads.messages import Message, ModelRequest
from traces.payloads.parts import MissingPart
from traces.storage import artifacts

_MADE_UP: Final = frozenset({Reason.POLICY_FALLBACK, Reason.SIDE_EFFECT_BLOCKED, Reason.DENIED, Reason.STOPPED})
_LISTED: Final = 5


@dataclass(frozen=True, kw_only=True)
class Place:
    """The run that is replayed for a side, and from where."""

    run: Run
    fork: int


@dataclass(frozen=True, kw_only=True)
class Subject:
    """`lattice`: both runs derive from one, or one from the other, and replays begin there."""

    base: Run
    candidate: Run
    seen: Examined
    changes: Changes
    places: Mapping[Side, Place]
    sampled: bool
    derivations: Derivations = field(default_factory=Derivations)
    copies: Copies = field(default_factory=Copies)

    @property
    def lattice(self) -> bool:
        return self.changes.lattice

    @property
    def atoms(self) -> list[Atom]:
        return [change.atom for change in self.changes.changes.values()]

    def recorded(self, side: Side) -> tuple[UUID, int]:
        """A side's own run, and where what is compared begins in it."""
        run = self.base if side == "base" else self.candidate
        return run.id, self.places[side].fork if self.lattice else 1


def subject_of(base: Run, candidate: Run) -> Subject:
    """Everything that the recordings say about the difference."""
    under = diffs.list_for(base, candidate)
    left, right = (diffs.side(run, links=True, under=under) for run in (base, candidate))
    seen = examine(left, right, artifacts.available)
    found = lattice(base, candidate)
    changes = None if found is None else _forked(seen, found)
    if found is None or changes is None:
        own = roots(seen, artifacts.available)
        places: dict[Side, Place] = {
            "base": Place(run=base, fork=_first(seen, 0)),
            "candidate": Place(run=candidate, fork=_first(seen, 1)),
        }
        pair = Found(seen=seen, load=artifacts.available)
        changes = Changes(changes={change.atom.id: change for change in own}, lattice=False, continued=pair.continued)
        copied = copies(pair, seen.found.atoms)
        code = derivations(seen.comparison, seen.flow, seen.found.atoms, copied.whole)
    else:
        here = Place(run=found.source, fork=found.fork)
        places, code, copied = {"base": here, "candidate": here}, Derivations(), Copies()
    return Subject(
        base=base,
        candidate=candidate,
        seen=seen,
        changes=changes,
        places=places,
        sampled=_is_sampled(seen),
        derivations=code,
        copies=copied,
    )


def live_price(subject: Subject) -> tuple[int, float | None]:
    """How many model calls a replay of the whole may make, and what they cost as recorded; null: not known."""
    place = subject.places["candidate"]
    nodes = [node for node in load_graph(place.run.id, place.fork).nodes if node.type is StepType.MODEL]
    now = datetime.now(UTC)
    costs = [pricing.price(node.provider, node.model, node.tokens_in, node.tokens_out, None, now) for node in nodes]
    known = [float(cost) for cost in costs if cost is not None]
    return len(nodes), sum(known) if len(known) == len(costs) else None


def unserved(subject: Subject) -> list[str]:
    """The models of both sides that nothing is configured to ask again."""
    found: dict[str, None] = {}
    for place in subject.places.values():
        for node in load_graph(place.run.id, place.fork).nodes:
            if node.type is StepType.MODEL and availability.provider_name(node.provider, node.model, None) is None:
                found[node.model or "a model without a name"] = None
    return list(found)


def _forked(seen: Examined, found: Lattice) -> Changes | None:
    """The changes between two replays of one run; None where they cannot be told apart."""
    graph = load_graph(found.source.id, found.fork)
    try:
        base, candidate = fork_layers.settings(found.base), fork_layers.settings(found.candidate)
        changes, common = fork_layers.between(base, candidate, partial(_steps, graph))
    except fork_layers.Uncountable:
        return None
    payloads, origins = Payloads(), diffs.origins(found.source)
    known = [_known(seen, change, graph, payloads, origins) for change in changes]
    made_up = list(_made_up(seen, found.fork))
    return Changes(changes={change.atom.id: change for change in (*known, *made_up)}, common=tuple(common))


def _steps(graph: Graph, match: JSONObject) -> frozenset[int]:
    """The steps that a match takes in, whatever is set there."""
    profile = OverrideProfile.model_validate({"overrides": [{"match": match, "output": None}]})
    return frozenset(apply_profile(profile, graph).by_step)


def _known(seen: Examined, change: Change, graph: Graph, payloads: Payloads, origins: Mapping[UUID, UUID]) -> Change:
    """A change with the steps that it acts on, what they recorded, and whether it can have mattered."""
    slot = change.on_base[0]
    value = change.candidate if not isinstance(change.candidate, Absent) else change.base
    assert not isinstance(value, Absent)  # one of the two sets it
    profile = OverrideProfile.model_validate({"overrides": [slot.entry(value) for slot in change.on_base]})
    numbers = sorted(apply_profile(profile, graph).by_step)
    first_recorded = {origins.get(graph.by_no[no].id, graph.by_no[no].id) for no in numbers}
    pairs = [pair for pair in seen.comparison.pairs if _stands_for(pair, first_recorded)]
    recorded = _recorded(change, graph, numbers, payloads)
    first = pairs[0] if pairs else None
    certificate = certify(seen, [pair.place for pair in pairs])
    atom = replace(
        change.atom,
        certificate=certificate,
        title=title(slot, recorded if isinstance(change.base, Absent) else change.base, change.candidate),
        description=_where(numbers),
        rank=(float(certificate is not None), _distance(seen, pairs), *change.atom.rank),
        base=step_ref(first.base) if first is not None else None,
        candidate=step_ref(first.candidate) if first is not None else None,
    )
    return replace(change, atom=atom, recorded=recorded)


def _distance(seen: Examined, pairs: Sequence[Pair]) -> float:
    """How far from the first step that answered otherwise a change acts: what is nearer is tried first."""
    first = next((pair.place for pair in seen.comparison.acting if pair.answers_differently), 0)
    return min((abs(pair.place - first) for pair in pairs), default=len(seen.comparison.pairs))


def _stands_for(pair: Pair, origins: set[UUID]) -> bool:
    return any(step is not None and origins & {step.id, step.origin} for step in (pair.base, pair.candidate))


def _recorded(change: Change, graph: Graph, numbers: Sequence[int], payloads: Payloads) -> JSONValue | Absent:
    """What the first step that a change acts on has in its place, where that can be read."""
    if not numbers:
        return ABSENT
    node, slot = graph.by_no[numbers[0]], change.on_base[0]
    try:
        given = payloads(node.input_ref) if node.input_ref else None
        made = payloads(node.output_ref) if node.output_ref else None
    except MissingPart:
        return ABSENT
    if slot.category == "arguments":
        return given
    if slot.category == "tool":
        return {"output": made, "status": str(node.status)}
    if slot.category == "output":
        return made
    if slot.category == "retrieval" and slot.field == "documents":
        return made["documents"] if isinstance(made, dict) and "documents" in made else ABSENT
    return _given(slot.category, slot.field, given, change)


def _given(category: str, field: str, given: JSONValue, change: Change) -> JSONValue | Absent:
    if category == "messages":
        return _message(given, change)
    if category == "prompt" and field == "system":
        return _system(given)
    if category == "model" and field not in {"tools", "response_format"}:
        parameters = given.get("parameters") if isinstance(given, dict) else None
        return parameters[field] if isinstance(parameters, dict) and field in parameters else ABSENT
    return given[field] if isinstance(given, dict) and field in given else ABSENT


def _message(given: JSONValue, change: Change) -> JSONValue | Absent:
    """Of a message that is replaced, the edit that would leave it as it is."""
    edit: Any = change.candidate if not isinstance(change.candidate, Absent) else change.base
    if not isinstance(edit, dict) or edit.get("op") != "replace":
        return ABSENT
    try:
        if "message" in edit:
            return {**edit, "message": resolve_pointer(given, f"/messages/{edit['index']}")}
        return {**edit, "content": resolve_pointer(given, f"/messages/{edit['index']}/content")}
    except LookupError:
        return ABSENT


def _system(given: JSONValue) -> JSONValue | Absent:
    for message in map(Message, ModelRequest(given).messages):
        if message.role in {"system", "developer"}:
            return message.content if isinstance(message.content, str) else ABSENT
    return ABSENT


def _made_up(seen: Examined, fork: int) -> list[Change]:
    """Answers that a replay made up on one side: no other replay can give them without guessing."""
    found: list[Change] = []
    for pair in seen.comparison.acting:
        steps = [step for step in (pair.base, pair.candidate) if step is not None]
        step = next((step for step in steps if step.reason in _MADE_UP and step.type in CALLED), None)
        if step is not None and pair.differs and step.sequence_no >= fork and len(found) < _LISTED:
            atom = Atom(
                id=f"made-up-{pair.place}",
                category="tool" if step.type == StepType.TOOL else "structure",
                title=f"The replay itself answered step {step.sequence_no} ({step.display_name})",
                description=f"By its policy: {step.reason.replace('_', ' ')}.",
                why_not="it is no answer that anybody recorded",
                base=step_ref(pair.base),
                candidate=step_ref(pair.candidate),
            )
            found.append(Change(atom=atom))
    return found


def _is_sampled(seen: Examined) -> bool:
    """Whether an answer that differs was drawn from a model when one of the runs was made."""
    pairs = [
        pair
        for pair in seen.comparison.acting
        if pair.answers_differently and not pair.overridden and pair.step.type == StepType.MODEL
    ]
    steps = [[step.id for step in (pair.base, pair.candidate) if step is not None] for pair in pairs]
    made = lineage.made(step for both in steps for step in both)
    return any(_drawn([made[step] for step in both if step in made], seen) for both in steps)


def _drawn(made: Sequence[tuple[str, str]], seen: Examined) -> bool:
    """Of a fork only what it asked anew counts, or another run did: what it shares with its source is the recording."""
    if any(reason == Reason.OPERATOR_OVERRIDE for _, reason in made):
        return False
    recorded = not seen.comparison.derived and any(label == Label.LIVE for label, _ in made)
    return recorded or any(reason in LIVE_REASONS or label == Label.CACHED for label, reason in made)


def _first(seen: Examined, side: int) -> int:
    """The first step on a side that differs in any way."""
    steps = [(pair.base, pair.candidate)[side] for pair in seen.comparison.acting if pair.differs]
    return min((step.sequence_no for step in steps if step is not None), default=1)


def _where(numbers: Sequence[int]) -> str:
    if not numbers:
        return "At no step of the recording."
    return f"At step {numbers[0]}" + (f" and {len(numbers) - 1} more." if len(numbers) > 1 else ".")
