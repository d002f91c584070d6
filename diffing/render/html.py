"""A report as one HTML file: inline styles, no script, opens offline. Everything is escaped."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, get_args

from django.template.loader import render_to_string

from diffing.render.comments import comment_threads
from diffing.render.evidence import evidence_views
from diffing.render.glossary import TERMS
from diffing.render.scores import figures
from diffing.report.brief import brief, lead
from diffing.report.control_lane import unstable_steps
from diffing.report.run_outcomes import acting_pairs
from diffing.schemas.report import DiffReport
from diffing.schemas.sections import SectionName
from diffing.sentences import briefs, labels
from traces.comments.schemas import CommentView

STYLE: Final = (Path(__file__).parent.parent / "templates" / "diffing" / "report.css").read_text()
_STYLE_HASH: Final = b64encode(sha256(STYLE.encode()).digest()).decode()
# The file runs no script, fetches nothing, and has only its own styles.
POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
# Characters that change the direction of writing: in a quotation, they would reverse the rest of our own sentence.
_DIRECTIONS: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
# Differing steps listed; a longer page is unreadable.
_STEPS: Final = 2_000


def as_html(report: DiffReport, comments: Sequence[CommentView] = ()) -> str:
    """The whole report as one HTML document, with these comments."""
    acting = acting_pairs(report.pairs)
    changed = [pair for pair in acting if pair.relation != "same"]
    page = render_to_string(
        "diffing/report.html",
        {
            "report": report,
            "threads": list(comment_threads(comments)),
            "style": STYLE,
            "policy": POLICY,
            "sections": [getattr(report.sections, name) for name in get_args(SectionName)],
            "changed": changed[:_STEPS],
            "more": max(0, len(changed) - _STEPS),
            "same": len(acting) - len(changed),
            "lead": lead(report.attribution),
            "brief": brief(report),
            "facts": figures(report),
            "terms": TERMS,
            "evidence_views": evidence_views(report.evidence),
            "also": unstable_steps(report.unchanged),
            "also_unchanged": briefs.ALSO_UNCHANGED,
            "labels": labels.HEADINGS,
            "verdict_title": labels.verdict_title(report.attribution),
            "lane": report.unchanged.steps[:_STEPS] if report.unchanged else [],
        },
    )
    return page.translate(_DIRECTIONS)
