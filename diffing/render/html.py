"""A report as one HTML file: styles inside, no script, opens offline in light and dark. Everything is escaped."""

from typing import Final, get_args

from django.template.loader import render_to_string

from diffing.brief import brief
from diffing.compared import doing
from diffing.render.evidence import told
from diffing.render.figures import figures
from diffing.render.words import WORDS
from diffing.schemas import DiffReport, SectionName
from diffing.unchanged import altered

_STEPS: Final = 2_000  # differing steps listed; a page of more is no page


def as_html(report: DiffReport) -> str:
    """The whole report as one HTML document."""
    acting = doing(report.pairs)
    changed = [pair for pair in acting if pair.relation != "same"]
    return render_to_string(
        "diffing/report.html",
        {
            "report": report,
            "sections": [getattr(report.sections, name) for name in get_args(SectionName)],
            "changed": changed[:_STEPS],
            "more": max(0, len(changed) - _STEPS),
            "same": len(acting) - len(changed),
            "brief": brief(report),
            "facts": figures(report),
            "words": WORDS,
            "proved": told(report.evidence),
            "also": altered(report.unchanged),
            "lane": report.unchanged.steps[:_STEPS] if report.unchanged else [],
        },
    )
