"""The report of two runs: which payloads it needs, and everything that it says about them. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import permutations
from typing import Final
from uuid import UUID

from diffing.attribution import reasoning
from diffing.attribution.verdict import Case
from diffing.compare.comparison import Comparison, Pair, compare
from diffing.compare.data_flow import Flow
from diffing.compare.references import aligned_pairs, run_ref, step_ref
from diffing.compare.run_side import Side
from diffing.content.facet import Facet
from diffing.content.facets import Missing, Payloads, facets, lost_parts
from diffing.content.similarity import Measure
from diffing.report import scores, sections
from diffing.report.brief import brief
from diffing.schemas.report import DiffOptions, DiffReport, SectionName, Unavailable
from diffing.schemas.terms import MODEL_NAME, SYSTEM_PROMPT
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus, StepType
from traces.signatures.ignore_rules import IgnoreRules

OPENED: Final = 160  # differing pairs whose payloads are read, the earliest and the operator's own first
_LAST: Final = 20  # of them kept for the end of the run: the answers
_NAMES: Final[Mapping[str, SectionName]] = {
    StepType.PROMPT: "prompt",
    StepType.RETRIEVAL: "retrieval",
    StepType.TOOL: "tool",
    StepType.MODEL: "model",
    StepType.OUTPUT: "output",
}

Load = Callable[[Collection[str]], Payloads]


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What the payloads of the opened pairs show, and what could not be opened."""

    facets: Mapping[int, list[Facet]]
    gaps: list[tuple[SectionName, Unavailable]]


def report(
    *, id: UUID, created_at: datetime, base: Side, candidate: Side, options: DiffOptions, measure: Measure, load: Load
) -> DiffReport:
    """Compare two runs; `load` gives payloads by digest, in one call, without those that are missing."""
    seen = examine(base, candidate, load)
    comparison, opened, flow, payloads = seen.comparison, seen.opened, seen.flow, seen.payloads
    listed = list(_listed(comparison, opened.facets, flow))
    texts = sections.Texts(measure, listed)
    verdict = Case(comparison, opened.facets, flow, seen.found).attribution()
    found = DiffReport(
        id=id,
        created_at=created_at,
        base=run_ref(base.run),
        candidate=run_ref(candidate.run),
        options=options,
        summary=verdict.sentence,
        pairs=aligned_pairs(comparison.pairs),
        sections=sections.build(
            comparison,
            sections.Findings(facets=listed, gaps=[*opened.gaps, *_gaps(comparison, seen.probe, payloads)]),
            texts,
        ),
        scores=scores.score(comparison, payloads, measure, _determinism(seen.probe, payloads)),
        deltas=scores.deltas(comparison),
        attribution=verdict,
    )
    return found.model_copy(update={"brief": brief(found)})


@dataclass(frozen=True, kw_only=True)
class Examined:
    """Two runs set side by side with their payloads open, and what the recordings alone say of the cause."""

    comparison: Comparison
    opened: Opened
    flow: Flow
    found: reasoning.Reasoning
    payloads: Payloads
    probe: Pair | None  # the first model call that both made


def examine(base: Side, candidate: Side, load: Load) -> Examined:
    """Align, open what differs, and reason; `load` as for `report`."""
    rough = compare(base, candidate)
    chosen = chosen_pairs(rough)
    probe = _first_model_pair(rough)
    payloads = load(_refs(chosen, probe, scores.interactions(rough)[: scores.INTERACTIONS]))
    opened = _open(rough, chosen, payloads, base.ignoring)
    comparison = rough.with_changes({place: _changes(found) for place, found in opened.facets.items()})
    flow = Flow(comparison)
    found = reasoning.reason(comparison, opened.facets, flow)
    return Examined(comparison=comparison, opened=opened, flow=flow, found=found, payloads=payloads, probe=probe)


def _listed(comparison: Comparison, found: Mapping[int, Sequence[Facet]], flow: Flow) -> Iterator[Facet]:
    """The facets to show, without the answers that a request repeats: they are shown where they were given."""
    tainted = flow.after({pair.place for pair in comparison.acting if pair.answers_differently})
    for place in sorted(found):
        for facet in found[place]:
            if facet.form != "messages" or place not in tainted:
                yield facet
            elif said := tuple(item for item in facet.messages if item.role not in {"assistant", "tool"}):
                yield replace(facet, messages=said)


def chosen_pairs(comparison: Comparison) -> list[Pair]:
    """The differing pairs to open: overridden ones, the earliest, and the last, where the answers are."""
    differing = [pair for pair in comparison.pairs if pair.sides and pair.differs and not pair.is_container]
    differing = differing or [pair for pair in comparison.pairs if pair.sides and pair.differs]
    if len(differing) <= OPENED:
        return differing
    overridden = [pair for pair in differing if pair.overridden][:_LAST]
    places = {pair.place for pair in (*overridden, *differing[: OPENED - 2 * _LAST], *differing[-_LAST:])}
    return [pair for pair in differing if pair.place in places]


def _refs(pairs: Collection[Pair], probe: Pair | None, answers: Collection[scores.Interaction]) -> set[str]:
    wanted = {ref for pair in pairs for ref in _differing_refs(pair)}
    wanted |= {step.input_ref for step in probe.sides} if probe and probe.sides else set()
    wanted |= {ref for turn in answers if turn.base != turn.candidate for ref in (turn.base, turn.candidate)}
    return wanted - {""}


def _differing_refs(pair: Pair) -> Iterator[str]:
    """Payloads that are not the same on both sides, those of calls with the same signature included."""
    for step, other in permutations(pair.sides or ()):
        if step.input_ref != other.input_ref:
            yield step.input_ref
        if step.output_ref != other.output_ref:
            yield step.output_ref


def _open(comparison: Comparison, chosen: Collection[Pair], payloads: Payloads, ignoring: IgnoreRules) -> Opened:
    found: dict[int, list[Facet]] = {}
    gaps: list[tuple[SectionName, Unavailable]] = []
    for pair in chosen:
        try:
            found[pair.place] = list(facets(pair, payloads, ignoring))
        except Missing as problem:
            gaps.append((_home(pair), _gap(pair, str(problem))))
        gaps += [(_home(pair), _gap(pair, reason)) for reason in lost_parts(pair, payloads)]
    unopened = [pair for pair in comparison.pairs if pair.sides and pair.differs and not pair.is_container]
    for name, count in _counts(unopened, {pair.place for pair in chosen}).items():
        gaps.append(
            (
                name,
                Unavailable(
                    what=f"{count:,} more differing steps",
                    reason=f"the first {OPENED} are compared in detail; the aligned steps name the others",
                ),
            )
        )
    return Opened(facets=found, gaps=gaps)


def _counts(pairs: Collection[Pair], opened: Collection[int]) -> dict[SectionName, int]:
    counts: dict[SectionName, int] = {}
    for pair in pairs:
        if pair.place not in opened:
            counts[_home(pair)] = counts.get(_home(pair), 0) + 1
    return counts


def _gap(pair: Pair, reason: str) -> Unavailable:
    return Unavailable(
        what=f"{pair.step.type} {pair.step.display_name}",
        reason=reason,
        base=step_ref(pair.base),
        candidate=step_ref(pair.candidate),
    )


def _home(pair: Pair) -> SectionName:
    return _NAMES.get(pair.step.type, "run")


def _changes(found: Collection[Facet]) -> set[str]:
    """What of a pair's payloads differs once they are read: ids of calls, say, are no difference."""
    names = {"input": "input", "output": "output", "config": "parameters"}
    return {names[facet.part] for facet in found if facet.kind not in {"status", "model"}}


def _first_model_pair(comparison: Comparison) -> Pair | None:
    models = (pair for pair in comparison.pairs if pair.sides and pair.step.type == StepType.MODEL)
    return next(models, None)


def _determinism(probe: Pair | None, payloads: Payloads) -> float | None:
    """Of the first model call that both runs made; None when there is none to compare."""
    if probe is None or probe.sides is None:
        return None
    base, candidate = probe.sides
    return scores.determinism((base, payloads.get(base.input_ref)), (candidate, payloads.get(candidate.input_ref)))


def _gaps(comparison: Comparison, probe: Pair | None, payloads: Payloads) -> Iterator[tuple[SectionName, Unavailable]]:
    """What the recordings do not hold, so that silence is not taken for agreement."""
    for (kind, words), count in _unrecorded(comparison).items():
        what = f"{words} of {count:,} {kind} step{'' if count == 1 else 's'}"
        yield _NAMES.get(kind, "run"), Unavailable(what=what, reason="one or both runs did not record it")
    if probe and probe.sides and not any(_has_system(payloads.get(step.input_ref)) for step in probe.sides):
        yield "prompt", Unavailable(what=SYSTEM_PROMPT, reason="the recorded requests of both runs hold none")
    yield from _uncosted(comparison)


def _unrecorded(comparison: Comparison) -> dict[tuple[str, str], int]:
    """How many steps of a type lack what a cause may hide in; an output step has no input, a failed one no answer."""
    counts: Counter[tuple[str, str]] = Counter()
    for pair in comparison.acting:
        for step in pair.sides or ():
            if not step.input_ref and step.type != StepType.OUTPUT:
                counts[step.type, "what was asked"] += 1
            if not step.output_ref and step.status == StepStatus.OK:
                counts[step.type, "the answer"] += 1
            if not step.model and step.type == StepType.MODEL:
                counts[step.type, MODEL_NAME] += 1
    return counts


def _has_system(given: JSONValue) -> bool:
    messages = given.get("messages") if isinstance(given, dict) else None
    return any(_role(item) in {"system", "developer"} for item in messages) if isinstance(messages, list) else False


def _role(message: JSONValue) -> JSONValue:
    return message.get("role") if isinstance(message, dict) else None


def _uncosted(comparison: Comparison) -> Iterator[tuple[SectionName, Unavailable]]:
    unknown = [
        name
        for name, side in (("base", comparison.base), ("candidate", comparison.candidate))
        if side.run.cost_usd is None
    ]
    if unknown:
        yield "run", Unavailable(what="cost", reason=f"unknown for the {' and the '.join(unknown)}")
