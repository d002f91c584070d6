"""The report of two runs, built from their examination. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from diffing.attribution.verdict import Case
from diffing.compare.references import aligned_pairs, run_ref
from diffing.compare.run_side import Side
from diffing.content.facet import Facet
from diffing.content.similarity import Measure
from diffing.report import answers, scores, sections
from diffing.report.brief import brief
from diffing.report.examination import Examination, Load, examine
from diffing.report.gaps import recording_gaps
from diffing.schemas.report import DiffOptions, DiffReport


def build_report(
    *, id: UUID, created_at: datetime, base: Side, candidate: Side, options: DiffOptions, measure: Measure, load: Load
) -> DiffReport:
    """Compare two runs; `load` as for `examine`."""
    examination = examine(base, candidate, load)
    comparison, loaded_pairs, payloads = examination.comparison, examination.loaded_pairs, examination.payloads
    facets = list(_facets_to_show(examination))
    gaps = [*loaded_pairs.gaps, *recording_gaps(comparison, examination.probe, payloads)]
    attribution = Case(comparison, loaded_pairs.facets, examination.flow, examination.reasoning).attribution()
    report = DiffReport(
        id=id,
        created_at=created_at,
        base=run_ref(base.run),
        candidate=run_ref(candidate.run),
        options=options,
        summary=attribution.sentence,
        pairs=aligned_pairs(comparison.pairs),
        sections=sections.build(
            comparison, sections.Findings(facets=facets, gaps=gaps), sections.Texts(measure, facets)
        ),
        scores=scores.score(comparison, payloads, measure, _determinism(examination)),
        deltas=scores.deltas(comparison),
        attribution=attribution,
        answers=answers.final_answers(comparison, payloads),
    )
    return report.model_copy(update={"brief": brief(report)})


def _facets_to_show(examination: Examination) -> Iterator[Facet]:
    """The facets to show, without answers that a request repeats: they are shown at their own steps."""
    differing = {pair.place for pair in examination.comparison.acting if pair.answers_differently}
    places_after = examination.flow.after(differing)
    for place, facets in sorted(examination.loaded_pairs.facets.items()):
        for facet in facets:
            if facet.form != "messages" or place not in places_after:
                yield facet
            elif messages := tuple(item for item in facet.messages if item.role not in {"assistant", "tool"}):
                yield replace(facet, messages=messages)


def _determinism(examination: Examination) -> float | None:
    """The determinism score of the first model call of both runs; None if they have none in common."""
    if examination.probe is None or examination.probe.sides is None:
        return None
    base, candidate = examination.probe.sides
    payloads = examination.payloads
    return scores.determinism((base, payloads.get(base.input_ref)), (candidate, payloads.get(candidate.input_ref)))
