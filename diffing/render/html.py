"""A report as one HTML file: styles inside, no script, opens offline in light and dark. Everything is escaped."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Final, get_args

from django.template.loader import render_to_string

from diffing.render.evidence import told
from diffing.render.glossary import WORDS
from diffing.render.scores import figures
from diffing.report.brief import brief
from diffing.report.control_lane import altered
from diffing.report.run_outcomes import doing
from diffing.schemas.report import DiffReport, SectionName

STYLE: Final = (Path(__file__).parent.parent / "templates" / "diffing" / "report.css").read_text()
_STYLE_HASH: Final = b64encode(sha256(STYLE.encode()).digest()).decode()
# The file runs nothing, fetches nothing, and has no styles but its own.
POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
_STEPS: Final = 2_000  # differing steps listed; a page of more is no page


def as_html(report: DiffReport) -> str:
    """The whole report as one HTML document."""
    acting = doing(report.pairs)
    changed = [pair for pair in acting if pair.relation != "same"]
    return render_to_string(
        "diffing/report.html",
        {
            "report": report,
            "style": STYLE,
            "policy": POLICY,
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
