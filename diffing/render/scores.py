"""The figures of a report with their meanings, for Markdown and HTML."""

from collections.abc import Iterator

from diffing.render.numbers import format_difference, format_duration
from diffing.report.run_outcomes import acting_pairs
from diffing.schemas.report import DiffReport
from diffing.sentences import labels
from diffing.sentences.labels import Figure


def figures(report: DiffReport) -> list[Figure]:
    """The outcomes, the similarity of the runs, and the differences in cost."""
    return [*_outcomes(report), *_scores(report), *_deltas(report)]


def _outcomes(report: DiffReport) -> Iterator[Figure]:
    if report.outcomes is not None:
        base, candidate = report.outcomes.base, report.outcomes.candidate
        reasons = dict.fromkeys(
            f"{side.reason} ({side.basis})" if side.basis else side.reason for side in (base, candidate) if side.reason
        )
        yield Figure(name="Outcome", value=f"{base.outcome} → {candidate.outcome}", note="; ".join(reasons))


def _scores(report: DiffReport) -> Iterator[Figure]:
    scores = report.scores
    yield Figure(name=labels.ARS, value=f"{scores.ars:.4f}", note=labels.ars_note(scores.ars_reading))
    yield Figure(
        name=labels.ANSWERS,
        value=f"{scores.output_similarity:.4f}",
        note=labels.answers_note(scores.similarity_method),
    )
    yield Figure(name=labels.TOOLS, value=f"{scores.tool_accuracy:.4f}", note=labels.tools_note(scores.tools))


def _deltas(report: DiffReport) -> Iterator[Figure]:
    deltas, pairs = report.deltas, acting_pairs(report.pairs)
    yield Figure(name="Tokens", value=format_difference(deltas.tokens), note=labels.DELTA_NOTE)
    yield Figure(name="Cost", value=format_difference(deltas.cost_usd, "$"), note=labels.DELTA_NOTE)
    yield Figure(name="Time", value=format_duration(deltas.duration_ms), note=labels.DELTA_NOTE)
    differing = sum(pair.relation != "same" for pair in pairs)
    yield Figure(name=labels.STEPS, value=f"{differing:,}", note=labels.steps_note(len(pairs)))
