"""The HTML page of the browser application; WhiteNoise serves its assets."""

from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from diffing import queries, sharing

_SHARE: Final = "/share/"
_PRODUCT: Final = (
    "Forkpoint replays a recorded agent run with one thing changed and shows why the answer came out differently."
)
_TITLE: Final = "<title>Forkpoint</title>"
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Forkpoint: interface not built</title></head>
<body><h1>The browser interface is not built</h1>
<p>The server and its API are running. Run <code>make setup</code> in the project's folder and start again to see the
cockpit here; the <a href="/api/v1/docs">documentation of the API</a> works now.</p></body></html>
"""


@lru_cache(maxsize=1)
def _page(path: Path, modified_ns: int) -> bytes:
    """Return the built page, read again after a new build."""
    return path.read_bytes()


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Return the same page for every address; the browser's router does the rest."""
    path: Path = settings.FRONTEND_DIST / "index.html"
    if not path.exists():
        return HttpResponse(_NOT_BUILT, status=503)
    page = _page(path, path.stat().st_mtime_ns)
    is_shared = request.path.startswith(_SHARE)
    if is_shared:
        page = page.replace(_TITLE.encode(), _preview(request.path.removeprefix(_SHARE)).encode())
    response = HttpResponse(page)
    response["Cache-Control"] = "no-cache"
    if is_shared:
        response["X-Robots-Tag"] = "noindex, nofollow"
    return response


def _preview(token: str) -> str:
    """Return the title and what a chat shows of a pasted link: outcomes and confidence, never a payload.

    A link that does not open for everybody looks like an unknown one, and a preview is no view.
    """
    link = sharing.link_for(token, "")
    summary = queries.summary(link.diff_id) if link else None
    title, description = "Shared report", _PRODUCT
    if summary:
        outcomes = summary.outcomes
        title = f"{outcomes.base.outcome.capitalize()} → {outcomes.candidate.outcome}: what changed and why"
        confidence = f"{summary.confidence.capitalize()} confidence in the cause. " if summary.confidence else ""
        description = f"A comparison of two agent runs. {confidence}{_PRODUCT}"
    tags = {"og:type": "article", "og:site_name": "Forkpoint", "og:title": title, "og:description": description}
    metas = (f'<meta property="{name}" content="{escape(content)}" />' for name, content in tags.items())
    return "\n    ".join([f"<title>{escape(title)} · Forkpoint</title>", *metas])
