"""The HTML page of the browser application; WhiteNoise serves its assets."""

from functools import lru_cache
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from cockpit.sharing import previews

_SHARE: Final = "/share/"
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
        token = request.path.removeprefix(_SHARE).partition("/")[0]
        page = page.replace(_TITLE.encode(), previews.tags(token).encode())
    response = HttpResponse(page)
    response["Cache-Control"] = "no-cache"
    if is_shared:
        response["X-Robots-Tag"] = "noindex, nofollow"
    return response
