"""Scores of a comparison: fidelity by the Kurral document, and counts by the Prela document.

ARS = 0.7 output similarity + 0.3 tool accuracy. Output similarity is the mean over the interactions; an unpaired
interaction scores 0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.run_side import Side, SideStep
from diffing.compare.step_keys import call_key
from diffing.content.determinism import ModelConfig, factors
from diffing.content.determinism import score as likeness_of
from diffing.content.facets import Payloads
from diffing.content.payload_texts import answer_text
from diffing.content.similarity import Likeness, Measure
from diffing.report.answers import own_steps
from diffing.schemas.report import Deltas, Scores, ToolAccuracy
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Reason, StepType
from traces.payloads.messages import ModelRequest

# The key of a file's scores in the run's metadata.
IMPORTED_SCORES: Final = "imported_scores"
# Compared answers; loading more texts for one number is not worth the cost.
INTERACTIONS: Final = 500
# In Python 3.11, reading a member of an enum takes ten times as long as reading a constant.
_TOOL: Final = StepType.TOOL
_SEMANTIC: Final = Reason.CACHE_SEMANTIC
_OUTPUT_WEIGHT: Final = 0.7
_TOOL_WEIGHT: Final = 0.3
_PENALTY: Final = 0.1
_MAX_PENALTY: Final = 0.5


def score(comparison: Comparison, payloads: Payloads, measure: Measure, determinism: float | None) -> Scores:
    """All scores of a comparison."""
    similarity, method = output_similarity(comparison, payloads, measure)
    tools = tool_counts(comparison)
    accuracy = tool_accuracy(tools)
    ars = regression_score(similarity, accuracy)
    return Scores(
        ars=ars,
        ars_reading=reading(ars),
        output_similarity=round(similarity, 4),
        tool_accuracy=round(accuracy, 4),
        tools=tools,
        similarity_method=method,
        determinism=determinism,
        imported=_imported_scores(comparison),
    )


def regression_score(output_similarity: float, accuracy: float) -> float:
    return round(_OUTPUT_WEIGHT * output_similarity + _TOOL_WEIGHT * accuracy, 4)


def reading(ars: float) -> str:
    """An ARS in words, as the Kurral document has them."""
    for least, words in ((0.9, "excellent"), (0.7, "good"), (0.5, "moderate")):
        if ars >= least:
            return words
    return "poor"


def tool_accuracy(tools: ToolAccuracy) -> float:
    """Share of the original calls that were made again, less a tenth for each new and each unused call."""
    if not tools.total_original:
        return _MAX_PENALTY if tools.new else 1.0
    penalties = sum(min(_MAX_PENALTY, count * _PENALTY) for count in (tools.new, tools.unused))
    return max(0.0, round(tools.used_original / tools.total_original - penalties, 10))


def tool_counts(comparison: Comparison) -> ToolAccuracy:
    """Count calls by name and canonical arguments; a semantic hit counts as its original."""
    base, candidate = _calls(comparison.base), _calls(comparison.candidate)
    exact = Counter(map(call_key, base)) & Counter(map(call_key, candidate))
    used_count = exact.total() + _semantic_hits(comparison, exact)
    used_count = min(used_count, len(base), len(candidate))
    return ToolAccuracy(
        total_original=len(base),
        used_original=used_count,
        new=len(candidate) - used_count,
        unused=len(base) - used_count,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Interaction:
    """The answers to the user on both sides, as digests of payloads; empty for no answer."""

    base: str
    candidate: str
    is_paired: bool


def interactions(comparison: Comparison) -> list[Interaction]:
    """The turns with an answer; if there are none, the final answer alone."""
    turns = comparison.of_type(StepType.TURN)
    final = comparison.final
    answers = _answers(comparison, [*turns, *([final] if final else [])])
    answered_turns = [turn for pair in turns if (turn := answers[pair.place]).base or turn.candidate]
    return answered_turns or ([_final_answers(comparison, answers[final.place])] if final else [])


def _final_answers(comparison: Comparison, pair_answers: Interaction) -> Interaction:
    """Each run's own final answer, though the steps that pair last may come before it."""
    base, candidate = (step.output_ref if step is not None else "" for step in own_steps(comparison))
    return Interaction(base=base, candidate=candidate, is_paired=True) if base and candidate else pair_answers


def output_similarity(comparison: Comparison, payloads: Payloads, measure: Measure) -> tuple[float, str]:
    """The mean similarity of the interactions that can be read, and the method that measured the differing ones."""
    turns = interactions(comparison)
    trivial = [_trivial_likeness(turn) for turn in turns]
    differing = [turn for turn, likeness in zip(turns, trivial, strict=True) if likeness is None]
    texts = [_texts(turn, payloads) for turn in differing if not _is_lost(turn, payloads)]
    new_likenesses = measure.compare(texts[:INTERACTIONS])
    likenesses = [likeness for likeness in trivial if likeness is not None] + new_likenesses
    if not likenesses:
        return (0.0, "unavailable") if differing else (1.0, "identical")
    methods = Counter(likeness.method for likeness in new_likenesses).most_common(1)
    alone = "identical" if all(likeness.score == 1.0 for likeness in likenesses) else "empty"
    return sum(likeness.score for likeness in likenesses) / len(likenesses), methods[0][0] if methods else alone


def determinism(base: tuple[SideStep, JSONValue], candidate: tuple[SideStep, JSONValue]) -> float:
    """Kurral's determinism score of two model calls."""
    return round(likeness_of(factors(_configuration(*base), _configuration(*candidate))), 4)


def _configuration(step: SideStep, input: JSONValue) -> ModelConfig:
    return ModelConfig(provider=step.provider, model=step.model, parameters=_parameters(input))


def deltas(comparison: Comparison) -> Deltas:
    """Candidate minus base, and the numbers of steps by differing field."""
    base, candidate = comparison.base.run, comparison.candidate.run
    counts = Counter(name for pair in comparison.pairs for name in pair.changes)
    unpaired_count = sum(pair.sides is None for pair in comparison.pairs)
    return Deltas(
        tokens=token_difference(comparison),
        cost_usd=_difference(base.cost_usd, candidate.cost_usd, 8),
        duration_ms=_difference(base.duration_ms, candidate.duration_ms, 3),
        steps=len(comparison.candidate.steps) - len(comparison.base.steps),
        spans_with_differences=sum(bool(pair.changes) for pair in comparison.pairs) + unpaired_count,
        output_changes=counts["output"],
        token_changes=counts["tokens"],
        cost_changes=counts["cost"],
        duration_changes=counts["duration"],
    )


def token_difference(comparison: Comparison) -> int | None:
    """Tokens of the candidate minus those of the base; None if one side is unknown."""
    base, candidate = comparison.base.tokens, comparison.candidate.tokens
    return None if base is None or candidate is None else candidate - base


def _calls(side: Side) -> list[SideStep]:
    return [step for step in side.steps if step.type == _TOOL]


def _semantic_hits(comparison: Comparison, exact: Mapping[object, int]) -> int:
    pairs = (pair.sides for pair in comparison.pairs if pair.sides)
    return sum(step.reason == _SEMANTIC and call_key(step) not in exact for _, step in pairs)


def _answers(comparison: Comparison, pairs: Sequence[Pair]) -> dict[int, Interaction]:
    """The answers of steps, by place: their own, or those of the last models under them."""
    steps = [step for pair in pairs for step in (pair.base, pair.candidate) if step is not None]
    has_own_answers = all(step.output_ref for step in steps)
    base, candidate = (
        {} if has_own_answers else _last_answers(side) for side in (comparison.base, comparison.candidate)
    )
    return {pair.place: _interaction(pair, base, candidate) for pair in pairs}


def _interaction(pair: Pair, base_last: Mapping[int, str], candidate_last: Mapping[int, str]) -> Interaction:
    base, candidate = pair.base, pair.candidate
    return Interaction(
        base=(base.output_ref or base_last.get(base.sequence_no, "")) if base else "",
        candidate=(candidate.output_ref or candidate_last.get(candidate.sequence_no, "")) if candidate else "",
        is_paired=pair.sides is not None,
    )


def _last_answers(side: Side) -> dict[int, str]:
    """The answer of the last model under each step; not all recorders and replays give turns an output."""
    models = (step for step in side.steps if step.type == StepType.MODEL and step.parent_no is not None)
    return {step.parent_no: step.output_ref for step in models if step.output_ref and step.parent_no is not None}


def _trivial_likeness(turn: Interaction) -> Likeness | None:
    """The similarity of an unpaired or identical interaction; None for others."""
    if not turn.is_paired:
        return Likeness(0.0, "empty")
    return Likeness(1.0, "identical") if turn.base == turn.candidate else None


def _is_lost(turn: Interaction, payloads: Payloads) -> bool:
    """True if a recorded answer is missing in the store."""
    return any(ref and ref not in payloads for ref in (turn.base, turn.candidate))


def _texts(turn: Interaction, payloads: Payloads) -> tuple[str, str]:
    return answer_text(payloads.get(turn.base)), answer_text(payloads.get(turn.candidate))


def _parameters(request: JSONValue) -> JSONObject:
    return ModelRequest(request).parameters


def _difference(base: float | None, candidate: float | None, places: int) -> float | None:
    return None if base is None or candidate is None else round(candidate - base, places)


def _imported_scores(comparison: Comparison) -> dict[str, JSONValue]:
    """The scores from the imported files, by side."""
    sides: Sequence[tuple[str, Side]] = (("base", comparison.base), ("candidate", comparison.candidate))
    return {name: side.run.metadata[IMPORTED_SCORES] for name, side in sides if side.run.metadata.get(IMPORTED_SCORES)}
