"""Gaps of a report: content that was not recorded or could not be loaded. Pure."""

from collections import Counter
from collections.abc import Iterator

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.references import step_ref
from diffing.compare.run_side import Side
from diffing.content.facet import SYSTEM_ROLES, section_of
from diffing.content.facets import Payloads
from diffing.schemas.sections import SectionName, Unavailable
from diffing.sentences import summaries
from diffing.sentences.summaries import Gap, Recordable
from diffing.sentences.verdicts import RunSide
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import Message, ModelRequest


def recording_gaps(
    comparison: Comparison, probe: Pair | None, payloads: Payloads
) -> Iterator[tuple[SectionName, Unavailable]]:
    """Content that the recordings lack, so that silence does not look like agreement."""
    for (step_type, content), count in _unrecorded_counts(comparison).items():
        yield section_of(step_type), unavailable(summaries.unrecorded_content(content, step_type, count))
    if probe and probe.sides and not any(_has_system_prompt(payloads.get(step.input_ref)) for step in probe.sides):
        yield "prompt", unavailable(Gap(content=Recordable.SYSTEM_PROMPT, reason=summaries.NO_SYSTEM_PROMPT))
    sides: tuple[tuple[RunSide, Side], ...] = (("base", comparison.base), ("candidate", comparison.candidate))
    if unknown := [name for name, side in sides if side.tokens is None]:
        yield "run", unavailable(summaries.unknown_total("tokens", unknown))
    if unknown := [name for name, side in sides if side.run.cost_usd is None]:
        yield "run", unavailable(summaries.unknown_total("cost", unknown))


def _unrecorded_counts(comparison: Comparison) -> Counter[tuple[str, Recordable]]:
    """Steps by type without recorded content; output steps have no input, failed steps no output."""
    counts: Counter[tuple[str, Recordable]] = Counter()
    for pair in comparison.acting:
        for step in pair.sides or ():
            if not step.input_ref and step.type != StepType.OUTPUT:
                counts[step.type, Recordable.INPUT] += 1
            if not step.output_ref and step.status == StepStatus.OK:
                counts[step.type, Recordable.OUTPUT] += 1
            if not step.model and step.type == StepType.MODEL:
                counts[step.type, Recordable.MODEL_NAME] += 1
    return counts


def _has_system_prompt(request: JSONValue) -> bool:
    return any(Message(message).role in SYSTEM_ROLES for message in ModelRequest(request).messages)


def unavailable(gap: Gap) -> Unavailable:
    """A gap as the report lists it."""
    return Unavailable(what=gap.content, reason=gap.reason)


def step_gap(pair: Pair, reason: str) -> Unavailable:
    """A pair that could not be compared."""
    return Unavailable(
        what=f"{pair.step.type} {pair.step.display_name}",
        reason=reason,
        base=step_ref(pair.base),
        candidate=step_ref(pair.candidate),
    )
