"""The final answers of two runs, which an output step or the last model step gives. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.placeholders import is_placeholder
from diffing.compare.run_side import SideStep
from diffing.content.facet import Facet, section_of
from diffing.content.facets import Payloads
from diffing.content.payload_texts import answer_text
from diffing.schemas.report import FinalAnswers
from diffing.schemas.sections import SectionName
from diffing.sequences.text_diff import shorten
from traces.core.vocabulary import StepType

# Characters of an answer at the top of a report; the output section has all of it.
_EXCERPT: Final = 400


def refs(comparison: Comparison) -> set[str]:
    """The payloads of the final answers, and of those that the final pair has, as digests."""
    final = comparison.final
    steps = [*own_steps(comparison), *((final.base, final.candidate) if final else ())]
    return {step.output_ref for step in steps if step is not None} - {""}


def final_answers(comparison: Comparison, payloads: Payloads) -> FinalAnswers:
    """Both final answers, shortened: each run's own, though the steps that pair last may come before it."""
    base, candidate = (_answer(step, payloads) for step in own_steps(comparison))
    return FinalAnswers(base=base, candidate=candidate)


def section(pair: Pair, final: Pair | None) -> SectionName:
    """The section for differences of a pair's outputs: those of the final answer are in the output section."""
    return "output" if _is_final(pair, final) else section_of(pair.step.type)


def as_answer(facet: Facet, final: Pair | None) -> Facet:
    """A difference in its section: what the last model step answers is the final answer."""
    if facet.part != "output" or not _is_final(facet.pair, final):
        return facet
    return replace(facet, section="output", kind="final answer" if facet.kind == "completion" else facet.kind)


def _is_final(pair: Pair, final: Pair | None) -> bool:
    return final is not None and pair.place == final.place and not pair.is_container


def own_steps(comparison: Comparison) -> list[SideStep | None]:
    """The steps that give each run its own final answer."""
    steps = [_own_step(side.steps) for side in (comparison.base, comparison.candidate)]
    if any(steps) or (final := comparison.final) is None:
        return steps
    return [final.base, final.candidate]


def _own_step(steps: Sequence[SideStep]) -> SideStep | None:
    for step_type in (StepType.OUTPUT, StepType.MODEL):
        if candidates := [step for step in steps if step.type == step_type]:
            return max(candidates, key=lambda step: step.sequence_no)
    return None


def _answer(step: SideStep | None, payloads: Payloads) -> str | None:
    if step is None or is_placeholder(step):
        return None
    return shorten(answer_text(payloads.get(step.output_ref)), _EXCERPT) or None
