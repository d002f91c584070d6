"""The verdict as a person would write it: one sentence, the path, the evidence, what would settle it."""

from collections.abc import Mapping, Sequence
from typing import Final

from diffing.attribution import effects, wording
from diffing.attribution.declared_config import declared_changes
from diffing.attribution.reasoning import Reasoning, is_choice
from diffing.attribution.retries import parted
from diffing.attribution.roots import is_standing
from diffing.attribution.unexplained_changes import Atom
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow, Travel
from diffing.compare.references import step_ref
from diffing.content.facets import Facet
from diffing.schemas.report import Attribution, Cause, PathLink
from diffing.schemas.terms import Confidence
from diffing.sequences.text_diff import shortened
from traces.core.vocabulary import StepType

_NAMED: Final = 3  # rivals named in a sentence
_LISTED: Final = 20
_RULES: Final[Mapping[str, str]] = {
    "prompt": "The change is in the prompt, and so in what the model was asked",
    "upstream": "What the user said is part of what the model was asked",
    "retrieval": "The change is in the documents that the model was given",
    "tool": "The tool answered otherwise",
    "model": "The model or its settings changed",
    "structure": "Only one of the runs has this step, and no recorded change before it says why",
    "output": "The same request got another answer, and no recorded change before it says why",
}
_ORDER: Final = (
    "Of several possible causes one is named first by its kind: the prompt, what the user said, documents, tools, the "
    "model and its settings."
)


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
            sentence=self._sentence(way),
            primary=self._cause(found.primary) if found.primary else None,
            supporting=self._supporting(way),
            path=self._path(found.primary, way) if found.primary else [],
            confidence=self._confidence(),
            evidence=self._evidence(),
            alternatives=[self._cause(atom) for atom in (*found.rivals, *found.later)[:_LISTED]],
            cheapest_experiment=self._experiment(),
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

    def _sentence(self, way: Sequence[Travel]) -> str:
        match self.found.verdict:
            case "no_difference":
                return "The two runs say and do the same."
            case "no_effect":
                return self._without_effect()
            case "inconclusive":
                return self._undecided()
            case "noise":
                return self._sampled()
            case "cause":
                assert self.found.primary is not None  # a verdict of cause always has one
                return self._caused(self.found.primary, way)

    def _caused(self, cause: Atom, way: Sequence[Travel]) -> str:
        """The cause with what it did; no more than that where other changes can have done it too."""
        if self.found.rivals and self.comparison.derived:
            return self._together(cause)
        ended = self._ended()
        if self._is_by_hand(way):
            step = wording.step_name(cause.pair)
            return f"The answer of {step} was set by hand, so the outcome differs by construction. {ended}"
        suspected = wording.SUSPECTED if self._confidence() == "low" else ""
        named = _inner(phrase(cause)) if suspected else phrase(cause)
        if not is_standing(cause) and (declared := self._declared()):
            return (
                f"{suspected}the runs declare different configurations ({declared}), and what those changed was not "
                f"recorded. The first difference that shows: {_inner(phrase(cause))}. {ended}"
            )
        if not self.found.connected:
            return f"{suspected}{named}. {ended}{wording.UNLINKED}"
        said = effects.told(self.comparison, self.facets, self._ahead(cause), self._before_final())
        return wording.closed(f"{suspected}{named} {said}") + self._as_well()

    def _together(self, cause: Atom) -> str:
        """Changes of one fork, none of which was tried alone."""
        atoms = [cause, *self.found.rivals]
        more = [f"{len(atoms) - _NAMED} more"] if len(atoms) > _NAMED else []
        named = "; ".join([*(_inner(phrase(atom)) for atom in atoms[:_NAMED]), *more])
        what = "differences came" if any(atom.sampled for atom in atoms) else "changes were made"
        return f"{len(atoms)} {what} together; which of them did it was not tested: {named}. {self._ended()}"

    def _as_well(self) -> str:
        """The other differences of two recordings that can have done it, after the sentence about one."""
        if not self.found.rivals:
            return ""
        named = [_inner(phrase(atom)) for atom in self.found.rivals[:_NAMED]]
        more = len(self.found.rivals) - len(named)
        return wording.closed(f"{wording.OTHERS}{'; '.join([*named, *([f'{more} more'] if more else [])])}")

    def _declared(self) -> str:
        """How the runs say that their configurations differ; empty where they do not, or where one is a replay."""
        if self.comparison.derived:
            return ""
        changes = declared_changes(self.comparison.base.run, self.comparison.candidate.run)
        return "; ".join(map(wording.value_note, changes[:2]))

    def _ended(self) -> str:
        """What became of the final answer, as a sentence."""
        clause = effects.ended(self.comparison, self.facets, self._before_final())
        return wording.closed(wording.capital(clause))

    def _before_final(self) -> list[Pair]:
        """The pairs whose answers the final one comes of, and its own."""
        final = self.comparison.final
        if final is None:
            return []
        places = sorted(self.flow.before(final.place) | {final.place})
        return [pair for pair in map(self.comparison.pairs.__getitem__, places) if not pair.holds_others]

    def _is_by_hand(self, way: Sequence[Travel]) -> bool:
        """Whether somebody set the very answer that the final one repeats: then nothing is left to explain."""
        cause, final = self.found.primary, self.comparison.final
        if cause is None or final is None or not _is_set_answer(cause) or self._confidence() != "medium":
            return False
        passed = [self.comparison.pairs[travel.consumer].step.type for travel in way]
        return cause.pair is final or (bool(passed) and all(kind == StepType.OUTPUT for kind in passed))

    def _without_effect(self) -> str:
        atoms = self.found.discarded
        changed = sum(pair.differs and not pair.holds_others for pair in self.comparison.pairs)
        steps = f"{changed} step{'' if changed == 1 else 's'}"
        if not atoms:
            differ = "differs" if changed == 1 else "differ"
            return f"{wording.capital(steps)} {differ}, but the final answer is the same."
        more = f" and {len(atoms) - 1} more change{'' if len(atoms) == 2 else 's'}" if len(atoms) > 1 else ""
        return f"{phrase(atoms[0])}{more} made {steps} differ, but the final answer is the same."

    def _undecided(self) -> str:
        if self.found.strangers:
            return "The two runs have nothing in common: no step of one does what a step of the other does."
        rivals = [_inner(phrase(atom)) for atom in self.found.rivals[:_NAMED]]
        doubts = list(self.found.chance.doubts) if any(atom.sampled for atom in self.found.rivals) else []
        if not rivals:
            return "The final answers differ, but nothing that was recorded before them does."
        more = len(self.found.rivals) - len(rivals)
        named = "; ".join([*rivals, *([f"{more} more"] if more else []), *doubts])
        which = "which of these" if doubts else "which of these changes"
        return f"The final answers differ, and the recordings alone cannot say {which} did it: {named}."

    def _sampled(self) -> str:
        assert self.found.primary is not None  # a verdict of noise names the step that answered anew
        if self.found.chance.repeats is not None:
            ended = effects.ended(self.comparison, self.facets, self._before_final())
            return parted(self.found.chance.repeats, self.found.primary, ended)
        pairs = [self.comparison.pairs[place] for place in self.found.primary.places]
        said = effects.told(self.comparison, self.facets, self._ahead(self.found.primary), self._before_final())
        number = min((pair.base.sequence_no for pair in pairs if pair.base), default=pairs[0].step.sequence_no)
        return (
            f"Nothing recorded differs before step {number}, where the model answered the same request differently, "
            f"which {said}; that is the model's own randomness, or something that was not recorded."
        )

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

    def _way(self, atom: Atom) -> list[Travel]:
        final = self.comparison.final
        if final is None:
            return []
        acted = [place for place in atom.places if self.comparison.pairs[place].answers_differently]
        starts = [place for place in acted if place in self.found.live] or list(atom.places[:1])
        return self.flow.way(starts[0], final.place)

    def _path(self, atom: Atom, way: Sequence[Travel]) -> list[PathLink]:
        start = self.comparison.pairs[way[0].producer] if way else atom.pair
        first = atom.facet if atom.facet and atom.facet.part != "output" else None
        text = _joined(wording.noted(first), self._note(start)) if first else self._note(start)
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

    def _supporting(self, way: Sequence[Travel]) -> list[Cause]:
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
            title=wording.capital(wording.step_name(pair)),
            description=self._note(pair),
            base=step_ref(pair.base),
            candidate=step_ref(pair.candidate),
        )

    def _cause(self, atom: Atom) -> Cause:
        places = len(atom.places)
        also = f", and {places - 1} more step{'' if places == 2 else 's'}" if places > 1 else ""
        return Cause(
            category=atom.category,
            title=phrase(atom),
            description=f"At {wording.step_name(atom.pair)}{also}. {self._reason(atom)}.",
            base=step_ref(atom.pair.base),
            candidate=step_ref(atom.pair.candidate),
        )

    def _note(self, pair: Pair) -> str:
        """What differs at a pair, its answer before its request."""
        if pair.both is None:
            return f"only in the {'base' if pair.base else 'candidate'}: {pair.step.summary}".rstrip(": ")
        found = sorted(self.facets.get(pair.place, ()), key=_telling)
        return wording.noted(found[0]) if found else ", ".join(pair.changes)

    def _evidence(self) -> list[str]:
        found = self.found
        said = []
        if found.primary and found.verdict == "cause" and not _is_set_answer(found.primary):
            said.append(f"{self._reason(found.primary)}.")
            said += [_ORDER] if found.rivals else []
        if found.primary and found.verdict == "noise" and found.chance.repeats is not None:
            said.append(
                f"Both runs name task {found.chance.repeats.task} and the same configuration; what they recorded of "
                "prompts, tools, models and parameters is the same as well."
            )
        elif found.primary and found.primary.sampled:
            said.append(
                f"The request of {wording.step_name(found.primary.pair)} is the same in both runs; its answer is not."
            )
        if found.primary and found.primary.overridden:
            said.append(f"{_set(found.primary)}.")
        if found.verdict not in {"no_difference", "no_effect"}:
            said.append(self._flow_evidence())
        for atom in found.discarded[:_LISTED]:
            said.append(f"Ruled out: {_inner(phrase(atom))} — {self._certificate(atom)}.")
        if self.comparison.derived and found.verdict != "no_difference":
            said.append("One run is a replay of the other, so everything outside the change is the recording itself.")
        elif found.verdict in {"cause", "inconclusive"}:
            said.append("Two separate recordings: chance can have changed the answers as well.")
        if found.verdict in {"cause", "inconclusive"}:
            said += [f"Not ruled out either: {doubt}." for doubt in found.chance.doubts]
        return said

    def _flow_evidence(self) -> str:
        if not self.found.connected:
            return "No recorded data flow leads from a change to the final answer, so the order of the steps had to do."
        return "The recorded data flow leads from it to the final answer."

    def _certificate(self, atom: Atom) -> str:
        if self.found.verdict == "no_effect":
            return "the final answer is the same in both runs"
        pairs = [self.comparison.pairs[place] for place in atom.places]
        if not any(pair.answers_differently for pair in pairs):
            return "the step answered the same in both runs (inert)"
        final = self.comparison.final
        if final is not None and final.place in self.flow.after(atom.places):
            return "every way from it to the final answer passes an answer that is the same in both runs (dominated)"
        return "no recorded data flow leads from it to the final answer (unreached)"

    def _experiment(self) -> str:
        found = self.found
        if found.verdict in {"no_difference", "no_effect"}:
            return ""
        if found.verdict == "noise":
            assert found.primary is not None  # a verdict of noise names the step
            replay = f"Replay the base from {_number(found.primary)} four times unchanged"
            return f"{replay}, to see how often the answer varies."
        atoms = [found.primary, *found.rivals, *found.later] if found.primary else [*found.rivals, *found.later]
        if found.strangers or (found.primary is not None and self._is_by_hand(self._way(found.primary))):
            return ""
        if not atoms:
            return "Replay the base unchanged four times: if the final answer varies, it is noise."
        first = next(atom for atom in atoms if atom is not None)
        change = f" ({_inner(phrase(first))})" if len(atoms) > 1 else ""
        cost = self._live_calls(first)
        both = f"Replay the base from {_number(first)} with only this change{change}"
        back = "and the candidate with only it taken back"
        calls = f"about {cost} live model call{'' if cost == 1 else 's'} each" if cost else "no live model call"
        return f"{both}, {back}: 2 replays, {calls}."

    def _reason(self, atom: Atom) -> str:
        """Why the change may be the cause."""
        if is_choice(atom):
            return "The call differs, and no recorded change before it says why"
        if _is_set_answer(atom):
            return _set(atom)
        asked = [pair for pair in map(self.comparison.pairs.__getitem__, atom.places) if pair.both][:1]
        if atom.category != "model" or not asked:
            return _RULES[atom.category]
        also = "; what it was asked differs as well" if "input" in asked[0].changes else ", what it was asked did not"
        return f"{_RULES[atom.category]}{also}"

    def _live_calls(self, atom: Atom) -> int:
        """How many model calls would go live: those that the change can reach."""
        reached = self.flow.after(atom.places) | set(atom.places)
        return sum(pair.step.type == StepType.MODEL for pair in self.comparison.pairs if pair.place in reached)


def _is_set_answer(atom: Atom) -> bool:
    return atom.category == "output" and atom.overridden


def _set(atom: Atom) -> str:
    return f"Whoever made the fork set what {wording.step_name(atom.pair)} answered"


def phrase(atom: Atom) -> str:
    """The change as what somebody did, to begin a sentence with."""
    if atom.sampled:
        return f"Another answer of the model to the same request at {wording.step_name(atom.pair)}"
    if atom.facet is None:
        return _alone(atom.pair)
    return wording.cause(atom.facet)


def _alone(pair: Pair) -> str:
    """A step that only one run has."""
    side = "base" if pair.base else "candidate"
    number = pair.step.sequence_no
    if pair.step.type == StepType.TOOL:
        return f"{'Not calling' if pair.base else 'Calling'} {pair.step.called} at step {number} of the {side}"
    said = f" (“{shortened(pair.step.summary, 60)}”)" if pair.step.summary else ""
    return f"{'The missing' if pair.base else 'An additional'} {pair.step.type} step {number} of the {side}{said}"


def _telling(facet: Facet) -> tuple[bool, bool]:
    """What a step did before what it was given; what it called before what it said."""
    return facet.part != "output", facet.kind != "tool calls"


def _joined(cause: str, effect: str) -> str:
    """What changed at the first step of a path, and what the step made of it."""
    return (
        cause
        if effect in {"", cause}
        else f"{cause}; so it {effect}"
        if effect.startswith("asks")
        else f"{cause}; {effect}"
    )


def _inner(text: str) -> str:
    return (text[:1].lower() + text[1:]).rstrip(",")


def _number(atom: Atom) -> str:
    step = atom.pair.base or atom.pair.step
    return f"step {step.sequence_no}"
