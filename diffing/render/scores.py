"""The numbers of a report with what each of them means, for Markdown and the HTML file alike."""

from dataclasses import dataclass
from typing import Final

from diffing.render.numbers import lasting, signed
from diffing.report.run_outcomes import doing
from diffing.schemas.report import DiffReport
from diffing.sentences.changes import METHODS


@dataclass(frozen=True, kw_only=True)
class Figure:
    name: str
    value: str
    note: str


def figures(report: DiffReport) -> list[Figure]:
    """How near the candidate is to the base, and what it cost more."""
    scores, deltas, tools = report.scores, report.deltas, report.scores.tools
    acting = doing(report.pairs)
    again = (
        f"{tools.used_original} of {tools.total_original} tool calls made again, {tools.new} new, {tools.unused} unused"
    )
    judged = report.outcomes
    outcomes = (
        []
        if judged is None
        else [
            Figure(
                name="Outcome",
                value=f"{judged.base.outcome} → {judged.candidate.outcome}",
                note="; ".join(dict.fromkeys(side.reason for side in (judged.base, judged.candidate) if side.reason)),
            )
        ]
    )
    return [
        *outcomes,
        Figure(
            name="Likeness (ARS)",
            value=f"{scores.ars:.4f}",
            note=f"{scores.ars_reading}; 1 is the same. Agent Regression Score: 0.7 × answers + 0.3 × tools",
        ),
        Figure(
            name="Answers",
            value=f"{scores.output_similarity:.4f}",
            note=f"how alike the answers of all turns are on average, {METHODS[scores.similarity_method]}",
        ),
        Figure(
            name="Tools",
            value=f"{scores.tool_accuracy:.4f}",
            note=again if tools.total_original or tools.new else "no run calls a tool",
        ),
        Figure(name="Tokens", value=signed(deltas.tokens), note=_MORE),
        Figure(name="Cost", value=signed(deltas.cost_usd, "$"), note=_MORE),
        Figure(name="Time", value=lasting(deltas.duration_ms), note=_MORE),
        Figure(
            name="Steps that differ",
            value=f"{sum(pair.relation != 'same' for pair in acting):,}",
            note=f"of {len(acting):,}, listed below; agents and turns, which only hold steps, are not counted",
        ),
    ]


_MORE: Final = "candidate less base"
