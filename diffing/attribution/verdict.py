"""The attribution of a comparison: a typed verdict, the path, the evidence, and what would settle it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diffing.attribution import effects
from diffing.attribution.declared_config import declared_changes
from diffing.attribution.reasoning import Reasoning, is_choice
from diffing.attribution.roots import is_standing
from diffing.attribution.unexplained_changes import Atom
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow, FlowLink
from diffing.compare.references import step_ref
from diffing.content.facet import Facet
from diffing.schemas.report import Attribution, Cause, PathLink
from diffing.schemas.terms import Confidence
from diffing.sentences import attribution, changes
from diffing.sentences.text import capitalize
from diffing.sentences.verdicts import (
    Answer,
    CertificateKind,
    Changes,
    ConfigurationDiffers,
    Consequence,
    Divergence,
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

_NAMED: Final = 3  # rivals named in a sentence
_LISTED: Final = 20


class Case:
    """Everything that is known about one comparison, from which the attribution is written."""

    def __init__(
        self, comparison: Comparison, facets: Mapping[int, Sequence[Facet]], flow: Flow, found: Reasoning
    ) -> None:
        self.comparison, self.facets, self.flow, self.found = comparison, facets, flow, found

    def attribution(self) -> Attribution:
        """The attribution as the report holds it."""
        found = self.found
        way = self._way(found.primary) if found.primary else []
        return Attribution(
            verdict=found.verdict,
            sentence=attribution.sentence(self._verdict(way)),
            primary=self._cause(found.primary) if found.primary else None,
            supporting=self._supporting(way),
            path=self._path(found.primary, way) if found.primary else [],
            confidence=self._confidence(),
            evidence=[attribution.evidence(each) for each in self._evidence()],
            alternatives=[self._cause(atom) for atom in (*found.rivals, *found.later)[:_LISTED]],
            cheapest_experiment=attribution.experiment(self._experiment()),
        )

    def _confidence(self) -> Confidence | None:
        """Medium needs a known change and nothing else left; a comparison of two recordings alone is low."""
        found = self.found
        if found.verdict == "no_difference":
            return None
        if found.verdict in {"no_effect", "noise"}:
            return "noise"
        alone = found.primary is not None and not found.rivals and not found.later and found.connected
        return "medium" if alone and self.comparison.derived else "low"

    def _verdict(self, way: Sequence[FlowLink]) -> Verdict:
        match self.found.verdict:
            case "no_difference":
                return NoDifference()
            case "no_effect":
                return self._without_effect()
            case "inconclusive":
                return self._undecided()
            case "noise":
                return self._drawn()
            case "cause":
                assert self.found.primary is not None  # a verdict of cause always has one
                return self._caused(self.found.primary, way)

    def _caused(self, cause: Atom, way: Sequence[FlowLink]) -> Verdict:
        """The cause with what it did; no more than that where other changes can have done it too."""
        rivals = self.found.rivals
        if rivals and self.comparison.derived:
            atoms = [cause, *rivals]
            drawn = any(atom.sampled for atom in atoms)
            return JointChange(count=len(atoms), changes=_named(atoms), answer=self._answer(), has_resampling=drawn)
        if self._is_by_hand(way):
            return ManualAnswer(step=changes.step_name(cause.pair), answer=self._answer())
        if not is_standing(cause) and (declared := self._declared()):
            return ConfigurationDiffers(settings=declared, change=phrase(cause), answer=self._answer())
        return SingleCause(
            change=phrase(cause),
            consequence=self._consequence(cause),
            is_suspicion=self._confidence() == "low",
            has_data_flow=self.found.connected,
            open_changes=_named(rivals) if rivals else None,
        )

    def _declared(self) -> str:
        """How the runs say that their configurations differ; empty where they do not, or where one is a replay."""
        if self.comparison.derived:
            return ""
        declared = declared_changes(self.comparison.base.run, self.comparison.candidate.run)
        return "; ".join(map(changes.value_note, declared[:2]))

    def _answer(self) -> Answer:
        return effects.answer(self.comparison, self.facets, self._before_final())

    def _consequence(self, cause: Atom) -> Consequence:
        return effects.consequence(self.comparison, self.facets, self._ahead(cause), self._before_final())

    def _before_final(self) -> list[Pair]:
        """The pairs whose answers the final one comes of, and its own."""
        final = self.comparison.final
        if final is None:
            return []
        places = sorted(self.flow.before(final.place) | {final.place})
        return [pair for pair in map(self.comparison.pairs.__getitem__, places) if not pair.is_container]

    def _is_by_hand(self, way: Sequence[FlowLink]) -> bool:
        """Whether somebody set the very answer that the final one repeats: then nothing is left to explain."""
        cause, final = self.found.primary, self.comparison.final
        if cause is None or final is None or not _is_set_answer(cause) or self._confidence() != "medium":
            return False
        passed = [self.comparison.pairs[travel.consumer].step.type for travel in way]
        return cause.pair is final or (bool(passed) and all(kind == StepType.OUTPUT for kind in passed))

    def _without_effect(self) -> Verdict:
        atoms = self.found.discarded
        steps = sum(pair.differs and not pair.is_container for pair in self.comparison.pairs)
        return NoEffect(steps=steps, change=phrase(atoms[0]), more=len(atoms) - 1) if atoms else NoEffect(steps=steps)

    def _undecided(self) -> Verdict:
        rivals = self.found.rivals
        if self.found.strangers:
            return NothingInCommon()
        if not rivals:
            return NoExplanation()
        doubts = self.found.chance.doubts if any(atom.sampled for atom in rivals) else ()
        return OpenVerdict(changes=_named(rivals), doubts=doubts)

    def _drawn(self) -> Verdict:
        first, declared = self.found.primary, self.found.chance.repeats
        assert first is not None  # a verdict of noise names the step that answered differently
        if declared is not None:
            return Trials(
                task=declared.task,
                counter=declared.counter,
                base=declared.base,
                candidate=declared.candidate,
                step=(first.pair.base or first.pair.step).sequence_no,
                divergence=_divergence(first),
                answer=self._answer(),
                side="base" if first.pair.base else "candidate",
                step_type=first.pair.step.type,
            )
        pairs = [self.comparison.pairs[place] for place in first.places]
        number = min((pair.base.sequence_no for pair in pairs if pair.base), default=pairs[0].step.sequence_no)
        return Resampling(step=number, consequence=self._consequence(first))

    def _ahead(self, atom: Atom) -> list[Pair]:
        """The changed pairs that the cause can have reached, in order."""
        reached = self.flow.after(atom.places) | set(atom.places)
        if not self.found.connected:
            reached = set(range(atom.places[0], len(self.comparison.pairs)))
        live = self.found.live if self.found.connected else reached
        wanted = {pair.step.type for pair in self.comparison.pairs} & {StepType.TOOL, StepType.RETRIEVAL}
        told = atom.facet is None or atom.facet.part == "output" or atom.pair.step.type in wanted
        own = atom.pair.place if told else None  # the cause says already what happened there
        return [
            pair
            for pair in self.comparison.pairs
            if pair.place in reached and pair.differs and (pair.place in live or pair.step.type in wanted)
            if pair.place != own
        ]

    def _way(self, atom: Atom) -> list[FlowLink]:
        final = self.comparison.final
        if final is None:
            return []
        acted = [place for place in atom.places if self.comparison.pairs[place].answers_differently]
        starts = [place for place in acted if place in self.found.live] or list(atom.places[:1])
        return self.flow.path(starts[0], final.place)

    def _path(self, atom: Atom, way: Sequence[FlowLink]) -> list[PathLink]:
        start = self.comparison.pairs[way[0].producer] if way else atom.pair
        first = atom.facet if atom.facet and atom.facet.part != "output" else None
        text = changes.join_effect(changes.facet_note(first), self._note(start)) if first else self._note(start)
        side = "candidate" if start.candidate else "base"
        path = [PathLink(step=step_ref(start.step), side=side, via="cause", text=text, evidence="inferred")]
        for travel in way:
            pair = self.comparison.pairs[travel.consumer]
            step = (pair.base if travel.side == "base" else pair.candidate) or pair.step
            path.append(
                PathLink(
                    step=step_ref(step),
                    side=travel.side,
                    via=travel.kind,
                    text=self._note(pair) or travel.evidence,
                    evidence="inferred",
                )
            )
        return path

    def _supporting(self, way: Sequence[FlowLink]) -> list[Cause]:
        places = [travel.consumer for travel in way]
        final = self.comparison.final
        between = [self.comparison.pairs[place] for place in places if final is None or place != final.place]
        if self.found.verdict == "no_effect":
            return [self._cause(atom) for atom in self.found.discarded[:_LISTED]]
        return [self._step_cause(pair) for pair in between[:_LISTED]]

    def _step_cause(self, pair: Pair) -> Cause:
        found = self.facets.get(pair.place, ())
        made = next((facet for facet in found if facet.part == "output"), next(iter(found), None))
        return Cause(
            category=made.category if made else "structure",
            title=capitalize(changes.step_name(pair)),
            description=self._note(pair),
            base=step_ref(pair.base),
            candidate=step_ref(pair.candidate),
        )

    def _cause(self, atom: Atom) -> Cause:
        return Cause(
            category=atom.category,
            title=phrase(atom),
            description=attribution.description(changes.step_name(atom.pair), len(atom.places) - 1, self._reason(atom)),
            base=step_ref(atom.pair.base),
            candidate=step_ref(atom.pair.candidate),
        )

    def _note(self, pair: Pair) -> str:
        """What differs at a pair, its answer before its request."""
        if pair.sides is None:
            return changes.unpaired_note(pair)
        found = sorted(self.facets.get(pair.place, ()), key=_telling)
        return changes.facet_note(found[0]) if found else ", ".join(pair.changes)

    def _evidence(self) -> list[Evidence]:
        found = self.found
        evidence = [*self._grounds()]
        if found.verdict not in {"no_difference", "no_effect"}:
            evidence.append(Support(kind=SupportKind.DATA_FLOW if found.connected else SupportKind.NO_DATA_FLOW))
        evidence += [
            Exclusion(change=phrase(atom), certificate=self._certificate(atom)) for atom in found.discarded[:_LISTED]
        ]
        if self.comparison.derived and found.verdict != "no_difference":
            evidence.append(Support(kind=SupportKind.REPLAY))
        elif found.verdict in {"cause", "inconclusive"}:
            evidence.append(Support(kind=SupportKind.SEPARATE_RECORDINGS))
        if found.verdict in {"cause", "inconclusive"}:
            evidence += found.chance.doubts
        return evidence

    def _grounds(self) -> Iterator[Evidence]:
        """Why the named change may be the cause, and what is known of its step."""
        found, primary = self.found, self.found.primary
        if primary is None:
            return
        if found.verdict == "cause" and not _is_set_answer(primary):
            yield self._reason(primary)
            if found.rivals:
                yield Support(kind=SupportKind.KIND_ORDER)
        step = changes.step_name(primary.pair)
        if found.verdict == "noise" and found.chance.repeats is not None:
            yield Support(kind=SupportKind.TRIALS, task=found.chance.repeats.task)
        elif primary.sampled:
            yield Support(kind=SupportKind.SAME_REQUEST, step=step)
        if primary.overridden:
            yield Reason(kind=ReasonKind.SET_BY_HAND, step=step)

    def _certificate(self, atom: Atom) -> CertificateKind:
        if self.found.verdict == "no_effect":
            return CertificateKind.SAME_ANSWER
        pairs = [self.comparison.pairs[place] for place in atom.places]
        if not any(pair.answers_differently for pair in pairs):
            return CertificateKind.SAME_OUTPUT
        final = self.comparison.final
        if final is not None and final.place in self.flow.after(atom.places):
            return CertificateKind.SAME_ON_EVERY_PATH
        return CertificateKind.NO_PATH

    def _experiment(self) -> Experiment | None:
        found = self.found
        if found.verdict in {"no_difference", "no_effect"}:
            return None
        if found.verdict == "noise":
            assert found.primary is not None  # a verdict of noise names the step
            return Experiment(kind=ExperimentKind.REPEAT_FROM, step=_number(found.primary))
        atoms = [atom for atom in (found.primary, *found.rivals, *found.later) if atom is not None]
        if found.strangers or (found.primary is not None and self._is_by_hand(self._way(found.primary))):
            return None
        if not atoms:
            return Experiment(kind=ExperimentKind.REPEAT)
        return Experiment(
            kind=ExperimentKind.BOTH_WAYS,
            step=_number(atoms[0]),
            change=phrase(atoms[0]) if len(atoms) > 1 else "",
            calls=self._live_calls(atoms[0]),
        )

    def _reason(self, atom: Atom) -> Reason:
        """Why the change may be the cause."""
        if is_choice(atom):
            return Reason(kind=ReasonKind.CALL)
        if _is_set_answer(atom):
            return Reason(kind=ReasonKind.SET_BY_HAND, step=changes.step_name(atom.pair))
        both = [pair for pair in map(self.comparison.pairs.__getitem__, atom.places) if pair.sides][:1]
        if atom.category != "model" or not both:
            return Reason(kind=ReasonKind(atom.category))
        request_differs = "input" in both[0].changes
        return Reason(kind=ReasonKind.MODEL_AND_REQUEST if request_differs else ReasonKind.MODEL_ALONE)

    def _live_calls(self, atom: Atom) -> int:
        """How many model calls would go live: those that the change can reach."""
        reached = self.flow.after(atom.places) | set(atom.places)
        return sum(pair.step.type == StepType.MODEL for pair in self.comparison.pairs if pair.place in reached)


def _is_set_answer(atom: Atom) -> bool:
    return atom.category == "output" and atom.overridden


def phrase(atom: Atom) -> str:
    """The change as an action, to begin a sentence with."""
    if atom.sampled:
        return changes.resampling_phrase(atom.pair)
    return changes.unpaired_phrase(atom.pair) if atom.facet is None else changes.facet_phrase(atom.facet)


def _named(atoms: Sequence[Atom]) -> Changes:
    """The first changes, and how many more there are."""
    return Changes(titles=tuple(map(phrase, atoms[:_NAMED])), more=max(0, len(atoms) - _NAMED))


def _divergence(atom: Atom) -> Divergence:
    """Where two trials that began alike diverge."""
    if atom.sampled:
        return Divergence.SAME_REQUEST
    if atom.facet is None:
        return Divergence.ONE_SIDE
    return Divergence.USER if atom.facet.form == "messages" else Divergence.MODEL


def _telling(facet: Facet) -> tuple[bool, bool]:
    """What a step did before what it was given; what it called before what it said."""
    return facet.part != "output", facet.kind != "tool calls"


def _number(atom: Atom) -> int:
    return (atom.pair.base or atom.pair.step).sequence_no
