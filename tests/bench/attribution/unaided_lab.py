"""Probe runner of track A unaided: the product must find the changes in the two recordings."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

from diffing.report.examination import Examination, examine
from diffing.schemas.evidence import ProbeOutcome
from diffing.sentences.atoms.obstacles import Gap, gap
from replay.core.applied_profile import apply_profile
from replay.core.calls import CachedAnswer
from replay.core.context import ReplayContext
from replay.core.graph import Graph
from replay.engine.replayer import Replayer
from replay.inputs.witnesses import WitnessStep, places, witness
from replay.overrides.profile import Match, Override, OverrideProfile, ToolOverride
from replay.proofs.changes.atoms import Change, Changes, Slot
from replay.proofs.changes.certificates import chance
from replay.proofs.changes.overrides import RunPair
from replay.proofs.changes.roots import roots
from replay.proofs.core.types import Allowance, Atom, Atoms, Case, PathStep, ProbeResult, ProbeSpec, Side, opposite
from replay.proofs.counterfactual.copied_values import Copies, copies, with_links
from replay.proofs.counterfactual.coupling import Coupling, RecordedAnswer, counterparts
from replay.proofs.counterfactual.derivations import Derivations, OtherState
from replay.proofs.counterfactual.recorded_derivations import derivations
from replay.proofs.counterfactual.recording_detail import recording_detail
from replay.proofs.counterfactual.replay_monitor import MissingAnswer, ReplayMonitor, UnfaithfulReplay
from replay.proofs.probes.mediator_candidates import clamp_of, path_steps
from tests.bench.attribution.lab import QUESTION, Bench
from tests.bench.attribution.replays import POLICY, Engine, Source
from tests.bench.attribution.transcripts import side
from tests.bench.attribution.truth import Injection, Truth
from tests.support.comparing import Store
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType

# Id of the changes that show in neither recording.
HIDDEN: Final = "hidden"
_FIELDS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "prompt": ("prompt", frozenset({"system"})),
    "variable": ("prompt", frozenset({"*", "variables"})),
    "doc": ("retrieval", frozenset({"documents"})),
    "user": ("messages", frozenset()),
}


@dataclass
class CoupledEngine(Engine):
    """Engine that answers from the replayed recording, then from the other one, then live."""

    coupling: Coupling = field(default_factory=lambda: Coupling(recordings=()))
    outputs: Mapping[tuple[UUID, int], JSONValue] = field(default_factory=dict)
    payloads: Mapping[str, JSONValue] = field(default_factory=dict)

    def payload(self, ref: str) -> JSONValue:
        return self.payloads[ref]

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        answer = self.coupling.answer(signature)
        if answer is None:
            return None
        output = self.outputs[answer.run, answer.step]
        return CachedAnswer(output_ref="", output=output, status=answer.status, location={"step": answer.step})


def _witness_steps(source: Source) -> list[WitnessStep]:
    return [
        WitnessStep(
            no=node.no,
            type=node.type,
            name=node.name,
            output_ref=node.output_ref,
            digests=tuple(item.digest for item in node.unexplained),
        )
        for node in source.graph.nodes
    ]


@dataclass
class UnaidedLab:
    """The changes that the product finds between two recordings, and its probes."""

    bench: Bench
    store: Store = field(default_factory=Store)
    replays: int = 0
    # External calls of the last probe.
    _external_calls: list[str] = field(default_factory=list)

    @cached_property
    def examination(self) -> Examination:
        base, candidate = (
            side(source.run, self.store, links=True) for source in (self.bench.base, self.bench.candidate)
        )
        return examine(base, candidate, self._load)

    @cached_property
    def changes(self) -> Changes:
        return Changes(
            changes={change.atom.id: change for change in roots(self.examination, self._load)}, lattice=False
        )

    def case(self) -> Case:
        atoms = [change.atom for change in self.changes.changes.values()]
        detail = recording_detail(self.examination)
        return Case(
            question=QUESTION,
            atoms=atoms,
            differs=self.bench.base.answer != self.bench.candidate.answer,
            lacks_models=detail.lacks_models,
            lacks_lookups=detail.lacks_lookups,
            features=("final answer",),
            chance=chance(self.examination, atoms, QUESTION.kind, lattice=False),
        )

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return self.changes.parts(atom)

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return path_steps(self._subject, cause)

    @cached_property
    def _subject(self) -> Any:
        atoms = [change.atom for change in self.changes.changes.values()]
        return SimpleNamespace(examination=self.examination, atoms=atoms)

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        """Run a probe. If it reaches the other run's state, replay from that run, as the product does."""
        try:
            return self._probe(ask, allowance)
        except OtherState as state:
            if ask.clamp is not None:
                return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=gap(Gap.CODE_DIVERGES))
            other_state = state
        try:
            examination = self._probe(replace(ask, side=opposite(ask.side)), allowance)
            own = self._coupling(self.bench.base if ask.side == "base" else self.bench.candidate)
            return replace(
                examination,
                derived=examination.derived or not other_state.is_traced,
                borrowed_answers=examination.borrowed_answers + own.count_unrecorded(self._external_calls),
                replay_side=opposite(ask.side),
            )
        except OtherState:
            return ProbeResult(
                outcome=ProbeOutcome.NEEDS_LIVE, missing=gap(Gap.CODE_DIVERGES), strays=other_state.strays
            )

    def _probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        source = self.bench.base if ask.side == "base" else self.bench.candidate
        profile = self._clamp_profile(ask.clamp) if ask.clamp else self.changes.profile(ask.atoms, ask.side)
        self.replays += 1
        applied_profile = apply_profile(profile, source.graph)
        if applied_profile.refusals:
            return ProbeResult(outcome=ProbeOutcome.FAILED, missing=applied_profile.refusals[0].detail)
        engine = CoupledEngine(
            source,
            source.settings,
            self.bench.ask_model,
            coupling=self._coupling(source),
            outputs=self._outputs,
            payloads=self._payloads,
        )
        state, graph = self._derivations.state(ask.side), with_links(self._graph(source), self._copies.links[ask.side])
        monitor = ReplayMonitor(graph=graph, coupling=engine.coupling, state=state)
        context = ReplayContext(graph=graph, profile=applied_profile, policy=POLICY, environment=engine)
        try:
            for event in Replayer(context).run():
                monitor.observe(event, source.payloads.__getitem__)
            answer = monitor.result(source.payloads.__getitem__).answer
        except (MissingAnswer, UnfaithfulReplay) as error:
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=str(error))
        self._external_calls = monitor.external_calls
        return ProbeResult(
            outcome=self._outcome(answer),
            summary=answer,
            executed_steps=monitor.executed_steps,
            cached_calls=monitor.cached_answers,
            borrowed_answers=monitor.borrowed_answers,
            assumed_steps=monitor.assumed_steps,
            derived=state.assumes_code,
        )

    @cached_property
    def _payloads(self) -> Mapping[str, JSONValue]:
        return {**self.bench.base.payloads, **self.bench.candidate.payloads}

    def _graph(self, source: Source) -> Graph:
        """The graph of a recording as the product loads it: the other recording of the app is a witness."""
        other = self.bench.candidate if source is self.bench.base else self.bench.base
        numbers = places(_witness_steps(source))
        return replace(source.graph, witnesses=(witness(_witness_steps(other), numbers),))

    @cached_property
    def _derivations(self) -> Derivations:
        return derivations(
            self.examination.comparison,
            self.examination.flow,
            self.examination.reasoning.atoms,
            self._copies.whole,
            load=self._payloads.__getitem__,
        )

    @cached_property
    def _copies(self) -> Copies:
        return copies(RunPair(examination=self.examination, load=self._load), self.examination.reasoning.atoms)

    def _load(self, refs: Collection[str]) -> dict[str, JSONValue]:
        return {ref: self.store.values[ref] for ref in refs if ref in self.store.values}

    def _outcome(self, answer: str) -> Any:
        if answer == self.bench.candidate.answer:
            return ProbeOutcome.CANDIDATE
        return ProbeOutcome.BASE if answer == self.bench.base.answer else ProbeOutcome.OTHER

    def _clamp_profile(self, number: int) -> OverrideProfile:
        no, type, ref, status = clamp_of(self._subject, number)
        output = self.store.values[ref] if ref else None
        if type is StepType.TOOL:
            tool = ToolOverride.model_validate({"output": output, "status": status})
            return OverrideProfile(overrides=[Override(match=Match(step=no), tool=tool)])
        return OverrideProfile(overrides=[Override(match=Match(step=no), output=output)])

    def _coupling(self, source: Source) -> Coupling:
        other_source = self.bench.candidate if source is self.bench.base else self.bench.base
        side: Side = "base" if source is self.bench.base else "candidate"
        runs: dict[Side, UUID] = {"base": self._id(self.bench.base), "candidate": self._id(self.bench.candidate)}
        return Coupling(
            recordings=[self._recording(source), self._recording(other_source)],
            counterparts=counterparts(self.examination.reasoning.atoms, side, runs),
        )

    def _recording(self, source: Source) -> dict[str, list[RecordedAnswer]]:
        answers: dict[str, list[RecordedAnswer]] = {}
        for node in source.graph.nodes:
            if node.signature:
                answer = RecordedAnswer(
                    run=self._id(source), step=node.no, output_ref=node.output_ref, status=node.status
                )
                answers.setdefault(node.signature, []).append(answer)
        return answers

    @cached_property
    def _outputs(self) -> dict[tuple[UUID, int], JSONValue]:
        return {
            (self._id(source), node.no): source.payloads[node.output_ref]
            for source in (self.bench.base, self.bench.candidate)
            for node in source.graph.nodes
        }

    def _id(self, source: Source) -> UUID:
        return UUID(int=int(source is self.bench.candidate))

    # True changes, grouped by the changes that the product finds

    def truth(self) -> Truth:
        """Return the truth over the product's changes. All changes that it misses form one more change."""
        hunks: dict[str, list[tuple[str, JSONValue]]] = {}
        for injection in self.bench.case.injections:
            for hunk in injection.hunks:
                hunks.setdefault(self._change_id(hunk[0]), []).append(hunk)
        acting = {
            id: Injection(id=id, category="prompt", hunks=tuple(change_hunks), main=0)
            for id, change_hunks in sorted(hunks.items())
        }
        return Truth(pipeline=self.bench.case.pipeline, acting=acting)

    def _change_id(self, path: str) -> str:
        for id, change in self.changes.changes.items():
            if any(self._is_slot_of(path, slot, change) for slot in (*change.on_base, *change.on_candidate)):
                return id
        return HIDDEN

    def _is_slot_of(self, path: str, slot: Slot, change: Change) -> bool:
        kind, name, *rest = path.split(".")
        if kind == "model":
            field_name = "model" if rest[-1] == "name" else rest[-1]
            return slot.category == "model" and slot.field == field_name and self._is_at(slot, name)
        if kind == "row":
            return slot.category in {"tool", "output"} and self._is_at(slot, name) and self._has_key(slot, rest[0])
        category, fields = _FIELDS[kind]
        fits = slot.category == category and (not fields or slot.field in fields)
        return fits and (kind not in {"prompt"} or self._is_at(slot, name))

    def _is_at(self, slot: Slot, name: str) -> bool:
        return slot.match.get("step") is None or any(node.name == name for node in self._nodes(slot))

    def _has_key(self, slot: Slot, key: str) -> bool:
        inputs = [source.payloads[node.input_ref] for source, node in self._nodes_by_source(slot)]
        return any(
            isinstance(arguments, dict) and str(next(iter(arguments.values()), "")) == key for arguments in inputs
        )

    def _nodes(self, slot: Slot) -> Iterator[Any]:
        return (node for _, node in self._nodes_by_source(slot))

    def _nodes_by_source(self, slot: Slot) -> Iterator[tuple[Source, Any]]:
        for source in (self.bench.base, self.bench.candidate):
            for node in source.graph.nodes:
                if slot.match.get("step") == node.no:
                    yield source, node
