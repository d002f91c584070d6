"""Attribution of a comparison: a typed verdict, the path, the evidence, and the next experiment. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diffing.attribution import effects
from diffing.attribution.declared_config import declared_changes
from diffing.attribution.reasoning import Reasoning, is_choice
from diffing.attribution.unexplained_changes import Atom, is_agent_setting
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow, FlowLink
from diffing.compare.references import step_ref
from diffing.content.facet import Facet
from diffing.schemas.report import Attribution, Cause, PathLink
from diffing.schemas.terms import AttributionVerdict, Confidence
from diffing.sentences import attribution, changes, headlines
from diffing.sentences.notes import Note, facet_note, join_effect, plain_note, plain_text, unpaired_note, value_note
from diffing.sentences.text import capitalize
from diffing.sentences.verdicts import (
    Answer,
    CertificateKind,
    Changes,
    ConfigurationDiffers,
    Consequence,
    Divergence,
    DoubtKind,
    Evidence,
    Exclusion,
    Experiment,
    ExperimentKind,
    JointChange,
    ManualAnswer,
    NoDifference,
    NoEffect,
    NoExplanation,
    NothingInCommon,
    OpenVerdict,
    Reason,
    ReasonKind,
    Resampling,
    SingleCause,
    Support,
    SupportKind,
    Trials,
    Verdict,
)
from traces.core.vocabulary import StepType

# Rivals named in a sentence.
_NAMED_RIVALS: Final = 3
_MAX_CAUSES: Final = 20


class Case:
    """All facts about one comparison, from which the attribution is written."""

    def __init__(
        self, comparison: Comparison, facets: Mapping[int, Sequence[Facet]], flow: Flow, reasoning: Reasoning
    ) -> None:
        self.comparison, self.facets, self.flow, self.reasoning = comparison, facets, flow, reasoning

    def attribution(self) -> Attribution:
        """The attribution of the report."""
        reasoning = self.reasoning
        path = self._path_to_final(reasoning.primary) if reasoning.primary else []
        verdict = self._verdict(path)
        changes_ = [atom for atom in (reasoning.primary, *reasoning.exclusions) if atom is not None]
        return Attribution(
            verdict=reasoning.verdict,
            headline=headlines.headline(verdict, atom_name(changes_[0]) if changes_ else ""),
            sentence=attribution.sentence(verdict),
            primary=self._cause(reasoning.primary) if reasoning.primary else None,
            supporting=self._supporting(path),
            path=self._path(reasoning.primary, path) if reasoning.primary else [],
            confidence=self._confidence(),
            evidence=[attribution.evidence(evidence_item) for evidence_item in self._evidence()],
            alternatives=[self._cause(atom) for atom in (*reasoning.rivals, *reasoning.later)[:_MAX_CAUSES]],
            cheapest_experiment=attribution.experiment(self._experiment()),
        )

    def _confidence(self) -> Confidence | None:
        """Medium requires a replay and exactly one possible change; a comparison of two recordings is low."""
        reasoning = self.reasoning
        if reasoning.verdict == AttributionVerdict.NO_DIFFERENCE:
            return None
        if reasoning.verdict in {AttributionVerdict.NO_EFFECT, AttributionVerdict.NOISE}:
            return "noise"
        is_only_cause = (
            reasoning.primary is not None and not reasoning.rivals and not reasoning.later and reasoning.is_connected
        )
        return "medium" if is_only_cause and self.comparison.derived else "low"

    def _verdict(self, path: Sequence[FlowLink]) -> Verdict:
        match self.reasoning.verdict:
            case AttributionVerdict.NO_DIFFERENCE:
                return NoDifference(settings=self._settings_note())
            case AttributionVerdict.NO_EFFECT:
                return self._no_effect()
            case AttributionVerdict.INCONCLUSIVE:
                return self._open_verdict()
            case AttributionVerdict.NOISE:
                return self._chance_verdict()
            case AttributionVerdict.CAUSE:
                assert self.reasoning.primary is not None  # a verdict of cause always has one
                return self._cause_verdict(self.reasoning.primary, path)

    def _cause_verdict(self, cause: Atom, path: Sequence[FlowLink]) -> Verdict:
        """The verdict for a cause, weakened if other changes are possible causes."""
        rivals = self.reasoning.rivals
        if rivals and self.comparison.derived:
            atoms = [cause, *rivals]
            has_resampling = any(atom.is_sampled for atom in atoms)
            return JointChange(
                count=len(atoms), changes=_changes(atoms), answer=self._answer(), has_resampling=has_resampling
            )
        if self._is_manual_answer(path):
            return ManualAnswer(step=changes.step_name(cause.pair), answer=self._answer())
        if not is_agent_setting(cause) and (settings := self._settings_note()):
            return ConfigurationDiffers(settings=settings, change=atom_phrase(cause), answer=self._answer())
        return SingleCause(
            change=atom_phrase(cause),
            consequence=self._consequence(cause),
            is_suspicion=self._confidence() == "low",
            has_data_flow=self.reasoning.is_connected,
            open_changes=_changes(rivals) if rivals else None,
        )

    def _settings_note(self) -> str:
        """The differences of the declared configurations; empty if there are none, or if one run is a replay."""
        if self.comparison.derived:
            return ""
        changes_ = declared_changes(self.comparison.base.run, self.comparison.candidate.run)
        return "; ".join(plain_text(value_note(change)) for change in changes_[:2])

    def _answer(self) -> Answer:
        return effects.answer(self.comparison, self.facets, self._pairs_before_final())

    def _consequence(self, cause: Atom) -> Consequence:
        return effects.consequence(self.comparison, self.facets, self._pairs_after(cause), self._pairs_before_final())

    def _pairs_before_final(self) -> list[Pair]:
        """The pairs that lead to the final answer, its own included."""
        final = self.comparison.final
        if final is None:
            return []
        places = sorted(self.flow.before(final.place) | {final.place})
        return [pair for pair in map(self.comparison.pairs.__getitem__, places) if not pair.is_container]

    def _is_manual_answer(self, path: Sequence[FlowLink]) -> bool:
        """True if the final answer repeats an output that was overridden; then there is nothing to explain."""
        cause, final = self.reasoning.primary, self.comparison.final
        if cause is None or final is None or not _is_set_answer(cause) or self._confidence() != "medium":
            return False
        consumer_types = [self.comparison.pairs[travel.consumer].step.type for travel in path]
        return cause.pair is final or (bool(consumer_types) and all(kind == StepType.OUTPUT for kind in consumer_types))

    def _no_effect(self) -> Verdict:
        atoms = self.reasoning.exclusions
        steps = sum(pair.differs and not pair.is_container for pair in self.comparison.pairs)
        return (
            NoEffect(steps=steps, change=atom_phrase(atoms[0]), more=len(atoms) - 1) if atoms else NoEffect(steps=steps)
        )

    def _open_verdict(self) -> Verdict:
        rivals, doubts = self.reasoning.rivals, self.reasoning.chance.doubts
        if self.reasoning.nothing_in_common:
            return NothingInCommon()
        if not rivals:
            return NoExplanation(unread=next((doubt for doubt in doubts if doubt.kind is DoubtKind.UNREAD), None))
        doubts = doubts if any(atom.is_sampled for atom in rivals) else ()
        return OpenVerdict(changes=_changes(rivals), doubts=doubts)

    def _chance_verdict(self) -> Verdict:
        first, repeats = self.reasoning.primary, self.reasoning.chance.repeats
        assert first is not None  # a verdict of noise names the step that answered differently
        if repeats is not None:
            return Trials(
                task=repeats.task,
                counter=repeats.counter,
                base=repeats.base,
                candidate=repeats.candidate,
                step=(first.pair.base or first.pair.step).sequence_no,
                divergence=_divergence(first),
                answer=self._answer(),
                side="base" if first.pair.base else "candidate",
                step_type=first.pair.step.type,
            )
        pairs = [self.comparison.pairs[place] for place in first.places]
        number = min((pair.base.sequence_no for pair in pairs if pair.base), default=pairs[0].step.sequence_no)
        has_earlier = any(pair.differs_itself for pair in self.comparison.pairs[: min(first.places)])
        return Resampling(step=number, consequence=self._consequence(first), has_earlier=has_earlier)

    def _pairs_after(self, atom: Atom) -> list[Pair]:
        """The changed pairs that the cause can have reached, in order."""
        reachable = self.flow.after(atom.places) | set(atom.places)
        if not self.reasoning.is_connected:
            reachable = set(range(atom.places[0], len(self.comparison.pairs)))
        live = self.reasoning.live if self.reasoning.is_connected else reachable
        external_types = {pair.step.type for pair in self.comparison.pairs} & {StepType.TOOL, StepType.RETRIEVAL}
        skips_own = atom.facet is None or atom.facet.part == "output" or atom.pair.step.type in external_types
        # The phrase of the cause already describes its own step.
        own_place = atom.pair.place if skips_own else None
        return [
            pair
            for pair in self.comparison.pairs
            if pair.place in reachable and pair.differs and (pair.place in live or pair.step.type in external_types)
            if pair.place != own_place
        ]

    def _path_to_final(self, atom: Atom) -> list[FlowLink]:
        final = self.comparison.final
        if final is None:
            return []
        differing_places = [place for place in atom.places if self.comparison.pairs[place].answers_differently]
        starts = [place for place in differing_places if place in self.reasoning.live] or list(atom.places[:1])
        return self.flow.path(starts[0], final.place)

    def _path(self, atom: Atom, links: Sequence[FlowLink]) -> list[PathLink]:
        start = self.comparison.pairs[links[0].producer] if links else atom.pair
        input_facet = atom.facet if atom.facet and atom.facet.part != "output" else None
        note = join_effect(facet_note(input_facet), self._note(start)) if input_facet else self._note(start)
        side = "candidate" if start.candidate else "base"
        path = [PathLink(step=step_ref(start.step), side=side, via="cause", note=note, evidence="inferred")]
        for link in links:
            pair = self.comparison.pairs[link.consumer]
            step = (pair.base if link.side == "base" else pair.candidate) or pair.step
            path.append(
                PathLink(
                    step=step_ref(step),
                    side=link.side,
                    via=link.kind,
                    note=self._note(pair) or plain_note(link.evidence),
                    evidence="inferred",
                )
            )
        return path

    def _supporting(self, path: Sequence[FlowLink]) -> list[Cause]:
        places = [link.consumer for link in path]
        final = self.comparison.final
        pairs_between = [self.comparison.pairs[place] for place in places if final is None or place != final.place]
        if self.reasoning.verdict == AttributionVerdict.NO_EFFECT:
            return [self._cause(atom) for atom in self.reasoning.exclusions[:_MAX_CAUSES]]
        return [self._step_cause(pair) for pair in pairs_between[:_MAX_CAUSES]]

    def _step_cause(self, pair: Pair) -> Cause:
        facets = self.facets.get(pair.place, ())
        facet = next((facet for facet in facets if facet.part == "output"), next(iter(facets), None))
        return Cause(
            category=facet.category if facet else "structure",
            title=capitalize(changes.step_name(pair)),
            description=plain_text(self._note(pair)),
            base=step_ref(pair.base),
            candidate=step_ref(pair.candidate),
        )

    def _cause(self, atom: Atom) -> Cause:
        return Cause(
            category=atom.category,
            title=atom_phrase(atom),
            description=attribution.description(changes.step_name(atom.pair), len(atom.places) - 1, self._reason(atom)),
            base=step_ref(atom.pair.base),
            candidate=step_ref(atom.pair.candidate),
        )

    def _note(self, pair: Pair) -> Note:
        """The first difference of a pair: outputs before inputs."""
        if pair.sides is None:
            return unpaired_note(pair)
        facets = sorted(self.facets.get(pair.place, ()), key=_note_order)
        return facet_note(facets[0]) if facets else plain_note(", ".join(pair.changes))

    def _evidence(self) -> list[Evidence]:
        reasoning = self.reasoning
        evidence = [*self._grounds()]
        if reasoning.verdict not in {AttributionVerdict.NO_DIFFERENCE, AttributionVerdict.NO_EFFECT}:
            evidence.append(Support(kind=SupportKind.DATA_FLOW if reasoning.is_connected else SupportKind.NO_DATA_FLOW))
        evidence += [
            Exclusion(change=atom_phrase(atom), certificate=self._certificate(atom))
            for atom in reasoning.exclusions[:_MAX_CAUSES]
        ]
        if self.comparison.derived and reasoning.verdict != AttributionVerdict.NO_DIFFERENCE:
            evidence.append(Support(kind=SupportKind.REPLAY))
        elif reasoning.verdict in {AttributionVerdict.CAUSE, AttributionVerdict.INCONCLUSIVE}:
            evidence.append(Support(kind=SupportKind.SEPARATE_RECORDINGS))
        if reasoning.verdict in {AttributionVerdict.CAUSE, AttributionVerdict.INCONCLUSIVE}:
            evidence += reasoning.chance.doubts
        return evidence

    def _grounds(self) -> Iterator[Evidence]:
        """The reason for the named cause, and facts about its step."""
        reasoning, primary = self.reasoning, self.reasoning.primary
        if primary is None:
            return
        if reasoning.verdict == AttributionVerdict.CAUSE and not _is_set_answer(primary):
            yield self._reason(primary)
            if reasoning.rivals:
                yield Support(kind=SupportKind.KIND_ORDER)
        step = changes.step_name(primary.pair)
        if reasoning.verdict == AttributionVerdict.NOISE and reasoning.chance.repeats is not None:
            yield Support(kind=SupportKind.TRIALS, task=reasoning.chance.repeats.task)
        elif primary.is_sampled:
            yield Support(kind=SupportKind.SAME_REQUEST, step=step)
        if primary.overridden:
            yield Reason(kind=ReasonKind.SET_BY_HAND, step=step)

    def _certificate(self, atom: Atom) -> CertificateKind:
        if self.reasoning.verdict == AttributionVerdict.NO_EFFECT:
            return CertificateKind.SAME_ANSWER
        pairs = [self.comparison.pairs[place] for place in atom.places]
        if not any(pair.answers_differently for pair in pairs):
            return CertificateKind.SAME_OUTPUT
        final = self.comparison.final
        if final is not None and final.place in self.flow.after(atom.places):
            return CertificateKind.SAME_ON_EVERY_PATH
        return CertificateKind.NO_PATH

    def _experiment(self) -> Experiment | None:
        reasoning = self.reasoning
        if reasoning.verdict in {AttributionVerdict.NO_DIFFERENCE, AttributionVerdict.NO_EFFECT}:
            return None
        if reasoning.verdict == AttributionVerdict.NOISE:
            assert reasoning.primary is not None  # a verdict of noise names the step
            return Experiment(kind=ExperimentKind.REPEAT_FROM, step=_number(reasoning.primary))
        atoms = [atom for atom in (reasoning.primary, *reasoning.rivals, *reasoning.later) if atom is not None]
        if reasoning.nothing_in_common or (
            reasoning.primary is not None and self._is_manual_answer(self._path_to_final(reasoning.primary))
        ):
            return None
        if not atoms:
            return Experiment(kind=ExperimentKind.REPEAT)
        return Experiment(
            kind=ExperimentKind.BOTH_WAYS,
            step=_number(atoms[0]),
            change=atom_phrase(atoms[0]) if len(atoms) > 1 else "",
            calls=self._live_calls(atoms[0]),
        )

    def _reason(self, atom: Atom) -> Reason:
        """Why the change may be the cause."""
        if is_choice(atom):
            return Reason(kind=ReasonKind.CALL)
        if _is_set_answer(atom):
            return Reason(kind=ReasonKind.SET_BY_HAND, step=changes.step_name(atom.pair))
        shared_pairs = [pair for pair in map(self.comparison.pairs.__getitem__, atom.places) if pair.sides][:1]
        if atom.category != "model" or not shared_pairs:
            return Reason(kind=ReasonKind(atom.category))
        request_differs = "input" in shared_pairs[0].changes
        return Reason(kind=ReasonKind.MODEL_AND_REQUEST if request_differs else ReasonKind.MODEL_ALONE)

    def _live_calls(self, atom: Atom) -> int:
        """The number of model calls that would go live: those that the change can reach."""
        reachable = self.flow.after(atom.places) | set(atom.places)
        return sum(pair.step.type == StepType.MODEL for pair in self.comparison.pairs if pair.place in reachable)


def _is_set_answer(atom: Atom) -> bool:
    return atom.category == "output" and atom.overridden


def atom_phrase(atom: Atom) -> str:
    """The change as an action, as the beginning of a sentence."""
    if atom.is_sampled:
        return changes.resampling_phrase(atom.pair)
    return _unpaired_phrase(atom) if atom.facet is None else changes.facet_phrase(atom.facet)


def atom_name(atom: Atom) -> str:
    """The change by name, for a headline."""
    if atom.is_sampled:
        return headlines.sample_name(_number(atom))
    return _unpaired_phrase(atom) if atom.facet is None else headlines.change_name(atom.facet)


def _unpaired_phrase(atom: Atom) -> str:
    text = atom.user_message
    return changes.turn_phrase(atom.pair, text) if text else changes.unpaired_phrase(atom.pair)


def _changes(atoms: Sequence[Atom]) -> Changes:
    """The first changes by title, and the number of the others."""
    return Changes(titles=tuple(map(atom_phrase, atoms[:_NAMED_RIVALS])), more=max(0, len(atoms) - _NAMED_RIVALS))


def _divergence(atom: Atom) -> Divergence:
    """How two trials diverge."""
    if atom.is_sampled:
        return Divergence.SAME_REQUEST
    if atom.facet is None:
        return Divergence.ONE_SIDE
    return Divergence.USER if atom.facet.form == "messages" else Divergence.MODEL


def _note_order(facet: Facet) -> tuple[bool, bool]:
    """Sort key: outputs before inputs, tool calls before texts."""
    return facet.part != "output", facet.kind != "tool calls"


def _number(atom: Atom) -> int:
    return (atom.pair.base or atom.pair.step).sequence_no
