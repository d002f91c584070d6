"""Visits of shared pages: who opened a link, how often per address, and what every response of a link has."""

from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cockpit.sharing.subjects import is_visible
from traces.http.responses import caller_of
from traces.http.throttling import Window
from traces.models import ShareLink
from traces.sharing import links

# Enough for people, too slow for guessing tokens.
_OPENINGS: Final = Window(name="share-window", limit=120, seconds=60)
# Requests of pages that are open: reading a run step by step takes one each.
_READS: Final = Window(name="share-reads", limit=1_200, seconds=60)
_TOO_MANY: Final = "too many share links were opened from this address; wait a minute"
TICKET: Final = OpenApiParameter(
    "X-Share-Ticket", str, OpenApiParameter.HEADER, description="The `ticket` of `/share/{token}/ticket`."
)
_HEADERS: Final = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


class SharedView(APIView):
    """Base of everything behind a token."""

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        result = super().finalize_response(request, response, *args, **kwargs)
        for name, value in _HEADERS.items():
            result[name] = value
        return result


def open_link(request: Request, token: str) -> ShareLink:
    """Count a view of a link; raise the same error for every link that does not open."""
    _OPENINGS.count(address_of(request), _TOO_MANY)
    return links.open_link(token, caller_of(request), is_visible)


def check_ticket(request: Request, token: str) -> ShareLink:
    """Return the link that the ticket of a request was issued for. Guesses count as openings."""
    link = links.link_of_ticket(token, request.headers.get("X-Share-Ticket", ""), caller_of(request))
    (_READS if link else _OPENINGS).count(address_of(request), _TOO_MANY)
    if link is None or not is_visible(link):
        raise links.closed()
    return link


def address_of(request: Request) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))
