"""The subject of a proof: two runs, the changes between them, and where each side is replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final
from uuid import UUID

from diffing import queries as diffs
from diffing.compare.comparison import Pair
from diffing.compare.references import step_ref
from diffing.report.examination import Examination, examine
from diffing.sentences.atoms import titles
from diffing.sentences.atoms.obstacles import Obstacle, obstacle
from replay.core.applied_profile import apply_profile
from replay.core.bounded_cache import BoundedCache
from replay.core.calls import LIVE_REASONS
from replay.core.graph import Graph
from replay.inputs.value_pointers import resolve_pointer
from replay.live import availability, pricing
from replay.overrides.profile import OverrideProfile
from replay.proofs.changes import fork_layers
from replay.proofs.changes.atoms import ABSENT, Absent, Change, Changes
from replay.proofs.changes.certificates import certify
from replay.proofs.changes.overrides import RunPair
from replay.proofs.changes.roots import roots
from replay.proofs.changes.titles import title
from replay.proofs.core.types import Atom, Side
from replay.proofs.counterfactual.copied_values import Copies, copies
from replay.proofs.counterfactual.derivations import Derivations
from replay.proofs.counterfactual.recorded_derivations import derivations
from replay.proofs.counterfactual.replay_monitor import CALL_TYPES
from replay.proofs.subject import lineage
from replay.proofs.subject.lineage import Lattice, lattice
from replay.store.graph_loader import load_graph
from replay.store.payload_reader import Payloads
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Run, Step
from traces.payloads.messages import Message, ModelRequest
from traces.payloads.parts import MissingPart
from traces.storage import artifacts

_MADE_UP_REASONS: Final = frozenset(
    {
        Reason.POLICY_FALLBACK,
        Reason.SOURCE_OUTPUT_UNVERIFIED,
        Reason.SIDE_EFFECT_BLOCKED,
        Reason.DENIED,
        Reason.STOPPED,
    }
)
_MAX_MADE_UP: Final = 5
# By runs and ignore list, because a proof looks at its subject again after every session. An examination takes up to
# seconds. It contains payloads, so few are kept.
_EXAMINATIONS: Final[BoundedCache[Examination]] = BoundedCache(capacity=2, seconds=60.0)


@dataclass(frozen=True, kw_only=True)
class Place:
    """The run that is replayed for a side, and the step to replay from."""

    run: Run
    fork: int


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The two runs of a proof, their differences, and where replays of each side begin."""

    base: Run
    candidate: Run
    examination: Examination
    changes: Changes
    places: Mapping[Side, Place]
    is_sampled: bool
    derivations: Derivations = field(default_factory=Derivations)
    copies: Copies = field(default_factory=Copies)

    @property
    def lattice(self) -> bool:
        """True if both runs derive from one, or one from the other, and replays begin there."""
        return self.changes.lattice

    @property
    def atoms(self) -> list[Atom]:
        return [change.atom for change in self.changes.changes.values()]

    def recording_of(self, side: Side) -> tuple[UUID, int]:
        """A side's own run, and the step at which the comparison begins in it."""
        run = self.base if side == "base" else self.candidate
        return run.id, self.places[side].fork if self.lattice else 1


def subject_of(base: Run, candidate: Run) -> Subject:
    """Read everything that the recordings show about the difference."""
    examination = _examination(base, candidate)
    ancestry = lattice(base, candidate)
    changes = None if ancestry is None else _fork_changes(examination, ancestry)
    if ancestry is None or changes is None:
        return _separate_subject(base, candidate, examination)
    source = Place(run=ancestry.source, fork=ancestry.fork)
    return Subject(
        base=base,
        candidate=candidate,
        examination=examination,
        changes=changes,
        places={"base": source, "candidate": source},
        is_sampled=_is_sampled(examination),
    )


def _examination(base: Run, candidate: Run) -> Examination:
    ignore_list = diffs.list_for(base, candidate)
    key = base.id, candidate.id, ignore_list and ignore_list.version
    if (known_examination := _EXAMINATIONS.get(key)) is not None:
        return known_examination
    left, right = (diffs.side(run, links=True, ignore_list=ignore_list) for run in (base, candidate))
    examination = examine(left, right, artifacts.available)
    _EXAMINATIONS.store(key, examination, weight=1)
    return examination


def _separate_subject(base: Run, candidate: Run, examination: Examination) -> Subject:
    """The subject of two runs that are not forks of one."""
    runs = RunPair(examination=examination, load=artifacts.available)
    root_changes = roots(examination, artifacts.available)
    value_copies = copies(runs, examination.reasoning.atoms)
    return Subject(
        base=base,
        candidate=candidate,
        examination=examination,
        changes=Changes(
            changes={change.atom.id: change for change in root_changes},
            lattice=False,
            previous_steps=runs.previous_steps,
        ),
        places={
            "base": Place(run=base, fork=_first_difference(examination, 0)),
            "candidate": Place(run=candidate, fork=_first_difference(examination, 1)),
        },
        is_sampled=_is_sampled(examination),
        derivations=derivations(
            examination.comparison, examination.flow, examination.reasoning.atoms, value_copies.whole, load=runs.value
        ),
        copies=value_copies,
    )


def live_price(subject: Subject) -> tuple[int, float | None]:
    """The maximum number of model calls of a full replay and their cost as recorded; None: unknown."""
    place = subject.places["candidate"]
    calls = Step.objects.filter(run=place.run, sequence_no__gte=place.fork, type=StepType.MODEL)
    now = datetime.now(UTC)
    costs = [
        pricing.price(*call, None, now) for call in calls.values_list("provider", "model", "tokens_in", "tokens_out")
    ]
    known_costs = [float(cost) for cost in costs if cost is not None]
    return len(costs), sum(known_costs) if len(known_costs) == len(costs) else None


def models_without_provider(subject: Subject) -> list[str]:
    """The models of both sides for which no provider is configured."""
    models: dict[str, None] = {}
    for place in subject.places.values():
        calls = Step.objects.filter(run=place.run, sequence_no__gte=place.fork, type=StepType.MODEL)
        for provider, model in calls.order_by("sequence_no").values_list("provider", "model"):
            if availability.provider_name(provider, model, None) is None:
                models[model or "a model without a name"] = None
    return list(models)


def _fork_changes(examination: Examination, ancestry: Lattice) -> Changes | None:
    """The changes between two replays of one run; None if they cannot be separated."""
    graph = load_graph(ancestry.source.id, ancestry.fork)
    try:
        base, candidate = fork_layers.settings(ancestry.base), fork_layers.settings(ancestry.candidate)
        changes, common = fork_layers.changes_between(base, candidate, partial(_steps, graph))
    except fork_layers.InseparableSettings:
        return None
    payloads, origins = Payloads(), diffs.origins(ancestry.source)
    source_changes = [_locate(examination, change, graph, payloads, origins) for change in changes]
    made_up = _made_up_answers(examination, ancestry.fork)
    return Changes(changes={change.atom.id: change for change in (*source_changes, *made_up)}, common=tuple(common))


def _steps(graph: Graph, match: JSONObject) -> frozenset[int]:
    """The steps that a match selects, whatever is set there."""
    profile = OverrideProfile.model_validate({"overrides": [{"match": match, "output": None}]})
    return frozenset(apply_profile(profile, graph).by_step)


def _locate(
    examination: Examination, change: Change, graph: Graph, payloads: Payloads, origins: Mapping[UUID, UUID]
) -> Change:
    """Add to a change the steps it acts on, their recorded values, and a certificate if it cannot have mattered."""
    slot = change.on_base[0]
    value = change.candidate if not isinstance(change.candidate, Absent) else change.base
    # One of the two sides sets it.
    assert not isinstance(value, Absent)
    profile = OverrideProfile.model_validate({"overrides": [slot.entry(value) for slot in change.on_base]})
    numbers = sorted(apply_profile(profile, graph).by_step)
    origin_ids = {origins.get(graph.by_no[no].id, graph.by_no[no].id) for no in numbers}
    pairs = [pair for pair in examination.comparison.pairs if _derives_from(pair, origin_ids)]
    recorded_value = _recorded_value(change, graph, numbers, payloads)
    first = pairs[0] if pairs else None
    certificate = certify(examination, [pair.place for pair in pairs])
    atom = replace(
        change.atom,
        certificate=certificate,
        title=title(slot, recorded_value if isinstance(change.base, Absent) else change.base, change.candidate),
        description=titles.locations(numbers),
        rank=(float(certificate is not None), _distance(examination, pairs), *change.atom.rank),
        base=step_ref(first.base) if first is not None else None,
        candidate=step_ref(first.candidate) if first is not None else None,
    )
    return replace(change, atom=atom, recorded_value=recorded_value)


def _distance(examination: Examination, pairs: Sequence[Pair]) -> float:
    """The distance from a change to the first step with a different answer; nearer changes are tried first."""
    first = next((pair.place for pair in examination.comparison.acting if pair.answers_differently), 0)
    return min((abs(pair.place - first) for pair in pairs), default=len(examination.comparison.pairs))


def _derives_from(pair: Pair, origins: set[UUID]) -> bool:
    return any(step is not None and origins & {step.id, step.origin} for step in (pair.base, pair.candidate))


def _recorded_value(change: Change, graph: Graph, numbers: Sequence[int], payloads: Payloads) -> JSONValue | Absent:
    """The recorded value that a change replaces, at the first step it acts on; `ABSENT` if it cannot be read."""
    if not numbers:
        return ABSENT
    node, slot = graph.by_no[numbers[0]], change.on_base[0]
    try:
        input = payloads(node.input_ref) if node.input_ref else None
        output = payloads(node.output_ref) if node.output_ref else None
    except MissingPart:
        return ABSENT
    if slot.category == "arguments":
        return input
    if slot.category == "tool":
        return {"output": output, "status": str(node.status)}
    if slot.category == "output":
        return output
    if slot.category == "retrieval" and slot.field == "documents":
        return as_object(output).get("documents", ABSENT)
    return _input_value(slot.category, slot.field, input, change)


def _input_value(category: str, field: str, input: JSONValue, change: Change) -> JSONValue | Absent:
    if category == "messages":
        return _message_edit(input, change)
    if category == "prompt" and field == "system":
        return _system_prompt(input)
    if category == "model" and field not in {"tools", "response_format"}:
        return ModelRequest(input).parameters.get(field, ABSENT)
    return as_object(input).get(field, ABSENT)


def _message_edit(input: JSONValue, change: Change) -> JSONValue | Absent:
    """For a replaced message, the edit that would leave it unchanged."""
    edit = as_object(change.base if isinstance(change.candidate, Absent) else change.candidate)
    if edit.get("op") != "replace" or "passages" in edit:
        return ABSENT
    try:
        if "message" in edit:
            return {**edit, "message": resolve_pointer(input, f"/messages/{edit['index']}")}
        return {**edit, "content": resolve_pointer(input, f"/messages/{edit['index']}/content")}
    except LookupError:
        return ABSENT


def _system_prompt(input: JSONValue) -> JSONValue | Absent:
    for message in map(Message, ModelRequest(input).messages):
        if message.role in {"system", "developer"}:
            return message.content if isinstance(message.content, str) else ABSENT
    return ABSENT


def _made_up_answers(examination: Examination, fork: int) -> list[Change]:
    """Answers that a replay made up on one side: no other replay can give them without guessing."""
    changes: list[Change] = []
    for pair in examination.comparison.acting:
        steps = [step for step in (pair.base, pair.candidate) if step is not None]
        step = next((step for step in steps if step.reason in _MADE_UP_REASONS and step.type in CALL_TYPES), None)
        if step is not None and pair.differs and step.sequence_no >= fork and len(changes) < _MAX_MADE_UP:
            atom = Atom(
                id=f"made-up-{pair.place}",
                category="tool" if step.type == StepType.TOOL else "structure",
                title=titles.made_up_answer(step.sequence_no, step.display_name),
                description=titles.made_up_reason(step.reason),
                why_not=obstacle(Obstacle.NOT_RECORDED),
                base=step_ref(pair.base),
                candidate=step_ref(pair.candidate),
            )
            changes.append(Change(atom=atom))
    return changes


def _is_sampled(examination: Examination) -> bool:
    """Return whether a differing answer was drawn from a model when one of the runs was made."""
    pairs = [
        pair
        for pair in examination.comparison.acting
        if pair.answers_differently and not pair.overridden and pair.step.type == StepType.MODEL
    ]
    steps = [[step.id for step in (pair.base, pair.candidate) if step is not None] for pair in pairs]
    labels = lineage.first_labels(step for pair_steps in steps for step in pair_steps)
    return any(_is_drawn([labels[step] for step in pair_steps if step in labels], examination) for pair_steps in steps)


def _is_drawn(labels: Sequence[tuple[str, str]], examination: Examination) -> bool:
    """Return whether one of these answers was drawn from a model.

    In a fork, only new answers and those of other runs count; the rest is the recording that it shares with its source.
    """
    if any(reason == Reason.OPERATOR_OVERRIDE for _, reason in labels):
        return False
    live_recording = not examination.comparison.derived and any(label == Label.LIVE for label, _ in labels)
    return live_recording or any(reason in LIVE_REASONS or label == Label.CACHED for label, reason in labels)


def _first_difference(examination: Examination, side: int) -> int:
    """The first step on a side that differs in any way."""
    steps = [(pair.base, pair.candidate)[side] for pair in examination.comparison.acting if pair.differs]
    return min((step.sequence_no for step in steps if step is not None), default=1)
